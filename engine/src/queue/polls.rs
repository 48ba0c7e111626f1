//! Starting points of the scans of a polled queue. No I/O.

use super::handler::Polling;
use switchyard_core::time::Timestamp;

/// Times of the scans of a polled queue.
#[derive(Default)]
pub(super) struct Polls {
    last: Option<Timestamp>,
    last_back: Option<Timestamp>,
    last_all: Option<Timestamp>,
    /// Time up to which the first pass reads, until it has ended.
    ahead: Option<Timestamp>,
    next: Timestamp,
}

impl Polls {
    /// Time of the next poll.
    pub fn next(&self) -> Timestamp {
        self.next
    }

    /// Whether a poll is due at `now`. If so, sets the time of the next one.
    pub fn is_due<Q>(&mut self, polling: &Polling<Q>, now: Timestamp) -> bool {
        let is_due = now >= self.next;
        if is_due {
            self.next = now.plus(polling.every);
        }
        is_due
    }

    /// Due time from which the pass that begins at `now` reads. The pass before has ended.
    pub fn begin<Q>(&mut self, polling: &Polling<Q>, now: Timestamp) -> Timestamp {
        let is_due = |last: Option<Timestamp>, every| {
            last.is_none_or(|last: Timestamp| now.since(last) >= every)
        };
        let is_first = self.last.is_none();
        self.ahead = is_first.then(|| now.plus(polling.ahead));
        let last = self.last.replace(now).unwrap_or(now);
        if is_due(self.last_all, polling.all_every) {
            (self.last_all, self.last_back) = (Some(now), Some(now));
            return Timestamp::default();
        }
        if is_due(self.last_back, polling.back_every) {
            self.last_back = Some(now);
            return last.min(now.minus(polling.back));
        }
        last.minus(polling.overlap)
    }

    /// Due time up to which a scan at `now` reads.
    pub fn until(&self, now: Timestamp) -> Timestamp {
        self.ahead.map_or(now, |ahead| ahead.max(now))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const POLLING: Polling<()> = Polling {
        queue: (),
        every: Duration::from_millis(200),
        overlap: Duration::from_secs(2),
        back_every: Duration::from_secs(5),
        back: Duration::from_secs(60),
        all_every: Duration::from_secs(30),
        ahead: Duration::from_secs(5),
    };
    const START: Timestamp = Timestamp::from_seconds(1_700_000_000);

    /// Milliseconds by which the passes reach back that begin at these times after the start.
    /// `None`: to the beginning.
    fn reaches(passes: &[u64]) -> Vec<Option<u128>> {
        let mut polls = Polls::default();
        let mut reach = |millis| {
            let now = START.plus(Duration::from_millis(millis));
            let from = polls.begin(&POLLING, now);
            (from.as_micros() > 0).then(|| now.since(from).as_millis())
        };
        passes.iter().map(|millis| reach(*millis)).collect()
    }

    #[test]
    fn a_pass_reaches_back_behind_the_last_one_at_times_further_and_at_times_to_the_beginning() {
        let reached = reaches(&[0, 200, 4_900, 5_000, 5_200, 30_000, 30_200, 35_000]);
        let quick = |millis: u128| Some(2_000 + millis);
        let far = Some(60_000);
        let expected = [
            None,
            quick(200),
            quick(4_700),
            far,
            quick(200),
            None,
            quick(200),
            far,
        ];
        assert_eq!(reached, expected);
    }

    #[test]
    fn a_late_pass_leaves_no_gap_behind_it() {
        assert_eq!(reaches(&[0, 200, 4_900])[2], Some(2_000 + 4_700));
        assert_eq!(
            reaches(&[0, 100_000, 130_000, 130_100, 134_000])[4],
            Some(2_000 + 3_900)
        );
    }

    #[test]
    fn only_the_first_pass_reads_ahead() {
        let mut polls = Polls::default();
        polls.begin(&POLLING, START);
        assert_eq!(polls.until(START), START.plus(POLLING.ahead));
        let later = START.plus(Duration::from_secs(9));
        assert_eq!(polls.until(later), later);
        polls.begin(&POLLING, START);
        assert_eq!(polls.until(START), START);
    }
}
