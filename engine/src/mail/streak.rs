//! Log lines about a mail server that is down: one warning when mails begin to fail, one note when
//! the first mail is abandoned, one when mails are sent again. Each failure is counted in
//! `switchyard_mail_attempts_total`.

use parking_lot::Mutex;

/// Failures since the last sent mail.
#[derive(Default)]
pub(super) struct FailureStreak(Mutex<Streak>);

#[derive(Clone, Copy, Default)]
struct Streak {
    failures: u64,
    has_given_up: bool,
}

/// Log line to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreakEvent {
    /// First failure.
    Failing,
    /// First abandoned mail.
    GivingUp,
    /// First sent mail after `failures` failures.
    Recovered { failures: u64 },
}

impl FailureStreak {
    /// Records that a mail was sent.
    pub(super) fn sent(&self) -> Option<StreakEvent> {
        let mut streak = self.0.lock();
        let failures = std::mem::take(&mut *streak).failures;
        (failures > 0).then_some(StreakEvent::Recovered { failures })
    }

    /// Records that a mail was not sent, and whether it is abandoned.
    pub(super) fn failed(&self, given_up: bool) -> Vec<StreakEvent> {
        let mut streak = self.0.lock();
        streak.failures += 1;
        let is_first = streak.failures == 1;
        let is_first_abandoned = given_up && !streak.has_given_up;
        streak.has_given_up |= given_up;
        let failing = is_first.then_some(StreakEvent::Failing);
        let giving_up = is_first_abandoned.then_some(StreakEvent::GivingUp);
        failing.into_iter().chain(giving_up).collect()
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
            .flat_map(|made| streak.failed(made > 100))
            .collect();
        assert_eq!(lines, [StreakEvent::Failing, StreakEvent::GivingUp]);
        assert_eq!(
            streak.sent(),
            Some(StreakEvent::Recovered { failures: 5_000 })
        );
        assert_eq!(streak.sent(), None);
        assert_eq!(
            streak.failed(true),
            [StreakEvent::Failing, StreakEvent::GivingUp]
        );
    }
}
