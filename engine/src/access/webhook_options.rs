//! Options of a webhook: event filter, retry schedule and limits. Pure.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::AccessError;
use switchyard_core::limits::{
    MAX_WEBHOOK_CONCURRENCY, MAX_WEBHOOK_DELAY, MAX_WEBHOOK_PER_SECOND, WEBHOOK_DELAYS,
};
use switchyard_core::transaction::EventName;

/// Options that an app chooses for a webhook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WebhookOptions {
    pub events: EventFilter,
    pub retry: RetryProfile,
    /// Requests in one second, evenly spread. `None`: as many as there are.
    pub per_second: Option<u32>,
    /// Concurrent requests. `None`: the installation's limit.
    pub concurrency: Option<u16>,
}

/// Event filter: names, `payment.*`, `payout.*`, or `*` for all events, also future ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventFilter(Vec<String>);

/// When a delivery that was not acknowledged is tried again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "profile",
    rename_all = "snake_case",
    rename_all_fields = "snake_case",
    deny_unknown_fields
)]
pub enum RetryProfile {
    /// Default schedule, by the operator's settings: three times, ten minutes apart,
    /// whatever the receiver asks for.
    #[default]
    Spec,
    /// Ten attempts within 75 hours, as Standard Webhooks recommends.
    Standard,
    /// After each attempt the next of these pauses, in seconds.
    Custom { delays: Vec<u32> },
}

impl Default for EventFilter {
    fn default() -> Self {
        Self(vec![EVERYTHING.to_owned()])
    }
}

impl EventFilter {
    /// Parses a filter.
    ///
    /// # Errors
    /// When it is empty, or names something that is no event.
    pub fn new(patterns: Vec<String>) -> Result<Self, AccessError> {
        let is_known = |pattern: &String| EventName::ALL.iter().any(|name| matches(pattern, *name));
        if let Some(unknown) = patterns.iter().find(|pattern| !is_known(pattern)) {
            let names = EventName::ALL.map(EventName::as_str).join(", ");
            return Err(AccessError::invalid(
                "events",
                format!(
                    "holds `{unknown}`, which is no event: give any of {names}, payment.*, payout.* or *"
                ),
            ));
        }
        if patterns.is_empty() || patterns.len() > MOST_PATTERNS {
            return Err(AccessError::invalid(
                "events",
                format!("holds 1 to {MOST_PATTERNS} names, or * for all events"),
            ));
        }
        Ok(Self(patterns))
    }

    pub fn matches(&self, name: EventName) -> bool {
        self.0.iter().any(|pattern| matches(pattern, name))
    }

    pub fn patterns(&self) -> &[String] {
        &self.0
    }
}

impl RetryProfile {
    /// Whether `Retry-After` and `410 Gone` of the receiver are followed. For the default
    /// schedule each is a failure like any other.
    pub fn follows_receiver(&self) -> bool {
        !matches!(self, Self::Spec)
    }

    fn check(&self) -> Result<(), AccessError> {
        let Self::Custom { delays } = self else {
            return Ok(());
        };
        let most = MAX_WEBHOOK_DELAY.as_secs();
        let is_sane = |delay: &u32| (1..=most).contains(&u64::from(*delay));
        if delays.len() <= WEBHOOK_DELAYS && delays.iter().all(is_sane) {
            return Ok(());
        }
        Err(AccessError::invalid(
            "retry",
            format!("has at most {WEBHOOK_DELAYS} delays, each of 1 to {most} seconds"),
        ))
    }
}

impl WebhookOptions {
    /// Holds the numbers against the limits.
    pub(super) fn check(&self) -> Result<(), AccessError> {
        self.retry.check()?;
        let is_within =
            |value: Option<u32>, most: u32| value.is_none_or(|it| it >= 1 && it <= most);
        if !is_within(self.per_second, MAX_WEBHOOK_PER_SECOND) {
            return Err(AccessError::invalid(
                "per_second",
                format!("is 1 to {MAX_WEBHOOK_PER_SECOND}, or null for no limit"),
            ));
        }
        if !is_within(
            self.concurrency.map(u32::from),
            u32::from(MAX_WEBHOOK_CONCURRENCY),
        ) {
            return Err(AccessError::invalid(
                "concurrency",
                format!("is 1 to {MAX_WEBHOOK_CONCURRENCY}, or null for the installation's own"),
            ));
        }
        Ok(())
    }

    /// The least time between the beginnings of two requests.
    pub fn spacing(&self) -> Duration {
        self.per_second
            .map_or(Duration::ZERO, |most| Duration::from_secs(1) / most.max(1))
    }
}

fn matches(pattern: &str, name: EventName) -> bool {
    match pattern.strip_suffix('*') {
        Some("") => true,
        // Whole words only: `pay*` would quietly grow with the next kind of event.
        Some(kind) => kind.ends_with('.') && name.as_str().starts_with(kind),
        None => pattern == name.as_str(),
    }
}

const EVERYTHING: &str = "*";
/// More patterns than there are events say nothing more.
const MOST_PATTERNS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(patterns: &[&str]) -> Result<EventFilter, AccessError> {
        EventFilter::new(patterns.iter().map(|&pattern| pattern.to_owned()).collect())
    }

    #[test]
    fn a_filter_lets_through_names_kinds_and_everything() {
        let through = |patterns: &[&str]| {
            let filter = filter(patterns).unwrap();
            let names = EventName::ALL.into_iter();
            names
                .filter(|name| filter.matches(*name))
                .map(EventName::as_str)
                .collect::<Vec<_>>()
        };
        assert_eq!(through(&["*"]).len(), EventName::ALL.len());
        assert_eq!(
            through(&["payout.*"]),
            ["payout.initiated", "payout.success", "payout.failed"]
        );
        assert_eq!(
            through(&["payment.success", "payout.failed"]),
            ["payment.success", "payout.failed"]
        );
        assert_eq!(EventFilter::default(), filter(&["*"]).unwrap());
    }

    #[test]
    fn what_names_no_event_is_refused() {
        for bad in [
            &[][..],
            &["payment.succes"],
            &["pay*"],
            &["refund.*"],
            &[""],
            &["*", "PAYMENT.success"],
            &["payment.success "],
            &["**"],
        ] {
            assert!(filter(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn numbers_have_bounds() {
        let options = |retry, per_second, concurrency| WebhookOptions {
            retry,
            per_second,
            concurrency,
            ..WebhookOptions::default()
        };
        let custom = |delays: &[u32]| RetryProfile::Custom {
            delays: delays.to_vec(),
        };
        let good = [
            options(RetryProfile::Spec, None, None),
            options(RetryProfile::Standard, Some(1), Some(1)),
            options(custom(&[]), Some(1_000), Some(64)),
            options(custom(&[1, 86_400]), None, None),
        ];
        for options in good {
            assert!(options.check().is_ok(), "{options:?}");
        }
        let bad = [
            options(custom(&[0]), None, None),
            options(custom(&[86_401]), None, None),
            options(custom(&[60; 21]), None, None),
            options(RetryProfile::Spec, Some(0), None),
            options(RetryProfile::Spec, Some(1_001), None),
            options(RetryProfile::Spec, None, Some(0)),
            options(RetryProfile::Spec, None, Some(65)),
        ];
        for options in bad {
            assert!(options.check().is_err(), "{options:?}");
        }
    }
}
