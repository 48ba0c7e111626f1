//! How long the writer waits before a flush so that more commits share it.
//!
//! A flush costs the processor the same for one commit as for thirty. Under load others are on their way, so a moment's wait pays; but
//! once most of those who commit now are waiting themselves, nobody is left to come, and the processors idle. So the writer goes when
//! half of them are there: while it flushes these, the other half are worked on.

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
    /// To be called by the writer. Waits [`PATIENCE`] at most for `wanted` commits. `waiting` says how many there are.
    pub(super) fn wait(&self, wanted: usize, waiting: impl Fn() -> usize) {
        self.writer.get_or_init(thread::current);
        self.wanted.store(wanted, Relaxed);
        // Whoever comes between this look and the wait may not wake it. Then the wait just ends later.
        if waiting() < wanted {
            thread::park_timeout(PATIENCE);
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

/// About how many commit at present.
#[derive(Default)]
pub(super) struct Crowd {
    /// The most commits that were seen to wait at once, in 256ths. Fades within some hundred flushes.
    most: usize,
}

impl Crowd {
    /// `waiting`: how many commits wait at the end of a flush, those that shared it among them.
    pub(super) fn saw(&mut self, waiting: usize) {
        let faded = self.most - self.most.div_ceil(256);
        self.most = faded.max(waiting * 256);
    }

    /// For how many the next flush should wait; none when there are too few to be worth it.
    pub(super) fn wanted(&self) -> Option<usize> {
        let half = self.most / 512;
        (half >= FEWEST).then_some(half)
    }
}

/// A flush waits no longer than this for company: about as long as it takes itself.
const PATIENCE: Duration = Duration::from_micros(200);
/// For fewer commits no flush waits.
const FEWEST: usize = 4;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_flush_waits_for_half_of_those_who_commit() {
        let mut crowd = Crowd::default();
        assert_eq!(crowd.wanted(), None);
        crowd.saw(64);
        assert_eq!(crowd.wanted(), Some(32));
        crowd.saw(10);
        assert_eq!(crowd.wanted(), Some(31), "one small flush says little");
    }

    #[test]
    fn few_commits_wait_for_nobody() {
        let mut crowd = Crowd::default();
        for waiting in [1, 7, 0, 3] {
            crowd.saw(waiting);
            assert_eq!(crowd.wanted(), None);
        }
    }

    #[test]
    fn a_crowd_that_went_is_forgotten() {
        let mut crowd = Crowd::default();
        crowd.saw(1_000);
        for _ in 0..2_000 {
            crowd.saw(1);
        }
        assert_eq!(crowd.wanted(), None);
    }

    #[test]
    fn whoever_makes_it_enough_wakes_the_writer() {
        let (company, waiting) = (Arc::new(Company::default()), Arc::new(AtomicUsize::new(0)));
        let count = || waiting.load(Relaxed);
        company.wait(0, count);
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
