//! Rates fetched from a URL on a schedule.
//!
//! The answer is JSON of the common shape `{"base": "EUR", "rates": {"USD": 1.0834, …}}`;
//! `base_code` and `conversion_rates` are understood as well. Numbers are read digit by digit, as
//! written. Currencies that we do not have are left out. An answer that is no such thing changes
//! nothing: the rates of before stay until they are too old.

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
    /// A fetched rate that differs from the last accepted one by more than this is held for an
    /// operator.
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

/// The rates of an answer.
pub(super) fn read(
    body: &[u8],
    now: Timestamp,
    valid_for: Duration,
) -> Result<Vec<Entry>, FeedError> {
    let answer: Answer<'_> =
        serde_json::from_slice(body).map_err(|error| FeedError::Shape(error.to_string()))?;
    let base = Currency::from_code(&answer.base)
        .ok_or_else(|| FeedError::Shape("its base is no currency that we know".to_owned()))?;
    let entry = |(code, number): (&String, &&RawValue)| {
        let to = Currency::from_code(code).filter(|to| *to != base)?;
        let rate = Rate::parse_rounded(number.get().trim_matches('"')).ok()?;
        Some(Entry {
            from: base,
            to,
            rate,
            source: Source::Feed,
            at: now,
            valid_until: Some(now.plus(valid_for)),
        })
    };
    let entries: Vec<Entry> = answer.rates.iter().filter_map(entry).collect();
    if entries.is_empty() {
        return Err(FeedError::Shape("it has no rate of ours".to_owned()));
    }
    Ok(entries)
}

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
            let entries = read(body.as_bytes(), NOW, DAY).unwrap();
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
    fn an_answer_of_another_shape_is_refused() {
        for body in [
            "",
            "<html>",
            "[]",
            r#"{"rates":{}}"#,
            r#"{"base":"EUR","rates":{}}"#,
            r#"{"base":"???","rates":{"USD":1}}"#,
            r#"{"base":"EUR","rates":{"USD":-1}}"#,
        ] {
            assert!(
                matches!(read(body.as_bytes(), NOW, DAY), Err(FeedError::Shape(_))),
                "{body}"
            );
        }
    }
}
