//! Exchange rates: exact decimals, and how an amount of one currency becomes one of another.
//!
//! A rate says how many units of the one currency are paid for one unit of the other, both in major
//! units. It has at most [`RATE_DIGITS`] significant digits, so that a product with any amount is
//! exact: rounding happens once, at the end, and upwards, to the smallest step that the other
//! currency (or the method) has, unless the excess is below a ten-thousandth of that step. So a
//! merchant never gets less than the requested amount, and 655,957 XOF are 1,000.00 EUR and not
//! 1,000.01.

use std::fmt;
use std::str::FromStr;

use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};

use super::{Amount, Currency};

/// Units of one currency for one unit of another: greater than zero, at most 12 significant digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate(Decimal);

/// Percentage that an operator adds to a rate: -50 to 100, two decimals at most. Negative: the
/// payer pays less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Correction(Decimal);

/// Reason why a text is no rate, or an amount cannot be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    #[error(
        "a rate is a decimal greater than zero with at most {RATE_DIGITS} significant digits, such as 655.957 or 0.00152449"
    )]
    NotARate,
    #[error("a correction is a percentage from -50 to 100 with at most two decimals, such as 1.5")]
    NotACorrection,
    #[error("the converted amount is out of range")]
    OutOfRange,
}

impl Rate {
    /// The rate of a currency to itself.
    pub const ONE: Self = Self(Decimal::ONE);

    /// Reads a rate from text. A rate with more digits than [`RATE_DIGITS`] is refused, not
    /// rounded.
    pub fn parse(text: &str) -> Result<Self, RateError> {
        let rate = Self::read(text)?;
        match rate.round_sf(RATE_DIGITS) {
            Some(same) if same == rate => Self::of(rate),
            _ => Err(RateError::NotARate),
        }
    }

    /// Reads a rate of a source that writes as many digits as it likes, rounded half to even at
    /// [`RATE_DIGITS`] significant digits.
    pub fn parse_rounded(text: &str) -> Result<Self, RateError> {
        Self::of(Self::read(text)?)
    }

    fn read(text: &str) -> Result<Decimal, RateError> {
        let plain = text.len() <= RATE_CHARACTERS
            && text.bytes().all(|byte| {
                byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'-' | b'+')
            });
        let read = match text.contains(['e', 'E']) {
            true => Decimal::from_scientific(text),
            false => Decimal::from_str(text),
        };
        read.ok().filter(|_| plain).ok_or(RateError::NotARate)
    }

    fn of(rate: Decimal) -> Result<Self, RateError> {
        let rate = rate.round_sf(RATE_DIGITS).ok_or(RateError::NotARate)?;
        let fits = rate >= Decimal::new(1, RATE_DECIMALS) && rate <= Decimal::from(MAX_RATE);
        fits.then(|| Self(rate.normalize()))
            .ok_or(RateError::NotARate)
    }

    /// The rate of the other direction, rounded half to even at [`RATE_DIGITS`] significant digits.
    pub fn inverse(self) -> Result<Self, RateError> {
        let inverse = Decimal::ONE.checked_div(self.0);
        Self::of(inverse.ok_or(RateError::OutOfRange)?)
    }

    /// This rate and then `next`, rounded half to even at [`RATE_DIGITS`] significant digits.
    pub fn then(self, next: Self) -> Result<Self, RateError> {
        let product = self.0.checked_mul(next.0);
        Self::of(product.ok_or(RateError::OutOfRange)?)
    }

    /// Whether this rate differs from `expected` by more than `percent` of `expected`.
    pub fn differs_from(self, expected: Self, percent: u32) -> bool {
        let difference = (self.0 - expected.0)
            .abs()
            .checked_mul(Decimal::ONE_HUNDRED);
        let allowed = expected.0.checked_mul(Decimal::from(percent));
        // Out of range is further away than any percentage.
        !matches!((difference, allowed), (Some(difference), Some(allowed)) if difference <= allowed)
    }

    /// This rate with an operator's correction, rounded half to even at [`RATE_DIGITS`] significant
    /// digits.
    pub fn corrected(self, correction: Correction) -> Result<Self, RateError> {
        let factor = Decimal::ONE_HUNDRED + correction.0;
        let corrected = self
            .0
            .checked_mul(factor)
            .and_then(|product| product.checked_div(Decimal::ONE_HUNDRED));
        Self::of(corrected.ok_or(RateError::OutOfRange)?)
    }

    /// `amount` in `to`, rounded up to `decimals` (at most those of the currency).
    pub fn convert(self, amount: Amount, to: Currency, decimals: u8) -> Result<Amount, RateError> {
        let places = u32::from(to.decimals().min(decimals));
        let from = Decimal::new(amount.minor(), u32::from(amount.currency().decimals()));
        let converted = from
            .checked_mul(self.0)
            .ok_or(RateError::OutOfRange)?
            // The error of the last digit of an inverse rate is not worth a step.
            .round_dp(places + NOISE_DECIMALS)
            .round_dp_with_strategy(places, RoundingStrategy::ToPositiveInfinity);
        Amount::parse_major(&converted.to_string(), to).map_err(|_| RateError::OutOfRange)
    }

    /// Rounded half to even at `digits` significant digits, without trailing zeros.
    pub(super) fn rounded(self, digits: u32) -> String {
        let rounded = self.0.round_sf(digits).unwrap_or(self.0);
        rounded.normalize().to_string()
    }

    /// For a JSON answer: the digits as they are.
    pub fn to_json_number(self) -> serde_json::Number {
        json_number(self.0)
    }
}

impl Correction {
    pub fn parse(text: &str) -> Result<Self, RateError> {
        let read = Decimal::from_str(text).map_err(|_| RateError::NotACorrection)?;
        let fits = read >= Decimal::from(-50) && read <= Decimal::ONE_HUNDRED;
        let fits = fits && read.normalize().scale() <= 2;
        fits.then(|| Self(read.normalize()))
            .ok_or(RateError::NotACorrection)
    }

    pub fn is_none(self) -> bool {
        self.0.is_zero()
    }

    pub fn to_json_number(self) -> serde_json::Number {
        json_number(self.0)
    }
}

/// Twelve digits survive the way through the type that JSON readers have for numbers.
fn json_number(decimal: Decimal) -> serde_json::Number {
    decimal
        .normalize()
        .to_string()
        .parse()
        .unwrap_or_else(|_| serde_json::Number::from(0))
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Correction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<String> for Rate {
    type Error = RateError;

    fn try_from(text: String) -> Result<Self, RateError> {
        Self::parse(&text)
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> Self {
        rate.to_string()
    }
}

impl TryFrom<String> for Correction {
    type Error = RateError;

    fn try_from(text: String) -> Result<Self, RateError> {
        Self::parse(&text)
    }
}

impl From<Correction> for String {
    fn from(correction: Correction) -> Self {
        correction.to_string()
    }
}

/// Significant digits of a rate. An amount has at most 15 digits that count, and a decimal 28:
/// products are exact.
pub const RATE_DIGITS: u32 = 12;
/// Decimals of the smallest rate, and the largest rate: the dearest currency against the cheapest,
/// with room.
const RATE_DECIMALS: u32 = 12;
const MAX_RATE: i64 = 1_000_000_000_000;
/// A part of a step below which nothing is rounded up: one ten-thousandth.
const NOISE_DECIMALS: u32 = 4;
/// Characters of a rate as a source may write it.
const RATE_CHARACTERS: usize = 40;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn currency(code: &str) -> Currency {
        Currency::from_code(code).unwrap()
    }

    fn amount(text: &str, code: &str) -> Amount {
        Amount::parse_major(text, currency(code)).unwrap()
    }

    fn rate(text: &str) -> Rate {
        Rate::parse(text).unwrap()
    }

    #[test]
    fn only_a_correction_of_nothing_is_none() {
        for (text, is_none) in [("0", true), ("0.00", true), ("0.01", false), ("-2", false)] {
            assert_eq!(
                Correction::parse(text).unwrap().is_none(),
                is_none,
                "{text}"
            );
        }
    }

    #[test]
    fn a_stored_rate_reads_back() {
        let stored = serde_json::to_string(&rate("655.957")).unwrap();
        assert_eq!(stored, r#""655.957""#);
        let read: Rate = serde_json::from_str(&stored).unwrap();
        assert_eq!(read, rate("655.957"));
    }

    #[test]
    fn a_stored_correction_reads_back() {
        let correction = Correction::parse("-1.5").unwrap();
        let stored = serde_json::to_string(&correction).unwrap();
        assert_eq!(stored, r#""-1.5""#);
        assert_eq!(
            serde_json::from_str::<Correction>(&stored).unwrap(),
            correction
        );
        assert!(serde_json::from_str::<Correction>(r#""101""#).is_err());
    }

    #[test]
    fn a_rate_differs_when_it_is_further_away_than_so_many_percent() {
        for (one, expected, percent, differs) in [
            ("100", "100", 0, false),
            ("105", "100", 5, false),
            ("95", "100", 5, false),
            ("105.01", "100", 5, true),
            ("94.99", "100", 5, true),
            ("655.957", "600", 10, false),
            ("655.957", "600", 9, true),
        ] {
            let found = rate(one).differs_from(rate(expected), percent);
            assert_eq!(found, differs, "{one} {expected} {percent}");
        }
    }

    #[test]
    fn an_amount_is_converted_exactly_and_rounded_up_once() {
        for (given, from, at, to, decimals, made) in [
            ("10.00", "EUR", "655.957", "XOF", 2, "6560"),
            ("1", "XOF", "0.00152449017238", "EUR", 2, "0.01"),
            ("655957", "XOF", "0.00152449017238", "EUR", 2, "1000.00"),
            ("25.50", "USD", "1", "EUR", 2, "25.50"),
            ("25.50", "USD", "0.925", "EUR", 2, "23.59"),
            ("100", "XOF", "2.37", "NGN", 0, "237.00"),
            ("101", "XOF", "2.37", "NGN", 0, "240.00"),
            ("101", "XOF", "2.37", "NGN", 2, "239.37"),
        ] {
            let made_of = rate(at).convert(amount(given, from), currency(to), decimals);
            assert_eq!(made_of.unwrap().decimal(), made, "{given} {from} at {at}");
        }
        let most = amount("1000000000000", "EUR");
        assert_eq!(
            rate("655.957").convert(most, currency("XOF"), 0),
            Err(RateError::OutOfRange)
        );
    }

    #[test]
    fn what_is_no_rate_is_refused_and_not_rounded() {
        for text in [
            "",
            "0",
            "-1",
            "1.2.3",
            "abc",
            "NaN",
            "1e400",
            "0.0000000000001",
            "1.2345678901234",
            "10000000000000",
            "1,5",
            "1_5",
            " 1",
        ] {
            assert_eq!(Rate::parse(text), Err(RateError::NotARate), "{text:?}");
        }
        assert_eq!(
            Rate::parse_rounded("1.08342345678909123")
                .unwrap()
                .to_string(),
            "1.08342345679"
        );
        assert_eq!(Rate::parse("1.5E-3").unwrap().to_string(), "0.0015");
    }

    #[test]
    fn a_correction_is_added_in_percent() {
        let corrected = |text: &str| rate("655.957").corrected(Correction::parse(text).unwrap());
        assert_eq!(corrected("0").unwrap(), rate("655.957"));
        assert_eq!(corrected("1.5").unwrap(), rate("665.796355"));
        assert_eq!(corrected("-10").unwrap(), rate("590.3613"));
        for text in ["101", "-51", "1.555", "x", ""] {
            assert_eq!(
                Correction::parse(text),
                Err(RateError::NotACorrection),
                "{text:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_merchant_never_gets_less_than_asked_for_and_the_payer_pays_less_than_one_step_more(
            minor in 1_i64..1_000_000_000_000, digits in 1_i64..999_999_999_999, scale in 0_u32..12
        ) {
            let rate = Rate::of(Decimal::new(digits, scale)).unwrap();
            let given = Amount::from_minor(minor, currency("USD"));
            if let Ok(made) = rate.convert(given, currency("EUR"), 2) {
                let exact = Decimal::new(minor, 2) * rate.0;
                let made = Decimal::new(made.minor(), 2);
                let noise = Decimal::new(1, 6);
                prop_assert!(made >= exact - noise && made - exact < Decimal::new(1, 2));
            }
        }

        #[test]
        fn a_rate_reads_back_as_it_was_written(digits in 1_i64..999_999_999_999, scale in 0_u32..12) {
            let rate = Rate::of(Decimal::new(digits, scale)).unwrap();
            prop_assert_eq!(Rate::parse(&rate.to_string()), Ok(rate));
        }
    }
}
