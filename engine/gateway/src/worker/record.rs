//! Crash history of a version's workers: backoff before the next start, and detection of a crash
//! loop.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use switchyard_core::limits::GATEWAY_WORKER_DEATHS_A_MINUTE;

#[derive(Default)]
pub(super) struct Record(Mutex<CrashHistory>);

#[derive(Default)]
struct CrashHistory {
    latest: VecDeque<Instant>,
    last: Option<Crash>,
    /// Whether the version has to be quarantined. The first reader resets it.
    is_crash_looping: bool,
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
        crashes.last = Some(Crash {
            at: now,
            reason: why.to_owned(),
        });
        crashes.latest.push_back(now);
        crashes.forget(now);
        crashes.is_crash_looping |= crashes.latest.len() >= GATEWAY_WORKER_DEATHS_A_MINUTE;
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

    /// Whether the version has to be quarantined. Returns `true` once.
    pub(super) fn is_crash_looping(&self) -> bool {
        std::mem::take(&mut self.crashes().is_crash_looping)
    }

    /// Delay before the next start: zero, then longer with each crash of the last minute.
    pub(super) fn back_off(&self) -> Duration {
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
    async fn three_crashes_within_a_minute_are_a_crash_loop_and_three_in_more_are_not() {
        let record = Record::default();
        for _ in 0..5 {
            record.record_crash("it ended");
            assert!(!record.is_crash_looping());
            tokio::time::advance(MINUTE / 2 + Duration::from_secs(1)).await;
        }
        tokio::time::advance(MINUTE).await;
        record.record_crash("it ended");
        record.record_crash("it ended");
        assert!(!record.is_crash_looping());
        record.record_crash("it ended");
        assert!(record.is_crash_looping());
        assert!(!record.is_crash_looping(), "reported once");
        // Queries about earlier attempts still start workers in quarantine.
        record.record_crash("it ended");
        assert!(record.is_crash_looping() && record.back_off() == FIRST_WAIT * 4);
        record.reset();
        assert_eq!(record.back_off(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_start_waits_longer_after_each_death() {
        let record = Record::default();
        assert_eq!(record.back_off(), Duration::ZERO);
        record.record_crash("it ended");
        assert_eq!(record.back_off(), FIRST_WAIT);
        tokio::time::advance(FIRST_WAIT / 2).await;
        assert_eq!(record.back_off(), FIRST_WAIT / 2);
        record.record_crash("it ended");
        assert_eq!(record.back_off(), FIRST_WAIT * 2);
        tokio::time::advance(FIRST_WAIT * 2).await;
        assert_eq!(record.back_off(), Duration::ZERO);
    }
}
