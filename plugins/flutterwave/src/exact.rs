//! Amounts in JSON without a binary fraction on the way: Flutterwave writes and reads them as numbers.

use serde::de::DeserializeOwned;
use serde_json::Value;
use switchyard_gateway::Amount;

/// Reads JSON with every number as the text that it was written as.
pub fn read<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str(&numbers_as_text(json))
}

/// `{"a":1.50}` becomes `{"a":"1.50"}`. What is inside quotation marks stays as it is.
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
}
