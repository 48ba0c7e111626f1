//! Crash history of a version's workers: backoff before the next start, and the crashes that the
//! version has to count.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

#[derive(Default)]
pub(super) struct Record(Mutex<CrashHistory>);

#[derive(Default)]
struct CrashHistory {
    latest: VecDeque<Instant>,
    last: Option<Crash>,
    /// Crashes that the version has not counted yet.
    uncounted: Vec<Crash>,
}

/// Last crash of a worker.
#[derive(Clone)]
pub(crate) struct Crash {
    at: Instant,
    /// Reason; a sentence.
    pub reason: String,
}

impl Crash {
    pub fn ago(&self) -> Duration {
        Instant::now().saturating_duration_since(self.at)
    }
}

impl Record {
    /// Records a crash.
    pub(super) fn record_crash(&self, why: &str) {
        let mut crashes = self.crashes();
        let now = Instant::now();
        let crash = Crash {
            at: now,
            reason: why.to_owned(),
        };
        crashes.last = Some(crash.clone());
        crashes.uncounted.push(crash);
        crashes.latest.push_back(now);
        crashes.forget(now);
    }

    /// Clears the history, but keeps the last crash.
    pub(super) fn reset(&self) {
        let mut crashes = self.crashes();
        let last = crashes.last.take();
        *crashes = CrashHistory {
            last,
            ..CrashHistory::default()
        };
    }

    pub(super) fn last(&self) -> Option<Crash> {
        self.crashes().last.clone()
    }

    /// Crashes since the last call of this method, which the caller counts.
    pub(super) fn take_crashes(&self) -> Vec<Crash> {
        std::mem::take(&mut self.crashes().uncounted)
    }

    /// Delay before the next start: zero, then longer with each crash of the last minute.
    pub(super) fn backoff(&self) -> Duration {
        let mut crashes = self.crashes();
        let now = Instant::now();
        crashes.forget(now);
        let Some(last) = crashes.latest.back() else {
            return Duration::ZERO;
        };
        let count = u32::try_from(crashes.latest.len()).unwrap_or(u32::MAX);
        let wait = FIRST_WAIT.saturating_mul(count);
        wait.min(LONGEST_WAIT)
            .saturating_sub(now.saturating_duration_since(*last))
    }

    fn crashes(&self) -> MutexGuard<'_, CrashHistory> {
        self.0.lock()
    }
}

impl CrashHistory {
    fn forget(&mut self, now: Instant) {
        let is_old = |at: &Instant| now.saturating_duration_since(*at) > MINUTE;
        while self.latest.front().is_some_and(is_old) {
            self.latest.pop_front();
        }
    }
}

const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
const MINUTE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_crash_is_counted_once_and_a_reset_forgets_those_that_are_not() {
        let record = Record::default();
        record.record_crash("it ended");
        tokio::time::advance(MINUTE * 2).await;
        record.record_crash("it stalled");
        let crashes = record.take_crashes();
        let crashes = crashes.iter();
        let seen: Vec<_> = crashes
            .map(|crash| (crash.ago(), crash.reason.as_str()))
            .collect();
        let expected = [(MINUTE * 2, "it ended"), (Duration::ZERO, "it stalled")];
        assert_eq!(seen, expected);
        assert!(record.take_crashes().is_empty());
        record.record_crash("it ended");
        record.reset();
        assert!(record.take_crashes().is_empty());
        assert_eq!(record.backoff(), Duration::ZERO);
        assert!(record.last().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_start_waits_longer_after_each_death() {
        let record = Record::default();
        assert_eq!(record.backoff(), Duration::ZERO);
        record.record_crash("it ended");
        assert_eq!(record.backoff(), FIRST_WAIT);
        tokio::time::advance(FIRST_WAIT / 2).await;
        assert_eq!(record.backoff(), FIRST_WAIT / 2);
        record.record_crash("it ended");
        assert_eq!(record.backoff(), FIRST_WAIT * 2);
        tokio::time::advance(FIRST_WAIT * 2).await;
        assert_eq!(record.backoff(), Duration::ZERO);
    }
}
