//! Retry policy and order of webhooks, as pure functions (docs/contract/webhooks.md).

use std::collections::BTreeSet;
use std::time::Duration;

use ipnet::IpNet;

use crate::access::RetryProfile;
use switchyard_core::limits;
use switchyard_core::time::Timestamp;
use switchyard_system::egress;

/// Operator settings for webhooks.
#[derive(Clone, Debug)]
pub struct WebhookSettings {
    /// Retries after the first attempt, for webhooks with the default schedule.
    pub retries: u32,
    /// Minimum time from the end of an attempt to the next one, for the same webhooks.
    pub interval: Duration,
    /// Deadline for the receiver's response, including name resolution and connecting.
    pub deadline: Duration,
    /// Additional headers with the value of `X-Service-Signature`.
    pub extra_signature_headers: Vec<String>,
    /// Development mode: allows receivers on this machine and in private networks, on any port.
    pub allow_private: bool,
    /// Private networks in which receivers are allowed in production.
    pub private_networks: Vec<IpNet>,
    /// Whether `http://` is allowed. It always is for receivers of development mode.
    pub allow_http: bool,
    /// Allowed ports besides 443 and 80.
    pub extra_ports: Vec<u16>,
    /// Default limit of concurrent requests to one webhook.
    pub concurrency_per_target: usize,
    /// Retention of attempts at live deliveries. The delivery itself is kept.
    pub live_log: Duration,
}

impl Default for WebhookSettings {
    fn default() -> Self {
        Self {
            retries: 3,
            interval: Duration::from_secs(10 * 60),
            deadline: limits::WEBHOOK_DEADLINE,
            extra_signature_headers: Vec::new(),
            allow_private: false,
            private_networks: Vec::new(),
            allow_http: false,
            extra_ports: Vec::new(),
            concurrency_per_target: 16,
            live_log: Duration::from_secs(180 * 24 * 60 * 60),
        }
    }
}

impl WebhookSettings {
    pub fn egress(&self) -> egress::Policy {
        egress::Policy {
            allow_private: self.allow_private,
            private_networks: self.private_networks.clone(),
            https_only: !self.allow_http && !self.allow_private,
            extra_ports: self.extra_ports.iter().copied().collect::<BTreeSet<_>>(),
        }
    }

    /// Pause after `made` attempts; `None` after the last one.
    fn pause(&self, profile: &RetryProfile, made: u32) -> Option<Duration> {
        let place = usize::try_from(made).ok()?.checked_sub(1)?;
        match profile {
            RetryProfile::Spec => (made <= self.retries).then_some(self.interval),
            RetryProfile::Standard => STANDARD.get(place).copied().map(Duration::from_secs),
            RetryProfile::Custom { delays } => {
                let seconds = delays.get(place).copied().map(u64::from);
                seconds.map(Duration::from_secs)
            }
        }
    }
}

/// Receiver's response, as far as the schedule depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Acknowledged,
    /// Status 410: the receiver is permanently gone.
    Gone,
    /// Any other response, or none. `wait` is the `Retry-After` of a 429 or 503.
    Refused {
        wait: Option<Duration>,
    },
}

/// Classifies a response. `retry_after` is its header: a number of seconds, or a date.
pub fn classify(status: Option<u16>, retry_after: Option<&str>, now: Timestamp) -> Reply {
    match status {
        Some(status) if is_acknowledgment(status) => Reply::Acknowledged,
        Some(410) => Reply::Gone,
        Some(429 | 503) => Reply::Refused {
            wait: retry_after.and_then(|text| read_wait(text.trim(), now)),
        },
        _ => Reply::Refused { wait: None },
    }
}

fn read_wait(text: &str, now: Timestamp) -> Option<Duration> {
    if text.is_empty() {
        return None;
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number too large to parse is above the maximum wait anyway.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    Timestamp::parse_http(text).map(|at| at.since(now))
}

/// Decision about a delivery after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The delivery is done.
    Acknowledged,
    /// The delivery is retried, not before `due`.
    Retry { due: Timestamp },
    /// No attempt is left. The delivery stays visible and can be replayed manually.
    Failed,
}

/// Whether the status is exactly 200: no other 2xx and no redirect.
pub fn is_acknowledgment(status: u16) -> bool {
    status == 200
}

/// Judges an attempt. `made` includes it. `chance` is any number; it spreads retries over
/// [`JITTER`], so that they do not all reach a recovered receiver at once. Jitter and `Retry-After`
/// only add to the pause: a retry is never early.
pub fn verdict(
    settings: &WebhookSettings,
    profile: &RetryProfile,
    heard: Reply,
    made: u32,
    ended_at: Timestamp,
    chance: u32,
) -> Verdict {
    let wait = match heard {
        Reply::Acknowledged => return Verdict::Acknowledged,
        Reply::Gone if profile.follows_receiver() => return Verdict::Failed,
        Reply::Gone => None,
        Reply::Refused { wait } => wait.filter(|_| profile.follows_receiver()),
    };
    let Some(pause) = settings.pause(profile, made) else {
        return Verdict::Failed;
    };
    let wait = wait.unwrap_or_default();
    let pause = pause.max(wait.min(limits::MAX_WEBHOOK_RETRY_AFTER));
    let most = JITTER.min(pause / 10);
    let jitter = most.mul_f64(f64::from(chance) / f64::from(u32::MAX));
    Verdict::Retry {
        due: ended_at.plus(pause).plus(jitter),
    }
}

/// State of the earlier event of the same transaction at the same webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predecessor {
    /// Acknowledged, out of attempts, or nonexistent.
    Settled,
    /// Waits for its first attempt, or is in flight.
    Unsent,
    /// First tried at `first_attempt_at` and not acknowledged yet.
    Tried { first_attempt_at: Timestamp },
}

/// Whether an event may be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartTime {
    Now,
    /// Not before this time, unless the predecessor ends earlier.
    At(Timestamp),
    /// Not before the predecessor was sent.
    AfterPredecessor,
}

/// Decides whether a later event may be sent. It waits until the earlier event was acknowledged or
/// has failed, but at most [`ORDER_WAIT`] from the first attempt at the earlier event.
pub fn start_time(predecessor: Predecessor, now: Timestamp) -> StartTime {
    match predecessor {
        Predecessor::Settled => StartTime::Now,
        Predecessor::Unsent => StartTime::AfterPredecessor,
        Predecessor::Tried { first_attempt_at } => {
            let at = first_attempt_at.plus(ORDER_WAIT);
            if now >= at {
                StartTime::Now
            } else {
                StartTime::At(at)
            }
        }
    }
}

/// Maximum wait of a later event for the acknowledgment of an earlier one
/// (docs/contract/webhooks.md).
pub const ORDER_WAIT: Duration = Duration::from_secs(3);
/// Time over which retries are spread. The schedule may be late by 15 s in all.
pub const JITTER: Duration = Duration::from_secs(5);
/// Pauses that Standard Webhooks recommends, in seconds: ten attempts within 75.5 hours.
const STANDARD: [u64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ENDED: Timestamp = Timestamp::from_seconds(1_000);

    #[test]
    fn plain_http_is_refused_unless_a_setting_or_development_mode_allows_it() {
        for (allow_http, allow_private, is_refused) in [
            (false, false, true),
            (true, false, false),
            (false, true, false),
        ] {
            let settings = WebhookSettings {
                allow_http,
                allow_private,
                ..WebhookSettings::default()
            };
            let receiver = egress::read_url("http://shop.example/hooks").unwrap();
            let checked = settings.egress().check_url(&receiver);
            let expected = match is_refused {
                true => Err(egress::Forbidden::PlainHttp),
                false => Ok(()),
            };
            assert_eq!(checked, expected, "{allow_http} {allow_private}");
        }
        assert!(WebhookSettings::default().egress().https_only);
    }

    #[test]
    fn only_200_is_an_acknowledgment() {
        for status in 100..600 {
            assert_eq!(is_acknowledgment(status), status == 200, "{status}");
        }
    }

    const REFUSED: Reply = Reply::Refused { wait: None };

    /// Pauses of a profile without jitter, until the delivery fails.
    fn pauses(profile: &RetryProfile, heard: Reply) -> Vec<u64> {
        let settings = WebhookSettings::default();
        let judge = |made| verdict(&settings, profile, heard, made, ENDED, 0);
        (1..)
            .map_while(|made| match judge(made) {
                Verdict::Retry { due } => Some(due.since(ENDED).as_secs()),
                Verdict::Acknowledged | Verdict::Failed => None,
            })
            .collect()
    }

    #[test]
    fn a_delivery_has_four_attempts_ten_minutes_apart_and_then_fails() {
        assert_eq!(pauses(&RetryProfile::Spec, REFUSED), [600, 600, 600]);
        let settings = WebhookSettings::default();
        for made in [1, 4, 9] {
            let verdict = verdict(
                &settings,
                &RetryProfile::Spec,
                Reply::Acknowledged,
                made,
                ENDED,
                0,
            );
            assert_eq!(verdict, Verdict::Acknowledged, "attempt {made}");
        }
    }

    #[test]
    fn the_standard_profile_has_ten_attempts_within_75_hours_and_the_custom_one_its_own() {
        let standard = pauses(&RetryProfile::Standard, REFUSED);
        assert_eq!(standard.len() + 1, 10);
        assert_eq!(standard.iter().sum::<u64>() / 3_600, 75);
        assert!(standard.is_sorted());
        let custom = RetryProfile::Custom {
            delays: vec![30, 7, 86_400],
        };
        assert_eq!(pauses(&custom, REFUSED), [30, 7, 86_400]);
        let none = RetryProfile::Custom { delays: Vec::new() };
        assert_eq!(pauses(&none, REFUSED), [0_u64; 0]);
    }

    #[test]
    fn a_receiver_that_is_gone_gets_no_retry_but_by_the_default_schedule() {
        let custom = RetryProfile::Custom { delays: vec![60] };
        for profile in [RetryProfile::Standard, custom] {
            assert_eq!(pauses(&profile, Reply::Gone), [0_u64; 0]);
        }
        assert_eq!(pauses(&RetryProfile::Spec, Reply::Gone), [600, 600, 600]);
    }

    #[test]
    fn retry_after_is_honoured_within_bounds_but_not_by_the_default_schedule() {
        let wait = |seconds| Reply::Refused {
            wait: Some(Duration::from_secs(seconds)),
        };
        let custom = RetryProfile::Custom { delays: vec![60] };
        assert_eq!(pauses(&custom, wait(3_600)), [3_600]);
        assert_eq!(
            pauses(&custom, wait(1)),
            [60],
            "never earlier than the profile says"
        );
        assert_eq!(pauses(&custom, wait(u64::MAX)), [86_400]);
        assert_eq!(pauses(&RetryProfile::Standard, wait(600))[..2], [600, 600]);
        assert_eq!(pauses(&RetryProfile::Spec, wait(3_600)), [600, 600, 600]);
    }

    #[test]
    fn answers_are_read_as_the_schedule_needs_them() {
        let now = Timestamp::parse("2026-11-20T10:00:00Z").unwrap();
        let wait = |seconds| Reply::Refused {
            wait: Some(Duration::from_secs(seconds)),
        };
        let table = [
            (Some(200), Some("5"), Reply::Acknowledged),
            (Some(410), Some("5"), Reply::Gone),
            (None, None, REFUSED),
            (Some(500), Some("5"), REFUSED),
            (Some(429), None, REFUSED),
            (Some(429), Some("5"), wait(5)),
            (Some(503), Some(" 120 "), wait(120)),
            (Some(503), Some("99999999999999999999999"), wait(u64::MAX)),
            (Some(503), Some("Fri, 20 Nov 2026 10:05:00 GMT"), wait(300)),
            (Some(503), Some("Fri, 20 Nov 2026 09:00:00 GMT"), wait(0)),
            (Some(503), Some("soon"), REFUSED),
            (Some(503), Some("-5"), REFUSED),
            (Some(503), Some(""), REFUSED),
        ];
        for (status, header, expected) in table {
            assert_eq!(
                classify(status, header, now),
                expected,
                "{status:?} {header:?}"
            );
        }
    }

    #[test]
    fn a_later_event_waits_its_turn() {
        let at = Timestamp::from_seconds;
        let tried = Predecessor::Tried {
            first_attempt_at: at(10),
        };
        let table = [
            (Predecessor::Settled, at(10), StartTime::Now),
            (Predecessor::Unsent, at(1_000), StartTime::AfterPredecessor),
            (tried, at(10), StartTime::At(at(13))),
            (tried, at(12), StartTime::At(at(13))),
            (tried, at(13), StartTime::Now),
            (tried, at(700), StartTime::Now),
        ];
        for (predecessor, now, expected) in table {
            assert_eq!(
                start_time(predecessor, now),
                expected,
                "{predecessor:?} at {now}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_retry_is_never_early_and_at_most_the_jitter_late(
            made in 1_u32..4, ended in 0_i64..4_000_000_000_000_000, interval in 1_u64..100_000, chance: u32,
        ) {
            let interval = Duration::from_secs(interval);
            let settings = WebhookSettings { interval, ..WebhookSettings::default() };
            let ended = Timestamp::from_micros(ended);
            let judged = verdict(&settings, &RetryProfile::Spec, REFUSED, made, ended, chance);
            let Verdict::Retry { due } = judged else {
                panic!("attempt {made} of 4 is not the last");
            };
            prop_assert!(due >= ended.plus(interval));
            prop_assert!(due <= ended.plus(interval).plus(JITTER));
        }

        #[test]
        fn every_delivery_ends_after_the_attempts_that_the_settings_allow(retries in 0_u32..50, chance: u32) {
            let settings = WebhookSettings { retries, ..WebhookSettings::default() };
            let judge = |made| verdict(&settings, &RetryProfile::Spec, REFUSED, made, ENDED, chance);
            let last = (1..).find(|made| judge(*made) == Verdict::Failed);
            prop_assert_eq!(last, Some(retries + 1));
        }
    }
}
