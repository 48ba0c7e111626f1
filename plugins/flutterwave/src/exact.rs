//! Amounts in JSON without a binary fraction in between: Flutterwave writes and reads them as
//! numbers.

use serde::de::DeserializeOwned;
use serde_json::Value;
use switchyard_gateway::{Amount, Money};

/// Reads JSON with every number as the text that it was written as.
pub fn read<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str(&numbers_as_text(json))
}

/// `{"a":1.50}` becomes `{"a":"1.50"}`. Text inside quotation marks stays as it is.
fn numbers_as_text(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 8);
    let mut is_string = false;
    let mut is_escaped = false;
    let mut is_number = false;
    for char in json.chars() {
        let belongs = char.is_ascii_digit() || matches!(char, '-' | '+' | '.' | 'e' | 'E');
        if is_number && !belongs {
            out.push('"');
            is_number = false;
        }
        if is_string {
            is_string = is_escaped || char != '"';
            is_escaped = !is_escaped && char == '\\';
        } else if char == '"' {
            is_string = true;
        } else if !is_number && (char.is_ascii_digit() || char == '-') {
            out.push('"');
            is_number = true;
        }
        out.push(char);
    }
    if is_number {
        out.push('"');
    }
    out
}

/// `body`, an object with at least one field, with `"amount"` as the number that these digits are.
pub fn with_amount(amount: &str, body: &Value) -> String {
    let text = body.to_string();
    format!(
        "{{\"amount\":{amount},{}",
        text.strip_prefix('{').unwrap_or(&text)
    )
}

/// An amount that Flutterwave wrote: zeros at the end of a fraction say nothing.
pub fn amount(digits: &str, currency: &str) -> Amount {
    let plain = match digits.split_once('.') {
        Some(_) => digits.trim_end_matches('0').trim_end_matches('.'),
        None => digits,
    };
    Amount::decimal(plain, currency)
}

/// The amount of a listed transaction, where Flutterwave names one.
pub fn named(digits: Option<&str>, currency: Option<&str>) -> Option<Amount> {
    Some(amount(digits?, currency?))
}

/// The part of an amount that Flutterwave wrote which is above what was asked; `None` when nothing
/// is, or when the digits do not read as an amount of that currency.
pub fn above(digits: &str, asked: &Money) -> Option<Amount> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    let missing = usize::from(asked.decimals).checked_sub(fraction.len())?;
    let minor: i64 = format!("{whole}{fraction}{}", "0".repeat(missing))
        .parse()
        .ok()?;
    let above = minor.checked_sub(asked.minor).filter(|above| *above > 0)?;
    Some(Amount::minor(above, &asked.currency))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_come_and_go_digit_by_digit() {
        let read: Value = read(
            r#"{"a":1.50,"b":[-2,3e5,12345678901234567890.01],"c":"1.50 \" 7","d":null,"e":true}"#,
        )
        .unwrap();
        assert_eq!(
            read,
            json!({
                "a": "1.50", "b": ["-2", "3e5", "12345678901234567890.01"], "c": "1.50 \" 7", "d": null, "e": true,
            })
        );
        assert_eq!(super::read::<String>("7").unwrap(), "7");
        assert!(super::read::<Value>(r#"{"a":1.5"#).is_err());
        assert_eq!(
            with_amount("25.50", &json!({ "currency": "GHS" })),
            r#"{"amount":25.50,"currency":"GHS"}"#
        );
    }

    #[test]
    fn zeros_after_the_point_say_nothing() {
        for (written, plain) in [
            ("200.00", "200"),
            ("25.50", "25.5"),
            ("100", "100"),
            ("0.05", "0.05"),
        ] {
            assert_eq!(amount(written, "XOF"), Amount::decimal(plain, "XOF"));
        }
    }

    #[test]
    fn the_fee_on_top_is_what_is_above_the_amount_asked() {
        let asked = Money::from_minor(10_000, "NGN", 2);
        for (written, above_it) in [
            ("101.40", Some(140)),
            ("101.4", Some(140)),
            ("100.00", None),
            ("100", None),
            ("99.99", None),
            ("100.001", None),
            ("1e3", None),
        ] {
            let fee = above_it.map(|minor| Amount::minor(minor, "NGN"));
            assert_eq!(above(written, &asked), fee, "{written}");
        }
    }
}
