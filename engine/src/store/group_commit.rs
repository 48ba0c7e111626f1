//! How long the writer waits before a flush so that more commits share it.
//!
//! A flush costs the processor the same for one commit as for thirty. Under load others are on their way, so a moment's wait pays; but
//! once most of those who commit now are waiting themselves, nobody is left to come, and the processors idle. So the writer goes when
//! half of them are there: while it flushes these, the other half are worked on. Where nobody waits for an answer before asking again,
//! that many have come by the end of the flush before, and the wait is none.
//!
//! How long a moment is hangs on the disk: where a flush takes ten times as long, ten times as many can come meanwhile.

use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, Thread};
use std::time::Duration;

/// Where the writer waits, and whoever commits wakes it.
#[derive(Default)]
pub(super) struct Company {
    /// How many commits the writer waits for; 0 while it does not wait.
    wanted: AtomicUsize,
    writer: OnceLock<Thread>,
}

impl Company {
    /// To be called by the writer. Waits for `wanted` commits, no longer than `patience`. `waiting` says how many there are.
    pub(super) fn wait(&self, wanted: usize, patience: Duration, waiting: impl Fn() -> usize) {
        self.writer.get_or_init(thread::current);
        self.wanted.store(wanted, Relaxed);
        // Whoever comes between this look and the wait may not wake it. Then the wait just ends later.
        if waiting() < wanted {
            thread::park_timeout(patience);
        }
        self.wanted.store(0, Relaxed);
    }

    /// To be called after each commit that was handed to the writer.
    pub(super) fn joined(&self, waiting: impl Fn() -> usize) {
        let wanted = self.wanted.load(Relaxed);
        // Only one of those who come at once wakes it.
        let is_enough = wanted != 0 && waiting() >= wanted && self.wanted.swap(0, Relaxed) != 0;
        if let Some(writer) = self.writer.get().filter(|_| is_enough) {
            writer.unpark();
        }
    }
}

/// About how many commit at present, and how long it takes to write what they commit: averages of the last dozen writes.
#[derive(Default)]
pub(super) struct Crowd {
    /// Commits that wait at the end of a write, in 256ths.
    size: usize,
    /// What a write takes, its flush among it.
    write: Duration,
}

impl Crowd {
    /// To be called after each write. `waiting`: how many commits wait at its end, those that shared it among them. `took`: its time.
    pub(super) fn saw(&mut self, waiting: usize, took: Duration) {
        self.size = (self.size * 15 + waiting * 256) / 16;
        // No stall of the disk counts for more than a slow write.
        self.write = (self.write * 15 + took.min(LONGEST_PATIENCE)) / 16;
    }

    /// For how many the next flush should wait; none when there are too few to be worth it.
    pub(super) fn wanted(&self) -> Option<usize> {
        let half = self.size / 512;
        (half >= FEWEST).then_some(half)
    }

    /// How long it should wait for them.
    pub(super) fn patience(&self) -> Duration {
        (self.write * 4).min(LONGEST_PATIENCE)
    }
}

/// No flush waits longer than this for company, however slow the disk is.
const LONGEST_PATIENCE: Duration = Duration::from_millis(4);
/// For fewer commits no flush waits.
const FEWEST: usize = 4;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const WRITE: Duration = Duration::from_micros(500);

    /// A crowd after `writes` at whose ends `waiting` commits waited.
    fn after(crowd: &mut Crowd, writes: usize, waiting: usize) -> &Crowd {
        (0..writes).for_each(|_| crowd.saw(waiting, WRITE));
        crowd
    }

    #[test]
    fn a_flush_waits_for_half_of_those_who_commit() {
        let mut crowd = Crowd::default();
        assert_eq!(crowd.wanted(), None);
        assert_eq!(after(&mut crowd, 200, 65).wanted(), Some(32));
        assert_eq!(
            after(&mut crowd, 1, 10).wanted(),
            Some(30),
            "one says little"
        );
    }

    #[test]
    fn few_commits_wait_for_nobody() {
        let mut crowd = Crowd::default();
        for waiting in [1, 7, 0, 3] {
            assert_eq!(after(&mut crowd, 50, waiting).wanted(), None);
        }
    }

    #[test]
    fn those_who_came_during_one_stall_are_not_waited_for_again() {
        let mut crowd = Crowd::default();
        after(&mut crowd, 50, 2);
        assert_eq!(after(&mut crowd, 1, 60).wanted(), None);
    }

    #[test]
    fn a_crowd_that_went_is_forgotten() {
        let mut crowd = Crowd::default();
        after(&mut crowd, 50, 1_000);
        assert_eq!(after(&mut crowd, 100, 1).wanted(), None);
    }

    #[test]
    fn a_flush_waits_as_long_as_four_writes_take_and_not_for_a_stall() {
        let mut crowd = Crowd::default();
        assert_eq!(crowd.patience(), Duration::ZERO);
        let usual = after(&mut crowd, 200, 1).patience();
        assert!((1_900..=2_000).contains(&usual.as_micros()), "{usual:?}");
        crowd.saw(1, Duration::from_secs(10));
        assert!(crowd.patience() < usual * 3 / 2);
        (0..200).for_each(|_| crowd.saw(1, Duration::from_secs(1)));
        assert_eq!(crowd.patience(), LONGEST_PATIENCE);
    }

    #[test]
    fn whoever_makes_it_enough_wakes_the_writer() {
        let (company, waiting) = (Arc::new(Company::default()), Arc::new(AtomicUsize::new(0)));
        let count = || waiting.load(Relaxed);
        company.wait(0, WRITE, count);
        // Nobody rests: nothing happens.
        company.joined(count);
        company.wanted.store(2, Relaxed);
        waiting.store(1, Relaxed);
        company.joined(count);
        assert_eq!(company.wanted.load(Relaxed), 2, "one is not enough");
        waiting.store(2, Relaxed);
        company.joined(count);
        assert_eq!(company.wanted.load(Relaxed), 0);
        // This thread is the writer, and was woken: a wait without end ends at once.
        thread::park();
    }
}
