//! Log lines about a mail server that is down: one when mails begin to fail, one when the first is
//! abandoned, one when mails are sent again. Each failure is counted in
//! `switchyard_mail_attempts_total`.

use std::sync::{Mutex, PoisonError};

/// Failures since the last mail that was sent.
#[derive(Default)]
pub(super) struct FailureStreak(Mutex<Streak>);

#[derive(Clone, Copy, Default)]
struct Streak {
    failures: u64,
    has_given_up: bool,
}

/// A line that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The first failure.
    Failing,
    /// The first mail that is abandoned.
    GivingUp,
    /// A mail was sent after so many failures.
    Recovered { failures: u64 },
}

impl FailureStreak {
    /// Notes that a mail was sent.
    pub(super) fn sent(&self) -> Option<Line> {
        let mut streak = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = std::mem::take(&mut *streak).failures;
        (failures > 0).then_some(Line::Recovered { failures })
    }

    /// Notes that a mail was not sent, and whether it is abandoned.
    pub(super) fn failed(&self, given_up: bool) -> Option<Line> {
        let mut streak = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        streak.failures += 1;
        if given_up && !streak.has_given_up {
            streak.has_given_up = true;
            return Some(Line::GivingUp);
        }
        (streak.failures == 1).then_some(Line::Failing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_thousand_failures_are_two_lines_and_their_end_is_one() {
        let streak = FailureStreak::default();
        assert_eq!(streak.sent(), None);
        let lines: Vec<_> = (0..5_000)
            .filter_map(|made| streak.failed(made > 100))
            .collect();
        assert_eq!(lines, [Line::Failing, Line::GivingUp]);
        assert_eq!(streak.sent(), Some(Line::Recovered { failures: 5_000 }));
        assert_eq!(streak.sent(), None);
        assert_eq!(streak.failed(false), Some(Line::Failing));
    }
}
