//! When a webhook is sent, again, and no more: pure decisions (specification 6.2, decisions 6).

use std::collections::BTreeSet;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::egress;
use crate::limits;

/// What an operator decides about webhooks.
#[derive(Clone, Debug)]
pub struct WebhookSettings {
    /// Attempts after the first one.
    pub retries: u32,
    /// The least time between the end of an attempt and the next one.
    pub interval: Duration,
    /// Time for a receiver to answer, resolving its name and connecting included.
    pub deadline: Duration,
    /// Further header names that carry the value of `X-Service-Signature`.
    pub extra_signature_headers: Vec<String>,
    /// Development mode: receivers on this machine and in private networks, on any port.
    pub allow_private: bool,
    /// Ports besides 443 and 80.
    pub extra_ports: Vec<u16>,
    /// Requests to one URL at a time.
    pub concurrency_per_target: usize,
}

impl Default for WebhookSettings {
    fn default() -> Self {
        Self {
            retries: 3,
            interval: Duration::from_secs(10 * 60),
            deadline: limits::WEBHOOK_DEADLINE,
            extra_signature_headers: Vec::new(),
            allow_private: false,
            extra_ports: Vec::new(),
            concurrency_per_target: 16,
        }
    }
}

impl WebhookSettings {
    pub fn egress(&self) -> egress::Policy {
        egress::Policy {
            allow_private: self.allow_private,
            extra_ports: self.extra_ports.iter().copied().collect::<BTreeSet<_>>(),
        }
    }

    /// Attempts that a delivery has in all.
    pub fn attempts(&self) -> u32 {
        self.retries.saturating_add(1)
    }
}

/// What becomes of a delivery after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Done.
    Acknowledged,
    /// Once more, not before this time.
    Retry { due: Timestamp },
    /// Its attempts are used up: visible, and replayable by hand.
    Failed,
}

/// Exactly 200: no other 2xx, and no redirect.
pub fn is_acknowledgment(status: u16) -> bool {
    status == 200
}

/// Judges an attempt. `made` counts it in; `chance` is any number, and spreads retries over [`JITTER`] so that a receiver that comes
/// back is not met by all of them at once. It only ever adds: a retry is never early.
pub fn verdict(
    settings: &WebhookSettings,
    acknowledged: bool,
    made: u32,
    ended_at: Timestamp,
    chance: u32,
) -> Verdict {
    if acknowledged {
        return Verdict::Acknowledged;
    }
    if made >= settings.attempts() {
        return Verdict::Failed;
    }
    let most = JITTER.min(settings.interval / 10);
    let jitter = most.mul_f64(f64::from(chance) / f64::from(u32::MAX));
    Verdict::Retry {
        due: ended_at.plus(settings.interval).plus(jitter),
    }
}

/// How it went with the earlier event of the same transaction, at the same webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predecessor {
    /// There is none, or it was acknowledged, or it used up its attempts.
    Settled,
    /// It waits for its first attempt, or is on its way at this moment.
    Unsent,
    /// Its first attempt began then and has not been acknowledged.
    Tried { first_attempt_at: Timestamp },
}

/// Whether an event may be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Now,
    /// Not before this time, if nothing is heard of the predecessor until then.
    At(Timestamp),
    /// Not before the predecessor was sent.
    AfterPredecessor,
}

/// A later event waits for the earlier one to be acknowledged or to give up, but never longer than [`ORDER_WAIT`] from its first attempt.
pub fn turn(predecessor: Predecessor, now: Timestamp) -> Turn {
    match predecessor {
        Predecessor::Settled => Turn::Now,
        Predecessor::Unsent => Turn::AfterPredecessor,
        Predecessor::Tried { first_attempt_at } => {
            let at = first_attempt_at.plus(ORDER_WAIT);
            if now >= at { Turn::Now } else { Turn::At(at) }
        }
    }
}

/// How long a later event waits for the acknowledgment of an earlier one (decisions 6).
pub const ORDER_WAIT: Duration = Duration::from_secs(3);
/// Retries are spread over so long. The schedule may be late by 15 s in all.
pub const JITTER: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ENDED: Timestamp = Timestamp::from_seconds(1_000);

    #[test]
    fn only_200_is_an_acknowledgment() {
        for status in 100..600 {
            assert_eq!(is_acknowledgment(status), status == 200, "{status}");
        }
    }

    #[test]
    fn a_delivery_has_four_attempts_ten_minutes_apart_and_then_fails() {
        let settings = WebhookSettings::default();
        let due = Timestamp::from_seconds(1_600);
        let table = [
            (false, 1, Verdict::Retry { due }),
            (false, 2, Verdict::Retry { due }),
            (false, 3, Verdict::Retry { due }),
            (false, 4, Verdict::Failed),
            (true, 1, Verdict::Acknowledged),
            (true, 4, Verdict::Acknowledged),
        ];
        for (acknowledged, made, expected) in table {
            let verdict = verdict(&settings, acknowledged, made, ENDED, 0);
            assert_eq!(
                verdict, expected,
                "attempt {made}, acknowledged: {acknowledged}"
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
            (Predecessor::Settled, at(10), Turn::Now),
            (Predecessor::Unsent, at(1_000), Turn::AfterPredecessor),
            (tried, at(10), Turn::At(at(13))),
            (tried, at(12), Turn::At(at(13))),
            (tried, at(13), Turn::Now),
            (tried, at(700), Turn::Now),
        ];
        for (predecessor, now, expected) in table {
            assert_eq!(turn(predecessor, now), expected, "{predecessor:?} at {now}");
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
            let Verdict::Retry { due } = verdict(&settings, false, made, ended, chance) else {
                panic!("attempt {made} of 4 is not the last");
            };
            prop_assert!(due >= ended.plus(interval));
            prop_assert!(due <= ended.plus(interval).plus(JITTER));
        }

        #[test]
        fn every_delivery_ends_after_the_attempts_that_the_settings_allow(retries in 0_u32..50, chance: u32) {
            let settings = WebhookSettings { retries, ..WebhookSettings::default() };
            let last = (1..).find(|made| verdict(&settings, false, *made, ENDED, chance) == Verdict::Failed);
            prop_assert_eq!(last, Some(retries + 1));
        }
    }
}
