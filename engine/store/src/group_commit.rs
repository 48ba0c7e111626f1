//! Group commit: delays a flush so that more commits share it.
//!
//! A flush costs the same processor time for one commit as for thirty, so under load a short delay
//! pays. A longer delay does not: once most of the active clients wait for their commits, no
//! further commit arrives and the processors idle. So the writer flushes when half of the active
//! commits have arrived; during the flush the other half is prepared. Clients that send again
//! without waiting for an answer have sent that many by the end of the previous flush, and the
//! delay is zero.
//!
//! The longest delay is proportional to the duration of a flush, because more commits can arrive
//! during a slow one.

use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, Thread};
use std::time::Duration;

/// Wait of the writer for commits, which wake it.
#[derive(Default)]
pub(super) struct GroupWait {
    /// Number of commits that the writer waits for; 0 while it does not wait.
    wanted: AtomicUsize,
    writer: OnceLock<Thread>,
}

impl GroupWait {
    /// Waits for `wanted` queued commits, at most for `timeout`. `waiting` counts the queued
    /// commits. Only the writer calls it.
    pub(super) fn wait(&self, wanted: usize, timeout: Duration, waiting: impl Fn() -> usize) {
        self.writer.get_or_init(thread::current);
        self.wanted.store(wanted, Relaxed);
        // A commit between this check and the park does not wake us; the wait then runs to its
        // timeout.
        if waiting() < wanted {
            thread::park_timeout(timeout);
        }
        self.wanted.store(0, Relaxed);
    }

    /// Wakes the writer if enough commits are queued. Called after each commit that was queued.
    pub(super) fn joined(&self, waiting: impl Fn() -> usize) {
        let wanted = self.wanted.load(Relaxed);
        // Only one of several concurrent commits wakes it.
        let is_enough = wanted != 0 && waiting() >= wanted && self.wanted.swap(0, Relaxed) != 0;
        if let Some(writer) = self.writer.get().filter(|_| is_enough) {
            writer.unpark();
        }
    }
}

/// Moving averages over about a dozen writes: active commits and the duration of a write.
#[derive(Default)]
pub(super) struct CommitLoad {
    /// Queued commits at the end of a write, in 256ths.
    size: usize,
    /// Duration of a write with its flush.
    write: Duration,
}

impl CommitLoad {
    /// Adds a write. `waiting`: queued commits at its end, with those of its group. `took`: its
    /// duration.
    pub(super) fn record(&mut self, waiting: usize, took: Duration) {
        self.size = (self.size * 15 + waiting * 256) / 16;
        // A stall of the disk counts as a slow write.
        self.write = (self.write * 15 + took.min(MAX_DELAY)) / 16;
    }

    /// Number of commits that the next flush waits for; `None` when there are too few.
    pub(super) fn wanted(&self) -> Option<usize> {
        let half = self.size / 512;
        (half >= MIN_COMMITS).then_some(half)
    }

    /// Timeout of that wait.
    pub(super) fn timeout(&self) -> Duration {
        (self.write * 4).min(MAX_DELAY)
    }
}

/// Longest delay of a flush, also on a slow disk.
const MAX_DELAY: Duration = Duration::from_millis(4);
/// Fewest commits that a flush waits for.
const MIN_COMMITS: usize = 4;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const WRITE: Duration = Duration::from_micros(500);

    /// Load after so many `writes` at whose ends `waiting` commits waited.
    fn after(load: &mut CommitLoad, writes: usize, waiting: usize) -> &CommitLoad {
        (0..writes).for_each(|_| load.record(waiting, WRITE));
        load
    }

    #[test]
    fn a_flush_waits_for_half_of_those_who_commit() {
        let mut load = CommitLoad::default();
        assert_eq!(load.wanted(), None);
        assert_eq!(after(&mut load, 200, 65).wanted(), Some(32));
        assert_eq!(
            after(&mut load, 1, 10).wanted(),
            Some(30),
            "one says little"
        );
    }

    #[test]
    fn few_commits_wait_for_nobody() {
        let mut load = CommitLoad::default();
        for waiting in [1, 7, 0, 3] {
            assert_eq!(after(&mut load, 50, waiting).wanted(), None);
        }
    }

    #[test]
    fn those_who_came_during_one_stall_are_not_waited_for_again() {
        let mut load = CommitLoad::default();
        after(&mut load, 50, 2);
        assert_eq!(after(&mut load, 1, 60).wanted(), None);
    }

    #[test]
    fn a_crowd_that_went_is_forgotten() {
        let mut load = CommitLoad::default();
        after(&mut load, 50, 1_000);
        assert_eq!(after(&mut load, 100, 1).wanted(), None);
    }

    #[test]
    fn a_flush_waits_as_long_as_four_writes_take_and_not_for_a_stall() {
        let mut load = CommitLoad::default();
        assert_eq!(load.timeout(), Duration::ZERO);
        let usual = after(&mut load, 200, 1).timeout();
        assert!((1_900..=2_000).contains(&usual.as_micros()), "{usual:?}");
        load.record(1, Duration::from_secs(10));
        assert!(load.timeout() < usual * 3 / 2);
        (0..200).for_each(|_| load.record(1, Duration::from_secs(1)));
        assert_eq!(load.timeout(), MAX_DELAY);
    }

    #[test]
    fn whoever_makes_it_enough_wakes_the_writer() {
        let (wait, waiting) = (
            Arc::new(GroupWait::default()),
            Arc::new(AtomicUsize::new(0)),
        );
        let count = || waiting.load(Relaxed);
        wait.wait(0, WRITE, count);
        // Nobody rests: nothing happens.
        wait.joined(count);
        wait.wanted.store(2, Relaxed);
        waiting.store(1, Relaxed);
        wait.joined(count);
        assert_eq!(wait.wanted.load(Relaxed), 2, "one is not enough");
        waiting.store(2, Relaxed);
        wait.joined(count);
        assert_eq!(wait.wanted.load(Relaxed), 0);
        // This thread is the writer, and was woken: a wait without end ends at once.
        thread::park();
    }
}
