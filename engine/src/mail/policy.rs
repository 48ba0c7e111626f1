//! Retry policy of mails, as pure functions.

use std::time::Duration;

use switchyard_core::time::Timestamp;

/// Result of an attempt to send a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendResult {
    Sent,
    /// Temporary error of the server or the connection: worth a retry.
    Troubled,
    /// Permanent rejection by the server. It may be due to a setting that an operator is about to
    /// correct.
    Refused,
}

/// Decision about a mail after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Sent,
    Retry { due: Timestamp },
    Failed,
}

/// Judges an attempt; `made` includes it.
pub fn verdict(attempted: SendResult, made: u32, ended_at: Timestamp) -> Verdict {
    let waits = match attempted {
        SendResult::Sent => return Verdict::Sent,
        SendResult::Troubled => &WAITS[..],
        SendResult::Refused => &WAITS[..REFUSALS],
    };
    let wait = usize::try_from(made)
        .ok()
        .and_then(|made| waits.get(made.saturating_sub(1)));
    match wait {
        Some(seconds) => Verdict::Retry {
            due: ended_at.plus(Duration::from_secs(*seconds)),
        },
        None => Verdict::Failed,
    }
}

/// Seconds between attempts: two days in all.
const WAITS: [u64; 8] = [60, 300, 900, 3_600, 10_800, 21_600, 43_200, 86_400];
/// Maximum number of retries after a rejection.
const REFUSALS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_is_tried_for_two_days_with_growing_pauses_and_then_given_up() {
        let mut now = Timestamp::from_seconds(0);
        let mut last_wait = Duration::ZERO;
        for made in 1..=8 {
            let Verdict::Retry { due } = verdict(SendResult::Troubled, made, now) else {
                panic!("abandoned after {made} attempts");
            };
            assert!(due.since(now) > last_wait);
            last_wait = due.since(now);
            now = due;
        }
        assert_eq!(verdict(SendResult::Troubled, 9, now), Verdict::Failed);
        let days = now.as_seconds() / 86_400;
        assert!((1..=2).contains(&days), "{days} days");
    }

    #[test]
    fn a_refused_mail_is_given_up_after_three_attempts_and_a_sent_one_is_done() {
        let now = Timestamp::from_seconds(0);
        let retried = |made| {
            matches!(
                verdict(SendResult::Refused, made, now),
                Verdict::Retry { .. }
            )
        };
        assert!(retried(1) && retried(2) && !retried(3));
        assert_eq!(verdict(SendResult::Sent, 1, now), Verdict::Sent);
        assert_eq!(verdict(SendResult::Sent, 9, now), Verdict::Sent);
    }
}
