//! Details of rates, corrections and sums that a change could lose unseen.

use super::{Amount, AmountError, Correction, Currency, Rate};

fn currency(code: &str) -> Currency {
    Currency::from_code(code).unwrap()
}

fn rate(text: &str) -> Rate {
    Rate::parse(text).unwrap()
}

#[test]
fn less_than_nothing_received_leaves_all_of_it() {
    let asked = Amount::from_minor(2_500, currency("USD"));
    let received = Amount::from_minor(-100, currency("USD"));
    assert_eq!(asked.rest_after(Some(received)), Some(asked));
}

#[test]
fn a_thousandth_of_a_step_is_rounded_up() {
    let given = Amount::from_minor(100, currency("USD"));
    let made = |at: &str| rate(at).convert(given, currency("EUR"), 2).unwrap().minor();
    assert_eq!(made("1.00001"), 101);
    assert_eq!(made("1.0000004"), 100);
}

#[test]
fn the_largest_rate_and_the_smallest_are_rates() {
    for text in ["1000000000000", "0.000000000001"] {
        assert!(Rate::parse(text).is_ok(), "{text}");
    }
}

#[test]
fn the_rate_of_the_other_direction_has_twelve_significant_digits() {
    assert_eq!(rate("655.957").inverse(), Ok(rate("0.00152449017237")));
}

#[test]
fn a_correction_reaches_from_minus_fifty_to_a_hundred_and_may_end_with_zeros() {
    for text in ["-50", "100", "1.500"] {
        assert!(Correction::parse(text).is_ok(), "{text}");
    }
}

#[test]
fn two_rates_one_after_the_other_are_multiplied() {
    assert_eq!(rate("655.957").then(rate("0.5")), Ok(rate("327.9785")));
}

#[test]
fn no_separator_stands_before_the_first_group_of_digits() {
    let amount = Amount::from_minor(12_345_678, currency("USD"));
    assert_eq!(amount.format(), "$ 123,456.78");
}

#[test]
fn amounts_of_two_currencies_with_equal_decimals_do_not_compare() {
    let [dollars, euros] = ["USD", "EUR"].map(|code| Amount::from_minor(2_500, currency(code)));
    assert_eq!(dollars.partial_cmp(&euros), None);
}

#[test]
fn a_number_with_decimals_begins_with_no_zero_before_another_digit() {
    for text in ["025.5", "00.5", "-01.0"] {
        let read = Amount::parse_major(text, currency("USD"));
        assert_eq!(read, Err(AmountError::NotANumber), "{text}");
    }
}
