//! Amounts: whole numbers of a currency's smallest units, read and written without a float in
//! between.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Currency;
use crate::limits;

/// Amount of money in one currency. Two amounts of different currencies are neither equal, nor
/// less, nor more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Amount {
    minor: i64,
    currency: Currency,
}

/// Reason why a text is not an amount that can be requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    #[error(
        "the amount is not a number: write it in digits with a point for decimals, such as 25 or 25.50"
    )]
    NotANumber,
    #[error("the amount is negative: it must be greater than zero")]
    Negative,
    #[error("the amount is zero: it must be greater than zero")]
    Zero,
    #[error("the amount is too large: at most {limit} {currency}")]
    TooLarge { currency: Currency, limit: i64 },
    #[error("the amount has too many decimals: {}", decimals_allowed(*.currency))]
    TooManyDecimals { currency: Currency },
}

impl Amount {
    pub const fn from_minor(minor: i64, currency: Currency) -> Self {
        Self { minor, currency }
    }

    /// Reads an amount in major units, as JSON writes a number: `25`, `25.00`, `2.5e1`. The text is
    /// read digit by digit.
    ///
    /// Zeros that say nothing are not decimals: `200.00` is 200 XOF, although XOF has none, and
    /// `200.50` is refused. Zero, negative amounts and amounts over [`limits::AMOUNT_MAJOR`] are
    /// refused.
    pub fn parse_major(text: &str, currency: Currency) -> Result<Self, AmountError> {
        let number = Decimal::read(text).ok_or(AmountError::NotANumber)?;
        if number.digits.is_empty() {
            return Err(AmountError::Zero);
        }
        if number.negative {
            return Err(AmountError::Negative);
        }
        let too_large = AmountError::TooLarge {
            currency,
            limit: limits::AMOUNT_MAJOR,
        };
        let decimals = i64::from(currency.decimals());
        // Sizes are compared before anything is multiplied: "1e999999999" costs nothing.
        if number.exponent.saturating_add(number.digits.len() as i64) > MAJOR_DIGITS {
            return Err(too_large);
        }
        if number.exponent < -decimals {
            return Err(AmountError::TooManyDecimals { currency });
        }
        let limit = limits::AMOUNT_MAJOR * currency.info().subunit_to_unit();
        let shift = u32::try_from(number.exponent + decimals).map_err(|_| too_large)?;
        let minor = number
            .value()
            .and_then(|value| value.checked_mul(10_i64.checked_pow(shift)?));
        match minor {
            Some(minor) if minor <= limit => Ok(Self { minor, currency }),
            _ => Err(too_large),
        }
    }

    /// The amount in the currency's smallest units.
    pub const fn minor(self) -> i64 {
        self.minor
    }

    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// `None` when the currencies differ or the sum leaves the range.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.with(other, i64::checked_add)
    }

    /// `None` when the currencies differ or the difference leaves the range. The difference may be
    /// negative.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.with(other, i64::checked_sub)
    }

    /// Amount that remains of this one after `received`. `None`: nothing remains, or `received` is
    /// in another currency.
    pub fn rest_after(self, received: Option<Self>) -> Option<Self> {
        match received.filter(|received| received.minor > 0) {
            None => Some(self),
            Some(received) => self.checked_sub(received).filter(|rest| rest.minor > 0),
        }
    }

    fn with(self, other: Self, operation: fn(i64, i64) -> Option<i64>) -> Option<Self> {
        if self.currency != other.currency {
            return None;
        }
        let minor = operation(self.minor, other.minor)?;
        Some(Self { minor, ..self })
    }

    /// Major units in digits with all decimals of the currency and a point: `25.00`. The form for
    /// providers.
    pub fn decimal(self) -> String {
        format!("{}{}", self.sign(), self.digits("", "."))
    }

    /// Major units for a JSON answer: 25.5, and 25 rather than 25.0.
    ///
    /// Exact for all amounts that can be asked for: they have at most 15 digits, and every decimal
    /// number of 15 digits survives the way through the type that JSON readers have for numbers. (A
    /// sum beyond that would be the nearest such number.)
    pub fn to_json_number(self) -> serde_json::Number {
        let unit = self.currency.info().subunit_to_unit();
        let whole = serde_json::Number::from(self.minor / unit);
        if self.minor % unit == 0 {
            return whole;
        }
        // Digits with a point are a number always, so the other arm is never taken.
        self.decimal()
            .trim_end_matches('0')
            .parse()
            .unwrap_or(whole)
    }

    /// As a person reads it, by the currency's own rules: `$ 1,500.00`, `XOF 200`, `1.250,00 €`.
    pub fn format(self) -> String {
        let currency = self.currency.info();
        let (sign, symbol) = (self.sign(), currency.symbol);
        let digits = self.digits(currency.thousands_separator, currency.decimal_mark);
        if currency.symbol_first {
            format!("{sign}{symbol} {digits}")
        } else {
            format!("{sign}{digits} {symbol}")
        }
    }

    fn sign(self) -> &'static str {
        if self.minor < 0 { "-" } else { "" }
    }

    /// The digits without their sign.
    pub(super) fn digits(self, thousands: &str, mark: &str) -> String {
        let unit = self.currency.info().subunit_to_unit().unsigned_abs();
        let minor = self.minor.unsigned_abs();
        let mut text = grouped(minor / unit, thousands);
        if self.currency.decimals() > 0 {
            let width = usize::from(self.currency.decimals());
            text.push_str(mark);
            text.push_str(&format!("{:0width$}", minor % unit));
        }
        text
    }
}

impl PartialOrd for Amount {
    /// Amounts of different currencies are not comparable: `<`, `>=` and their kin are all false
    /// for them.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self.currency == other.currency).then(|| self.minor.cmp(&other.minor))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.format())
    }
}

impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.decimal(), self.currency)
    }
}

/// A number as written: `digits × 10^exponent`, where `digits` neither starts nor ends with a zero.
/// No digits: zero.
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// Reads what JSON's grammar calls a number, and nothing else: no `+5`, `.5`, `5.`, `007`,
    /// `1_000` or `1,000`.
    fn read(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
            None => (text, 0),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) if all_digits(fraction) => (whole, fraction),
            Some(_) => return None,
            None => (mantissa, ""),
        };
        if !all_digits(whole) || (whole.len() > 1 && whole.starts_with('0')) {
            return None;
        }
        let mut digits: Vec<u8> = whole
            .bytes()
            .chain(fraction.bytes())
            .skip_while(|digit| *digit == b'0')
            .collect();
        let zeros = digits
            .iter()
            .rev()
            .take_while(|digit| **digit == b'0')
            .count();
        digits.truncate(digits.len() - zeros);
        let exponent = exponent
            .saturating_sub(fraction.len() as i64)
            .saturating_add(zeros as i64);
        Some(Self {
            negative,
            digits,
            exponent,
        })
    }

    /// The digits as a number; `None` when there are too many for an `i64`.
    fn value(&self) -> Option<i64> {
        let append =
            |value: i64, digit: &u8| value.checked_mul(10)?.checked_add(i64::from(digit - b'0'));
        self.digits.iter().try_fold(0, append)
    }
}

/// An exponent of any length; what does not fit is as good as endless.
fn read_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    if !all_digits(digits) {
        return None;
    }
    let size = digits.parse().unwrap_or(ENDLESS).min(ENDLESS);
    Some(if negative { -size } else { size })
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Digits in groups of three.
pub(super) fn grouped(number: u64, separator: &str) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push_str(separator);
        }
        text.push(digit);
    }
    text
}

fn decimals_allowed(currency: Currency) -> String {
    match currency.decimals() {
        0 => format!("{currency} has none, so give a whole number"),
        decimals => format!("{currency} has {decimals}"),
    }
}

/// Digits before the point of the largest amount.
const MAJOR_DIGITS: i64 = limits::AMOUNT_MAJOR.ilog10() as i64 + 1;
/// An exponent that outweighs every text which fits a request.
const ENDLESS: i64 = 1_000_000_000_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn currency(code: &str) -> Currency {
        Currency::from_code(code).unwrap()
    }

    fn amount(minor: i64, code: &str) -> Amount {
        Amount::from_minor(minor, currency(code))
    }

    #[test]
    fn an_amount_is_read_as_json_writes_numbers() {
        let table = [
            ("25", "USD", 2500),
            ("25.00", "USD", 2500),
            ("25.5", "USD", 2550),
            ("2500", "USD", 250_000),
            ("0.01", "USD", 1),
            ("1e3", "USD", 100_000),
            ("1E+3", "XOF", 1000),
            ("2.5e1", "XOF", 25),
            ("2550e-2", "USD", 2550),
            ("0.0000025e7", "USD", 2500),
            ("2500e-000000000000000000000002", "USD", 2500),
            ("200.00", "XOF", 200),
            ("25.1000000000000000000000000000000", "USD", 2510),
            ("1.234", "TND", 1234),
            ("1000000000000", "USD", 100_000_000_000_000),
            ("1000000000000.00", "TND", 1_000_000_000_000_000),
            ("999999999999.999", "TND", 999_999_999_999_999),
        ];
        for (text, code, minor) in table {
            assert_eq!(
                Amount::parse_major(text, currency(code)),
                Ok(amount(minor, code)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_amount_is_refused_with_its_reason() {
        let too_large = |code| AmountError::TooLarge {
            currency: currency(code),
            limit: 1_000_000_000_000,
        };
        let decimals = |code| AmountError::TooManyDecimals {
            currency: currency(code),
        };
        let table = [
            ("0", "USD", AmountError::Zero),
            ("0.00", "USD", AmountError::Zero),
            ("-0", "USD", AmountError::Zero),
            ("0e999999999999999999999", "USD", AmountError::Zero),
            ("-1", "USD", AmountError::Negative),
            ("-1e400", "USD", AmountError::Negative),
            ("1000000000000.01", "USD", too_large("USD")),
            ("1000000000001", "XOF", too_large("XOF")),
            ("1e13", "XOF", too_large("XOF")),
            ("1e999999999999999999999", "USD", too_large("USD")),
            ("25.001", "USD", decimals("USD")),
            ("1e-999999999999999999999", "USD", decimals("USD")),
            ("200.5", "XOF", decimals("XOF")),
            ("1.2345", "TND", decimals("TND")),
        ];
        for (text, code, error) in table {
            assert_eq!(
                Amount::parse_major(text, currency(code)),
                Err(error),
                "{text}"
            );
        }
        for text in [
            "", " ", "25 ", " 25", "+25", "25.", ".5", "025", "1,000", "1_000", "NaN", "Infinity",
            "-", "--1", "1e", "1e+", "1e1.5", "1.2.3", "0x10", "٢٥", "25 USD", "null",
        ] {
            assert_eq!(
                Amount::parse_major(text, currency("USD")),
                Err(AmountError::NotANumber),
                "{text}"
            );
        }
    }

    #[test]
    fn refusals_say_what_to_do() {
        let sentence = |text, code| {
            Amount::parse_major(text, currency(code))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            sentence("200.5", "XOF"),
            "the amount has too many decimals: XOF has none, so give a whole number"
        );
        assert_eq!(
            sentence("200.555", "USD"),
            "the amount has too many decimals: USD has 2"
        );
        assert_eq!(
            sentence("1e13", "USD"),
            "the amount is too large: at most 1000000000000 USD"
        );
    }

    #[test]
    fn amounts_are_formatted_by_their_currencys_rules() {
        let table = [
            (50_000, "USD", "$ 500.00"),
            (200, "XOF", "XOF 200"),
            (1_500_000, "XOF", "XOF 1 500 000"),
            (125_000, "EUR", "1.250,00 €"),
            (123_456_789, "NGN", "₦ 1,234,567.89"),
            (5, "GHS", "GH₵ 0.05"),
            (1_234_567, "TND", "1.234,567 TND"),
            (-125_000, "EUR", "-1.250,00 €"),
            (-500, "USD", "-$ 5.00"),
            (100_000, "USD", "$ 1,000.00"),
            (99_999, "USD", "$ 999.99"),
            (0, "USD", "$ 0.00"),
            (i64::MIN, "USD", "-$ 92,233,720,368,547,758.08"),
        ];
        for (minor, code, text) in table {
            assert_eq!(amount(minor, code).format(), text);
        }
    }

    #[test]
    fn an_amount_is_written_for_readers_and_with_its_code_for_developers() {
        let amount = amount(125_000, "EUR");
        assert_eq!(amount.to_string(), "1.250,00 €");
        assert_eq!(format!("{amount:?}"), "1250.00 EUR");
        assert_eq!(format!("{:?}", amount.currency()), "EUR");
    }

    #[test]
    fn json_numbers_have_no_decimals_that_say_nothing() {
        let table = [
            (2500, "USD", "25"),
            (2550, "USD", "25.5"),
            (2501, "USD", "25.01"),
            (200, "XOF", "200"),
            (-1, "USD", "-0.01"),
            (99_999_999_999_999, "USD", "999999999999.99"),
            (999_999_999_999_999, "TND", "999999999999.999"),
            (1_000_000_000_000_000, "TND", "1000000000000"),
        ];
        for (minor, code, text) in table {
            assert_eq!(amount(minor, code).to_json_number().to_string(), text);
        }
    }

    #[test]
    fn the_rest_is_what_is_missing_in_the_same_currency() {
        let asked = amount(2_500, "USD");
        for (received, rest) in [
            (None, Some(2_500)),
            (Some(amount(0, "USD")), Some(2_500)),
            (Some(amount(2_499, "USD")), Some(1)),
            (Some(amount(2_500, "USD")), None),
            (Some(amount(2_501, "USD")), None),
            (Some(amount(1_000, "EUR")), None),
        ] {
            let found = asked.rest_after(received).map(Amount::minor);
            assert_eq!(found, rest, "{received:?}");
        }
    }

    #[test]
    fn amounts_of_two_currencies_do_not_mix() {
        let (dollars, francs) = (amount(5, "USD"), amount(5, "XOF"));
        assert_ne!(dollars, francs);
        assert_eq!(dollars.partial_cmp(&francs), None);
        assert_eq!(dollars.partial_cmp(&amount(4, "XOF")), None);
        assert_eq!((dollars >= francs, dollars <= francs), (false, false));
        assert_eq!(dollars.checked_add(francs), None);
        assert_eq!(dollars.checked_sub(francs), None);
    }

    #[test]
    fn an_amount_travels_as_minor_units_and_code() {
        let text = serde_json::to_string(&amount(2500, "USD")).unwrap();
        assert_eq!(text, r#"{"minor":2500,"currency":"USD"}"#);
        assert_eq!(
            serde_json::from_str::<Amount>(&text).unwrap(),
            amount(2500, "USD")
        );
        assert!(serde_json::from_str::<Amount>(r#"{"minor":25.5,"currency":"USD"}"#).is_err());
    }

    fn any_currency() -> impl Strategy<Value = Currency> {
        prop::sample::select(Currency::all().collect::<Vec<_>>())
    }

    /// Every amount that can be asked for.
    fn any_amount() -> impl Strategy<Value = Amount> {
        any_currency().prop_flat_map(|currency| {
            let limit = limits::AMOUNT_MAJOR * currency.info().subunit_to_unit();
            (1..=limit).prop_map(move |minor| Amount::from_minor(minor, currency))
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(amount in any_amount()) {
            prop_assert_eq!(Amount::parse_major(&amount.decimal(), amount.currency()), Ok(amount));
            prop_assert_eq!(Amount::parse_major(&amount.to_json_number().to_string(), amount.currency()), Ok(amount));
            // Through a client's JSON parser too, which knows only 64-bit floats.
            let answer = serde_json::to_string(&amount.to_json_number()).unwrap();
            let read: serde_json::Value = serde_json::from_str(&answer).unwrap();
            prop_assert_eq!(Amount::parse_major(&read.to_string(), amount.currency()), Ok(amount));
        }

        #[test]
        fn a_formatted_amount_holds_its_own_digits(amount in any_amount()) {
            let info = amount.currency().info();
            let text = amount.format().replace(info.symbol, "").replace(info.thousands_separator, "").replace(info.decimal_mark, ".");
            prop_assert_eq!(text.trim(), amount.decimal());
        }

        #[test]
        fn every_64_bit_number_can_be_shown(minor in any::<i64>(), currency in any_currency()) {
            let amount = Amount::from_minor(minor, currency);
            prop_assert!(!amount.format().is_empty());
            prop_assert!(!amount.to_json_number().to_string().is_empty());
            let digits = amount.decimal().replace('.', "");
            prop_assert_eq!(digits.parse::<i64>(), Ok(minor));
        }

        #[test]
        fn no_text_makes_the_reader_panic_or_give_what_is_out_of_range(
            text in "-?[0-9]{0,30}(\\.[0-9]{0,30})?([eE][+-]?[0-9]{0,25})?",
            currency in any_currency(),
        ) {
            if let Ok(amount) = Amount::parse_major(&text, currency) {
                prop_assert!(amount.minor() > 0);
                prop_assert!(amount.minor() <= limits::AMOUNT_MAJOR * currency.info().subunit_to_unit());
            }
        }

        #[test]
        fn sums_and_differences_undo_each_other_or_say_that_they_cannot(a in any::<i64>(), b in any::<i64>(), currency in any_currency()) {
            let (first, second) = (Amount::from_minor(a, currency), Amount::from_minor(b, currency));
            prop_assert_eq!(first.checked_add(second).map(Amount::minor), a.checked_add(b));
            if let Some(sum) = first.checked_add(second) {
                prop_assert_eq!(sum.checked_sub(second), Some(first));
            }
            prop_assert_eq!(first.partial_cmp(&second), Some(a.cmp(&b)));
        }
    }
}
