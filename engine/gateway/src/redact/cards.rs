//! Payment card numbers, recognized by their form. None enters this service, and one that a
//! provider repeats is not stored.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Replaces every possible card number in a text by `mask`.
pub(super) fn without<'t>(text: &'t str, mask: &str) -> Cow<'t, str> {
    if text.len() < SHORTEST {
        return Cow::Borrowed(text);
    }
    let Some(form) = &*FORM else {
        return Cow::Borrowed(text);
    };
    form.replace_all(text, |found: &Captures<'_>| {
        let digits: Vec<u32> = found[0].chars().filter_map(|c| c.to_digit(10)).collect();
        match is_card(&digits) {
            true => mask.to_owned(),
            false => found[0].to_owned(),
        }
    })
}

/// Fifteen digits or more, contiguous or in the groups printed on cards.
static FORM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let form = r"\b(?:[2-6]\d{14,18}|[2-6]\d{3}(?:[ -]\d{4}){3}|3[47]\d{2}[ -]\d{6}[ -]\d{5})\b";
    Regex::new(form).ok()
});

/// Whether the digits have the prefix and the length of a card scheme, and a valid check digit.
/// Phone numbers are shorter. Of other numbers with sixteen digits, 3 % look like a card number.
fn is_card(digits: &[u32]) -> bool {
    let first = |count: usize| {
        digits[..count]
            .iter()
            .fold(0, |all, digit| all * 10 + digit)
    };
    let is_of_scheme = matches!(
        (first(2), first(4), digits.len()),
        (34 | 37, _, 15)
            | (40..=49, _, 16 | 19)
            | (51..=55, _, 16)
            | (_, 2221..=2720 | 3528..=3589, 16)
            | (50 | 62 | 65, _, 16..=19)
            | (_, 6011 | 6440..=6499, 16..=19)
    );
    is_of_scheme && has_check_digit(digits)
}

/// Luhn check (ISO/IEC 7812-1, annex B).
fn has_check_digit(digits: &[u32]) -> bool {
    let weighed = digits.iter().rev().enumerate().map(|(at, digit)| {
        let doubled = digit * if at % 2 == 0 { 1 } else { 2 };
        doubled / 10 + doubled % 10
    });
    weighed.sum::<u32>() % 10 == 0
}

const SHORTEST: usize = 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cards_number_is_masked_however_it_is_written_and_no_other_number() {
        for card in [
            "4242424242424242",
            "4242 4242 4242 4242",
            "5555-5555-5555-4444",
            "2223003122003222",
            "378282246310005",
            "3782 822463 10005",
            "6011111111111117",
            "3530111333300000",
            "5061460410120223210",
        ] {
            let text = format!("card={card}, thanks");
            assert_eq!(without(&text, "***"), "card=***, thanks", "{card}");
        }
        for other in [
            "4242424242424241",        // the check digit is wrong
            "1735689600000000",        // of no scheme
            "+2290197000000",          // a phone
            "424242424242424",         // too short for its scheme
            "42424242424242424242424", // too long for any
            "a4242424242424242",       // a part of something else
            "550e8400-e29b-41d4-a716-446655440000",
        ] {
            assert_eq!(without(other, "***"), other);
        }
    }
}
