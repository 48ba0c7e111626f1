//! Checks of every amount that a gateway names: what does not add up, is negative or is absurd is
//! rejected, and never shown or passed on.

use switchyard_gateway::Amount as WireAmount;

use switchyard_core::limits::{AMOUNT_MAJOR, FEE_DIVISOR, SURPLUS_FACTOR};
use switchyard_core::money::{Amount, AmountError, Currency};

/// Reads an amount of money that moved or is to move: more than zero, at most the largest that a
/// transaction can have.
pub(super) fn positive(reported: &WireAmount) -> Option<Amount> {
    read(reported).filter(|amount| amount.minor() > 0)
}

/// Reads the captured amount of an attempt of `asked`. It may be more, but not so much more that
/// it is in another unit.
pub(super) fn captured(reported: &WireAmount, asked: Option<Amount>) -> Option<Amount> {
    positive(reported).filter(|amount| has_unit_of(*amount, asked))
}

/// Reads the amount of money that came so far for an attempt of `asked`, which may be zero.
pub(super) fn received(reported: &WireAmount, asked: Option<Amount>) -> Option<Amount> {
    read(reported).filter(|amount| has_unit_of(*amount, asked))
}

fn has_unit_of(amount: Amount, asked: Option<Amount>) -> bool {
    asked.is_none_or(|asked| {
        let too_much = asked.minor().saturating_mul(SURPLUS_FACTOR);
        asked.currency() != amount.currency() || amount.minor() < too_much
    })
}

/// Reads the amount of a transaction in the provider's list, which may be zero.
pub(super) fn not_negative(reported: &WireAmount) -> Option<Amount> {
    read(reported)
}

/// Reads the provider's fees. They may be zero, and reach half of the amount that they belong to.
/// Fees in another currency cannot be compared with it, and no response could name them.
pub(super) fn fees(reported: &WireAmount, of: Option<Amount>) -> Option<Amount> {
    let fees = read(reported)?;
    let is_plausible =
        |of: Amount| of.currency() == fees.currency() && fees.minor() <= of.minor() / FEE_DIVISOR;
    of.is_none_or(is_plausible).then_some(fees)
}

/// Reads the amount of a bank transfer: the `rest` that is still to be paid, and the provider's fee
/// that the payer adds. Returns the sum and the fee.
pub(super) fn transfer(
    amount: &WireAmount,
    on_top: Option<&WireAmount>,
    rest: Amount,
) -> Option<(Amount, Option<Amount>)> {
    let amount = positive(amount)?;
    let on_top = match on_top {
        Some(reported) => fees(reported, Some(rest))?,
        None => Amount::from_minor(0, rest.currency()),
    };
    let fee = Some(on_top).filter(|fee| fee.minor() > 0);
    (rest.checked_add(on_top)? == amount).then_some((amount, fee))
}

/// Amount that an order to send coins pays: the `rest` that is still to be paid, or less. `None`:
/// the order names no such amount, no number of coins, or another number in the link that wallets
/// open.
pub(super) fn crypto(
    worth: Option<&WireAmount>,
    coins: &str,
    address: &str,
    uri: &str,
    rest: Amount,
) -> Option<Amount> {
    let worth = worth.and_then(positive)?;
    let is_part = worth <= rest && worth.currency() == rest.currency();
    let digits = significant(coins)?;
    (is_part && link_agrees(uri, address, &digits)).then_some(worth)
}

fn read(reported: &WireAmount) -> Option<Amount> {
    let currency = Currency::from_code(&reported.currency.to_ascii_uppercase())?;
    let by_decimal = match &reported.decimal {
        Some(decimal) => Some(match Amount::parse_major(decimal, currency) {
            Err(AmountError::Zero) => Amount::from_minor(0, currency),
            read => read.ok()?,
        }),
        None => None,
    };
    let by_minor = reported
        .minor
        .map(|minor| Amount::from_minor(minor, currency));
    if let (Some(one), Some(other)) = (by_minor, by_decimal)
        && one != other
    {
        return None;
    }
    let most = AMOUNT_MAJOR.checked_mul(currency.info().subunit_to_unit())?;
    by_minor
        .or(by_decimal)
        .filter(|amount| (0..=most).contains(&amount.minor()))
}

/// Wallets read the link, people read the text. Both have to name one address and one number.
fn link_agrees(uri: &str, address: &str, digits: &str) -> bool {
    let has_address = uri.to_lowercase().contains(&address.to_lowercase());
    let query = uri.split_once('?').map_or("", |(_, query)| query);
    let mut numbers = url::form_urlencoded::parse(query.as_bytes())
        .filter(|(name, _)| matches!(name.as_ref(), "amount" | "value" | "uint256"));
    has_address && numbers.all(|(_, number)| significant(&number).as_deref() == Some(digits))
}

/// The digits of a positive number without its point, its exponent and zeros at both ends. The link
/// counts in the coin's smallest units, so only these digits can be compared.
fn significant(number: &str) -> Option<String> {
    let number = number.split(['e', 'E']).next().unwrap_or_default();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_digits = |part: &str| {
        (1..=MAX_COIN_DIGITS).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
    };
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let all = format!("{whole}{fraction}");
    let digits = all.trim_matches('0');
    (!digits.is_empty()).then(|| digits.to_owned())
}

/// The largest number of a chain, 2^256 - 1, has 78 digits.
const MAX_COIN_DIGITS: usize = 78;

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(minor: i64) -> Amount {
        Amount::from_minor(minor, Currency::from_code("USD").expect("a currency"))
    }

    fn named(minor: i64) -> WireAmount {
        WireAmount::minor(minor, "USD")
    }

    #[test]
    fn money_that_moved_is_more_than_nothing_and_less_than_all_there_is() {
        for (minor, is_plausible) in [
            (1, true),
            (100_000_000_000_000, true),
            (100_000_000_000_001, false),
            (0, false),
            (-1, false),
            (i64::MAX, false),
            (i64::MIN, false),
        ] {
            assert_eq!(positive(&named(minor)).is_some(), is_plausible, "{minor}");
        }
        for decimal in [
            "9223372036854775808",
            "1e30",
            "-0.01",
            "0.00",
            "NaN",
            "0.001",
        ] {
            let reported = WireAmount::decimal(decimal, "USD");
            assert_eq!(positive(&reported), None, "{decimal}");
        }
    }

    #[test]
    fn an_amount_in_the_wrong_unit_is_no_overpayment() {
        let asked = Some(usd(2_500));
        for (minor, is_plausible) in [
            (1, true),
            (2_500, true),
            (25_000, true),
            (249_999, true),
            (250_000, false),
            (2_500_000, false),
        ] {
            let reported = named(minor);
            assert_eq!(
                captured(&reported, asked).is_some(),
                is_plausible,
                "{minor}"
            );
            assert_eq!(
                received(&reported, asked).is_some(),
                is_plausible,
                "{minor}"
            );
        }
        let other = WireAmount::minor(1_500_000, "XOF");
        assert!(captured(&other, asked).is_some(), "another currency");
        assert!(
            captured(&named(250_000), None).is_some(),
            "nothing to compare with"
        );
    }

    #[test]
    fn fees_are_neither_negative_nor_above_half_of_what_was_captured() {
        let captured = Some(usd(2_500));
        for (reported, wanted) in [
            (named(0), Some(0)),
            (named(50), Some(50)),
            (named(1_250), Some(1_250)),
            (named(1_251), None),
            (named(2_500), None),
            (named(2_501), None),
            (named(-1), None),
            (named(i64::MAX), None),
            (WireAmount::decimal("0.00", "USD"), Some(0)),
            (WireAmount::decimal("0.50", "USD"), Some(50)),
            (WireAmount::decimal("12.51", "USD"), None),
            (WireAmount::decimal("9223372036854775808", "USD"), None),
            (
                WireAmount {
                    minor: Some(50),
                    ..WireAmount::decimal("5", "USD")
                },
                None,
            ),
            (WireAmount::minor(50, "???"), None),
        ] {
            let fees = fees(&reported, captured).map(Amount::minor);
            assert_eq!(fees, wanted, "{reported:?}");
        }
        let odd = Some(usd(3));
        assert_eq!(fees(&named(1), odd).map(Amount::minor), Some(1));
        assert_eq!(fees(&named(2), odd), None, "more than half of 3");
        let elsewhere = WireAmount::minor(90, "EUR");
        assert_eq!(fees(&elsewhere, captured), None, "another currency");
    }

    #[test]
    fn a_payer_is_told_to_transfer_what_was_asked_and_the_fees_on_top() {
        let (asked, euro) = (usd(2_500), WireAmount::minor(2_500, "EUR"));
        for (what, amount, on_top, is_shown) in [
            ("what was asked", named(2_500), None, true),
            ("with a fee", named(2_550), Some(named(50)), true),
            ("a fee of nothing", named(2_500), Some(named(0)), true),
            ("more, unexplained", named(2_550), None, false),
            ("less", named(2_400), None, false),
            (
                "a fee that is not on top",
                named(2_500),
                Some(named(50)),
                false,
            ),
            ("a negative fee", named(2_450), Some(named(-50)), false),
            ("a fee of half", named(3_750), Some(named(1_250)), true),
            ("of more", named(3_751), Some(named(1_251)), false),
            ("as the amount", named(5_000), Some(named(2_500)), false),
            ("another currency", euro.clone(), None, false),
            ("a fee in another currency", named(2_500), Some(euro), false),
            ("all there is", named(i64::MAX), None, false),
        ] {
            let shown = transfer(&amount, on_top.as_ref(), asked);
            assert_eq!(shown.is_some(), is_shown, "{what}");
            let fee = on_top
                .as_ref()
                .and_then(|fee| fee.minor)
                .filter(|fee| *fee > 0);
            let shown = shown.map(|(sum, fee)| (sum.minor(), fee.map(Amount::minor)));
            assert_eq!(
                shown,
                is_shown.then_some((amount.minor.unwrap(), fee)),
                "{what}"
            );
        }
    }

    #[test]
    fn only_the_rest_is_to_be_paid_after_a_part() {
        let francs = Amount::from_minor(500, Currency::from_code("XOF").expect("a currency"));
        for (received, remains) in [
            (None, Some(2_500)),
            (Some(usd(0)), Some(2_500)),
            (Some(usd(1_000)), Some(1_500)),
            (Some(usd(2_499)), Some(1)),
            (Some(usd(2_500)), None),
            (Some(usd(2_600)), None),
            (Some(francs), None),
        ] {
            let rest = usd(2_500).rest_after(received);
            assert_eq!(rest.map(Amount::minor), remains, "{received:?}");
        }
    }

    /// Whether an order of 12.5 coins for 25.00 USD is shown.
    fn is_shown(worth: Option<i64>, coins: &str, address: &str, uri: &str) -> bool {
        let worth = worth.map(named);
        crypto(worth.as_ref(), coins, address, uri, usd(2_500)).is_some()
    }

    #[test]
    fn coins_settle_what_was_asked_or_a_part_of_it() {
        for (worth, shown) in [
            (Some(2_500), true),
            (Some(1), true),
            (None, false),
            (Some(2_501), false),
            (Some(0), false),
            (Some(-1), false),
            (Some(i64::MAX), false),
        ] {
            assert_eq!(is_shown(worth, "12.5", "0xab", LINK), shown, "{worth:?}");
        }
        for (coins, shown) in [
            ("12.50", true),
            ("-12.5", false),
            ("0.0", false),
            ("x", false),
        ] {
            assert_eq!(is_shown(Some(1), coins, "0xab", LINK), shown, "{coins}");
        }
    }

    #[test]
    fn the_link_names_the_coins_and_the_address_of_the_text() {
        for (coins, address, link, shown) in [
            ("12.5", "0xab", LINK, true),
            ("2.014", "0xab", "ethereum:0xab?value=2.014e18", true),
            ("12.5", "0xab", "ethereum:0xab", true),
            ("12.5", "0xab", "ethereum:0xab?value=9", false),
            ("12.5", "0xcd", LINK, false),
            ("0", "0xab", "ethereum:0xab", false),
        ] {
            let is_shown = is_shown(Some(2_500), coins, address, link);
            assert_eq!(is_shown, shown, "{coins} {address} {link}");
        }
    }

    const LINK: &str = "ethereum:0xC0@1/transfer?address=0xAb&uint256=12500000";
}
