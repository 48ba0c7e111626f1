//! Rates fetched from a URL on a schedule.
//!
//! The answer is JSON of the common shape `{"base": "EUR", "rates": {"USD": 1.0834, …}}`;
//! `base_code` and `conversion_rates` are understood as well. Numbers are read digit by digit, as
//! written. Currencies that we do not have are left out. A value that is no rate (zero, negative,
//! no number, out of range) is reported, and the rate of before stays in use until it is too old. An
//! answer of another shape changes nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Method;
use serde::Deserialize;
use serde_json::value::RawValue;
use url::Url;

use super::rate_table::{Entry, Source};
use switchyard_core::limits::{RATE_FEED_BYTES, RATE_FEED_DEADLINE};
use switchyard_core::money::{Currency, Rate};
use switchyard_core::time::Timestamp;
use switchyard_system::egress::{self, Client};

/// Source of rates, interval of fetches, and validity of a rate.
#[derive(Clone, Debug)]
pub struct FeedSettings {
    pub url: Option<Url>,
    pub every: Duration,
    pub valid_for: Duration,
    /// A fetched rate that differs by more than this from the last accepted one, or from the one
    /// with which the day (UTC) began, is held for an operator.
    pub max_change_percent: u32,
}

impl Default for FeedSettings {
    fn default() -> Self {
        Self {
            url: None,
            every: Duration::from_secs(60 * 60),
            valid_for: Duration::from_secs(24 * 60 * 60),
            max_change_percent: 10,
        }
    }
}

/// Reason why no rates were fetched.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    #[error("no URL is set: set exchange.url in the settings")]
    NoUrl,
    #[error("the URL of the rates may not be reached: {0}")]
    Forbidden(#[from] egress::Forbidden),
    #[error("the rates could not be fetched: {0}")]
    Unreachable(String),
    #[error("the source of the rates answered with status {0}")]
    Status(u16),
    #[error("the source of the rates answered more than {RATE_FEED_BYTES} bytes")]
    TooLarge,
    #[error(
        "the answer is not of the shape {{\"base\": \"EUR\", \"rates\": {{\"USD\": 1.08}}}}: {0}"
    )]
    Shape(String),
    #[error("none of the {0} values is a usable rate: see the held rates")]
    NoneUsable(usize),
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(alias = "base_code")]
    base: String,
    #[serde(alias = "conversion_rates", borrow)]
    rates: BTreeMap<String, &'a RawValue>,
}

/// Asks the source once.
pub(super) async fn fetch(client: &Client, url: &Url) -> Result<Vec<u8>, FeedError> {
    let request = client.request(Method::GET, url)?;
    let unreachable =
        |error: reqwest::Error| FeedError::Unreachable(error.without_url().to_string());
    let mut answer = request
        .header("accept", "application/json")
        .timeout(RATE_FEED_DEADLINE)
        .send()
        .await
        .map_err(unreachable)?;
    if !answer.status().is_success() {
        return Err(FeedError::Status(answer.status().as_u16()));
    }
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(unreachable)? {
        if body.len() + part.len() > RATE_FEED_BYTES {
            return Err(FeedError::TooLarge);
        }
        body.extend_from_slice(&part);
    }
    Ok(body)
}

/// A value of the feed that is no rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusableRate {
    pub from: Currency,
    pub to: Currency,
    /// The value as sent: its printable ASCII characters, at most 40.
    pub sent: String,
    /// Time of the fetch.
    pub at: Timestamp,
}

/// Rates and unusable values of an answer, of our currencies.
#[derive(Debug)]
pub(super) struct FeedAnswer {
    pub(super) entries: Vec<Entry>,
    pub(super) unusable: Vec<UnusableRate>,
}

/// Reads an answer.
///
/// # Errors
/// An answer of another shape, or without any of our currencies besides its base.
pub(super) fn read(
    body: &[u8],
    now: Timestamp,
    valid_for: Duration,
) -> Result<FeedAnswer, FeedError> {
    let answer: Answer<'_> =
        serde_json::from_slice(body).map_err(|error| FeedError::Shape(error.to_string()))?;
    let base = Currency::from_code(&answer.base)
        .ok_or_else(|| FeedError::Shape("its base is no currency that we know".to_owned()))?;
    let mut read = FeedAnswer {
        entries: Vec::new(),
        unusable: Vec::new(),
    };
    for (code, value) in &answer.rates {
        let Some(to) = Currency::from_code(code).filter(|to| *to != base) else {
            continue;
        };
        match Rate::parse_rounded(value.get().trim_matches('"')) {
            Ok(rate) => read.entries.push(Entry {
                from: base,
                to,
                rate,
                source: Source::Feed,
                at: now,
                valid_until: Some(now.plus(valid_for)),
                day_began_with: None,
            }),
            Err(_) => read.unusable.push(UnusableRate {
                from: base,
                to,
                sent: shown(value.get()),
                at: now,
            }),
        }
    }
    if read.entries.is_empty() && read.unusable.is_empty() {
        return Err(FeedError::Shape("it has no rate of ours".to_owned()));
    }
    Ok(read)
}

/// The part of a value that can be shown: the feed may send anything.
fn shown(value: &str) -> String {
    let printable = value.chars().filter(char::is_ascii_graphic);
    printable.take(SHOWN_CHARACTERS).collect()
}

const SHOWN_CHARACTERS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_000);
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    #[test]
    fn both_common_shapes_are_read_digit_by_digit() {
        for body in [
            r#"{"base":"EUR","date":"2026-11-20","rates":{"USD":1.083400000000000001,"NGN":"1750.5","ZZZ":1,"EUR":1,"GHS":0,"KES":null}}"#,
            r#"{"result":"success","base_code":"EUR","conversion_rates":{"USD":1.0834,"NGN":1750.50}}"#,
        ] {
            let entries = read(body.as_bytes(), NOW, DAY).unwrap().entries;
            let rates: Vec<(&str, String)> = entries
                .iter()
                .map(|entry| (entry.to.code(), entry.rate.to_string()))
                .collect();
            let expected = [("NGN", "1750.5".to_owned()), ("USD", "1.0834".to_owned())];
            assert_eq!(rates, expected);
            assert_eq!(entries[0].valid_until, Some(NOW.plus(DAY)));
        }
    }

    #[test]
    fn a_value_that_is_no_rate_is_reported_as_sent() {
        let long = "9".repeat(50);
        for (value, sent) in [
            ("0", "0"),
            ("-1", "-1"),
            ("1e-30", "1e-30"),
            ("0.0000000000000001", "0.0000000000000001"),
            ("1e30", "1e30"),
            ("null", "null"),
            (r#""NaN""#, r#""NaN""#),
            ("\"\u{202e}1\"", r#""1""#),
            (r#"{ "mid": 1 }"#, r#"{"mid":1}"#),
            (&long, &long[..SHOWN_CHARACTERS]),
        ] {
            let body = format!(r#"{{"base":"EUR","rates":{{"USD":{value},"GHS":16.5,"ZZZ":0}}}}"#);
            let answer = read(body.as_bytes(), NOW, DAY).unwrap();
            let codes = answer.entries.iter().map(|entry| entry.to.code());
            assert_eq!(codes.collect::<Vec<_>>(), ["GHS"], "{value}");
            let unusable = answer.unusable.iter();
            let unusable = unusable.map(|one| (one.from.code(), one.to.code(), &*one.sent, one.at));
            assert_eq!(
                unusable.collect::<Vec<_>>(),
                [("EUR", "USD", sent, NOW)],
                "{value}"
            );
        }
    }

    #[test]
    fn an_answer_of_another_shape_is_refused() {
        for body in [
            "",
            "<html>",
            "[]",
            r#"{"rates":{}}"#,
            r#"{"base":"EUR","rates":{}}"#,
            r#"{"base":"???","rates":{"USD":1}}"#,
            r#"{"base":"EUR","rates":{"ZZZ":1}}"#,
        ] {
            assert!(
                matches!(read(body.as_bytes(), NOW, DAY), Err(FeedError::Shape(_))),
                "{body}"
            );
        }
    }
}
