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
    last: Option<Death>,
    /// Whether the version has to be quarantined. The first reader resets it.
    is_condemned: bool,
}

/// Last crash of a worker.
#[derive(Clone)]
pub(crate) struct Death {
    at: Instant,
    /// Reason; a sentence.
    pub reason: String,
}

impl Death {
    pub fn ago(&self) -> Duration {
        Instant::now().saturating_duration_since(self.at)
    }
}

impl Record {
    /// Records a crash.
    pub(super) fn died(&self, why: &str) {
        let mut deaths = self.deaths();
        let now = Instant::now();
        deaths.last = Some(Death {
            at: now,
            reason: why.to_owned(),
        });
        deaths.latest.push_back(now);
        deaths.forget(now);
        deaths.is_condemned |= deaths.latest.len() >= GATEWAY_WORKER_DEATHS_A_MINUTE;
    }

    /// Clears the history, but keeps the last crash.
    pub(super) fn reset(&self) {
        let mut deaths = self.deaths();
        let last = deaths.last.take();
        *deaths = CrashHistory {
            last,
            ..CrashHistory::default()
        };
    }

    pub(super) fn last(&self) -> Option<Death> {
        self.deaths().last.clone()
    }

    /// Whether the version has to be quarantined. Returns `true` once.
    pub(super) fn is_condemned(&self) -> bool {
        std::mem::take(&mut self.deaths().is_condemned)
    }

    /// Delay before the next start: zero, then longer with each crash of the last minute.
    pub(super) fn back_off(&self) -> Duration {
        let mut deaths = self.deaths();
        let now = Instant::now();
        deaths.forget(now);
        let Some(last) = deaths.latest.back() else {
            return Duration::ZERO;
        };
        let count = u32::try_from(deaths.latest.len()).unwrap_or(u32::MAX);
        let wait = FIRST_WAIT.saturating_mul(count);
        wait.min(LONGEST_WAIT)
            .saturating_sub(now.saturating_duration_since(*last))
    }

    fn deaths(&self) -> MutexGuard<'_, CrashHistory> {
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
    async fn three_deaths_within_a_minute_condemn_and_three_in_more_do_not() {
        let record = Record::default();
        for _ in 0..5 {
            record.died("it ended");
            assert!(!record.is_condemned());
            tokio::time::advance(MINUTE / 2 + Duration::from_secs(1)).await;
        }
        tokio::time::advance(MINUTE).await;
        record.died("it ended");
        record.died("it ended");
        assert!(!record.is_condemned());
        record.died("it ended");
        assert!(record.is_condemned());
        assert!(!record.is_condemned(), "told once");
        // Queries about earlier attempts still start workers in quarantine.
        record.died("it ended");
        assert!(record.is_condemned() && record.back_off() == FIRST_WAIT * 4);
        record.reset();
        assert_eq!(record.back_off(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_start_waits_longer_after_each_death() {
        let record = Record::default();
        assert_eq!(record.back_off(), Duration::ZERO);
        record.died("it ended");
        assert_eq!(record.back_off(), FIRST_WAIT);
        tokio::time::advance(FIRST_WAIT / 2).await;
        assert_eq!(record.back_off(), FIRST_WAIT / 2);
        record.died("it ended");
        assert_eq!(record.back_off(), FIRST_WAIT * 2);
        tokio::time::advance(FIRST_WAIT * 2).await;
        assert_eq!(record.back_off(), Duration::ZERO);
    }
}
