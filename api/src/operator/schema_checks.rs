//! Checks of a field of a connection's configuration by its gateway's schema: `minLength`,
//! `maxLength`, `pattern`, `format`, `minimum`, `maximum`. Other keywords are ignored here.

use regex::RegexBuilder;
use serde_json::Value;
use switchyard_core::email;

use crate::reason::{Because, Reason};

/// Problem of a value of the right type, in words that follow its name, and its reason. They never
/// repeat the value, which may be a secret.
pub fn problem(property: &Value, value: &Value) -> Option<(String, Because)> {
    match value {
        Value::String(text) => wrong_text(property, text),
        Value::Number(number) => {
            let number = number.as_i64()?;
            let limit = |name: &str| property.get(name).and_then(Value::as_i64);
            let low = limit("minimum").filter(|limit| number < *limit);
            let high = limit("maximum").filter(|limit| number > *limit);
            let low = low.map(|limit| {
                let because = Reason::ConfigTooLow.with("least", limit);
                (format!("has to be at least {limit}"), because)
            });
            low.or_else(|| {
                let limit = high?;
                let because = Reason::ConfigTooHigh.with("most", limit);
                Some((format!("may be at most {limit}"), because))
            })
        }
        _ => None,
    }
}

fn wrong_text(property: &Value, text: &str) -> Option<(String, Because)> {
    let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    let limit = |name: &str| property.get(name).and_then(Value::as_u64);
    if let Some(least) = limit("minLength").filter(|least| length < *least) {
        let because = Reason::ConfigTooShort.with("least", least);
        return Some((format!("has to have at least {least} characters"), because));
    }
    if let Some(most) = limit("maxLength").filter(|most| length > *most) {
        let because = Reason::ConfigTooLong.with("most", most);
        return Some((format!("may have at most {most} characters"), because));
    }
    let keyword = |name: &str| property.get(name).and_then(Value::as_str);
    if let Some(pattern) = keyword("pattern") {
        // A pattern that cannot be read is its author's mistake, and no reason to refuse good
        // credentials.
        let read = RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build();
        if read.is_ok_and(|pattern| !pattern.is_match(text)) {
            let because = Reason::ConfigPattern.with("pattern", pattern);
            let wrong = format!("does not look right: it has to match {pattern}");
            return Some((wrong, because));
        }
    }
    let (fits, wrong, reason) = match keyword("format")? {
        "uri" | "url" => (
            is_web_address(text),
            "has to be an address that begins with https:// or http://",
            Reason::ConfigUrl,
        ),
        "email" => (
            email::is_valid(text),
            "has to be an e-mail address",
            Reason::ConfigEmail,
        ),
        "uuid" => (uuid(text), "has to be a UUID", Reason::ConfigUuid),
        _ => return None,
    };
    (!fits).then(|| (wrong.to_owned(), reason.into()))
}

fn is_web_address(text: &str) -> bool {
    url::Url::parse(text)
        .is_ok_and(|url| matches!(url.scheme(), "https" | "http") && url.has_host())
}

fn uuid(text: &str) -> bool {
    text.len() == 36
        && text.char_indices().all(|(at, char)| match at {
            8 | 13 | 18 | 23 => char == '-',
            _ => char.is_ascii_hexdigit(),
        })
}

/// Memory for a pattern of a manifest.
const PATTERN_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_has_the_shape_that_its_schema_asks_for() {
        for (property, good, bad) in [
            (
                json!({ "pattern": "^sk_(test|live)_[0-9a-z]+$" }),
                json!("sk_test_1"),
                json!("pk_test_1"),
            ),
            (json!({ "minLength": 3 }), json!("abc"), json!("ab")),
            (json!({ "maxLength": 3 }), json!("abc"), json!("abcd")),
            (
                json!({ "format": "uri" }),
                json!("https://a.example/x"),
                json!("javascript:alert(1)"),
            ),
            (
                json!({ "format": "email" }),
                json!("a@b.example"),
                json!("a@b@c"),
            ),
            (
                json!({ "format": "uuid" }),
                json!("7d3f0c9e-5b1a-4a52-9d6e-0f3c8a1b2c4d"),
                json!("7d3f0c9e"),
            ),
            (json!({ "minimum": 1, "maximum": 9 }), json!(9), json!(10)),
            (json!({ "minimum": 1 }), json!(1), json!(0)),
        ] {
            assert_eq!(problem(&property, &good), None, "{property}");
            let said = problem(&property, &bad)
                .map(|(wrong, _)| wrong)
                .unwrap_or_default();
            assert!(!said.is_empty(), "{property}");
            let repeated = bad.as_str().is_some_and(|bad| said.contains(bad));
            assert!(!repeated, "{said}");
        }
        assert_eq!(problem(&json!({ "pattern": "(" }), &json!("x")), None);
    }
}
