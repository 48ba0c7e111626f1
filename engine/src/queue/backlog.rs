//! Position of the next scan in one queue, and its rows in flight. No I/O.
//!
//! The store keeps a tombstone for each deleted row, and a scan passes them slowly. So a scan
//! starts at a low-water mark: no known row that is not in flight is due before it.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use super::sooner;
use switchyard_core::time::Timestamp;

/// State of one queue between two scans. `K` identifies a row; `V` is kept for a row in flight.
pub(crate) struct Backlog<K, V = ()> {
    low_water_mark: Timestamp,
    /// Earliest due time of the rows that were added since the last scan began.
    added: Option<Timestamp>,
    /// Earliest due time of the rows whose work ended since the last scan began.
    ended: Option<Timestamp>,
    /// Due time of the first row that the last scan left.
    left: Option<Timestamp>,
    in_flight: BTreeMap<K, InFlight<V>>,
    /// Rows that cannot be read. They stay in the store until an operator repairs it.
    unreadable: BTreeSet<K>,
}

struct InFlight<V> {
    due: Timestamp,
    value: V,
}

/// Scan of a queue in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scan {
    /// Due time at which the scan starts.
    pub from: Timestamp,
    /// Number of rows to read: rows in flight are still in the store.
    pub limit: usize,
    /// Number of rows that may be started.
    free: usize,
}

/// Row that a scan found, with its identity and due time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found<K, R> {
    pub key: K,
    pub due: Timestamp,
    pub row: R,
}

impl<K, V> Default for Backlog<K, V> {
    fn default() -> Self {
        Self {
            low_water_mark: Timestamp::default(),
            added: None,
            ended: None,
            left: None,
            in_flight: BTreeMap::new(),
            unreadable: BTreeSet::new(),
        }
    }
}

impl<K: Ord + Clone, V> Backlog<K, V> {
    /// Records that a row with the due time `due` was added, or may have been.
    pub(crate) fn added(&mut self, due: Timestamp) {
        self.added = sooner(self.added, Some(due));
    }

    /// Restarts the scan at the oldest row.
    pub(crate) fn restart(&mut self) {
        self.added(Timestamp::default());
    }

    /// Whether a scan at `now` may find a row to start.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        sooner(self.added, self.left).is_some_and(|due| due <= now)
    }

    /// Earliest known due time after `now`. `None`: no row is known to become due.
    pub(crate) fn next_due(&self, now: Timestamp) -> Option<Timestamp> {
        let is_later = |due: &Timestamp| *due > now;
        sooner(self.added.filter(is_later), self.left.filter(is_later))
    }

    /// Begins a scan for at most `free` rows. A scan that fails is given to [`Self::failed`], each
    /// other one to [`Self::found`].
    pub(crate) fn scan(&mut self, free: usize) -> Scan {
        let changed = sooner(self.added.take(), self.ended.take());
        let from = changed.map_or(self.low_water_mark, |due| due.min(self.low_water_mark));
        self.low_water_mark = from;
        Scan {
            from,
            limit: free + self.in_flight.len() + self.unreadable.len(),
            free,
        }
    }

    /// Records that the rows of a scan could not be read: the next scan starts at the same place.
    pub(crate) fn failed(&mut self, scan: Scan) {
        self.added(scan.from);
    }

    /// Takes the result of a scan, in order of due time. Returns the due rows that are neither in
    /// flight nor unreadable. Rows that the caller does not start stay behind the mark.
    pub(crate) fn found<R>(
        &mut self,
        scan: Scan,
        rows: impl IntoIterator<Item = Found<K, R>>,
        now: Timestamp,
    ) -> Vec<Found<K, R>> {
        let (mut due_rows, mut mark, mut count, mut last) = (Vec::new(), now, 0, scan.from);
        self.left = None;
        for found in rows {
            count += 1;
            last = found.due;
            let is_new =
                !self.in_flight.contains_key(&found.key) && !self.unreadable.contains(&found.key);
            if found.due > now || (is_new && due_rows.len() == scan.free) {
                self.left = Some(found.due);
                break;
            }
            if is_new {
                mark = mark.min(found.due);
                due_rows.push(found);
            }
        }
        if self.left.is_none() && count == scan.limit {
            self.left = Some(last);
        }
        self.low_water_mark = self.left.map_or(mark, |left| left.min(mark));
        due_rows
    }

    /// Marks a row as in flight. `false`: it is in flight already, and `value` is dropped.
    pub(crate) fn start(&mut self, key: K, due: Timestamp, value: V) -> bool {
        let is_new = !self.in_flight.contains_key(&key);
        if is_new {
            self.in_flight.insert(key, InFlight { due, value });
        }
        is_new
    }

    /// Ends the work on a row. The row may still be in the store, with this due time or a later
    /// one: report a later one with [`Self::added`].
    pub(crate) fn end<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let InFlight { due, value } = self.in_flight.remove(key)?;
        self.ended = sooner(self.ended, Some(due));
        Some(value)
    }

    /// Leaves out a row that cannot be read. `false`: it was left out before.
    pub(crate) fn leave_out(&mut self, key: K) -> bool {
        self.unreadable.insert(key)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.in_flight.values().map(|in_flight| &in_flight.value)
    }

    pub(crate) fn value_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let in_flight = self.in_flight.get_mut(key)?;
        Some(&mut in_flight.value)
    }

    /// Due time at which the next scan starts.
    pub(crate) fn reads_from(&self) -> Timestamp {
        let changed = sooner(self.added, self.ended);
        changed.map_or(self.low_water_mark, |due| due.min(self.low_water_mark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue with the due times of its rows; the number of a row is its identity.
    struct Queue {
        backlog: Backlog<usize>,
        rows: BTreeMap<usize, Timestamp>,
        reads: usize,
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    impl Queue {
        fn with(dues: &[i64]) -> Self {
            let mut backlog = Backlog::default();
            backlog.restart();
            let rows = dues.iter().map(|due| at(*due)).enumerate().collect();
            Self {
                backlog,
                rows,
                reads: 0,
            }
        }

        fn rows(&mut self, scan: Scan) -> Vec<Found<usize, ()>> {
            let mut rows: Vec<_> = self.rows.iter().map(|(key, due)| (*due, *key)).collect();
            rows.sort_unstable();
            let rows = rows.into_iter().filter(|(due, _)| *due >= scan.from);
            let found: Vec<_> = rows
                .take(scan.limit)
                .map(|(due, key)| Found { key, due, row: () })
                .collect();
            self.reads += found.len();
            found
        }

        /// Starts at most `free` rows that are due at `now`.
        fn start(&mut self, free: usize, now: i64) -> Vec<usize> {
            let scan = self.backlog.scan(free);
            let rows = self.rows(scan);
            let due_rows = self.backlog.found(scan, rows, at(now));
            for found in &due_rows {
                assert!(self.backlog.start(found.key, found.due, ()));
            }
            due_rows.into_iter().map(|found| found.key).collect()
        }

        /// The work on a row ends, and its row is deleted.
        fn finish(&mut self, key: usize) {
            self.rows.remove(&key);
            self.backlog.end(&key).unwrap();
        }
    }

    #[test]
    fn due_rows_start_in_order_while_there_is_room_and_each_of_them_once() {
        let mut queue = Queue::with(&[3, 1, 2, 9]);
        assert_eq!(queue.start(2, 5), [1, 2]);
        assert!(queue.backlog.is_due(at(5)), "row 0 was left");
        assert_eq!(queue.start(0, 5), [0; 0]);
        queue.finish(1);
        assert_eq!(queue.start(1, 5), [0]);
        assert_eq!(queue.start(1, 5), [0; 0]);
        assert!(!queue.backlog.is_due(at(5)), "no row was left");
        assert_eq!(queue.backlog.next_due(at(5)), Some(at(9)));
        assert_eq!(queue.backlog.next_due(at(9)), None, "it is due now");
        assert_eq!(queue.start(1, 9), [3]);
    }

    #[test]
    fn a_scan_starts_behind_finished_rows_and_before_a_row_that_may_be_there_still() {
        let mut queue = Queue::with(&[1, 2, 3]);
        assert_eq!(queue.start(8, 5), [0, 1, 2]);
        queue.finish(0);
        queue.finish(2);
        assert_eq!(queue.start(8, 5), [0; 0]);
        assert_eq!(queue.backlog.reads_from(), at(5), "row 1 is in flight");
        queue.backlog.end(&1);
        assert_eq!(queue.backlog.reads_from(), at(2));
        assert_eq!(queue.start(8, 6), [1], "its result was not stored");
    }

    #[test]
    fn a_row_that_is_added_during_a_scan_is_found_by_the_next_one() {
        let mut queue = Queue::with(&[2]);
        let scan = queue.backlog.scan(8);
        let rows = queue.rows(scan);
        queue.rows.insert(7, at(1));
        queue.backlog.added(at(1));
        assert_eq!(queue.backlog.found(scan, rows, at(5)).len(), 1);
        assert!(queue.backlog.start(0, at(2), ()));
        assert!(queue.backlog.is_due(at(5)));
        assert_eq!(queue.start(8, 5), [7]);
    }

    #[test]
    fn a_row_whose_work_ends_during_a_scan_is_found_by_the_next_one() {
        let mut queue = Queue::with(&[1, 2]);
        assert_eq!(queue.start(1, 5), [0]);
        let scan = queue.backlog.scan(1);
        let rows = queue.rows(scan);
        queue.backlog.end(&0);
        // The scan read row 0 before its work ended.
        let due_rows = queue.backlog.found(scan, rows, at(5));
        assert_eq!(due_rows.len(), 1);
        assert_eq!(queue.backlog.reads_from(), at(1));
    }

    #[test]
    fn a_failed_scan_is_repeated_from_the_same_place() {
        let mut queue = Queue::with(&[1]);
        let scan = queue.backlog.scan(8);
        queue.backlog.failed(scan);
        assert!(queue.backlog.is_due(at(5)));
        assert_eq!(queue.start(8, 5), [0]);
    }

    #[test]
    fn unreadable_rows_are_left_out_and_do_not_block_those_behind_them() {
        let mut queue = Queue::with(&[1, 1, 1, 2]);
        assert_eq!(queue.start(2, 5), [0, 1]);
        for key in [0, 1] {
            queue.backlog.end(&key);
            assert!(queue.backlog.leave_out(key));
            assert!(!queue.backlog.leave_out(key), "it was left out before");
        }
        assert_eq!(queue.start(2, 5), [2, 3]);
    }

    /// Any order of events: each row is started again and again until it is finished, never twice
    /// at once, and the reads of a drained queue do not grow with its history.
    #[test]
    fn no_row_is_lost_in_any_order_of_events() {
        let mut chance = 1_u64;
        let mut next = |most: u64| {
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            chance % most
        };
        for _ in 0..200 {
            let mut queue = Queue::with(&[]);
            let (mut now, mut added, mut started) = (0_i64, 0, Vec::new());
            for _ in 0..200 {
                match next(6) {
                    0 | 1 => {
                        let due = at(now + i64::try_from(next(4)).unwrap() - 1);
                        queue.rows.insert(added, due);
                        queue.backlog.added(due);
                        added += 1;
                    }
                    2 | 3 => started.extend(queue.start(usize::try_from(next(4)).unwrap(), now)),
                    4 if !started.is_empty() => {
                        let at_place = usize::try_from(next(started.len() as u64)).unwrap();
                        let key = started.swap_remove(at_place);
                        if next(3) == 0 {
                            queue.backlog.end(&key).unwrap(); // its result was not stored
                        } else {
                            queue.finish(key);
                        }
                    }
                    _ => now += 1,
                }
            }
            started.drain(..).for_each(|key| queue.finish(key));
            for _ in 0..=added {
                queue
                    .start(1, now + 9)
                    .into_iter()
                    .for_each(|key| queue.finish(key));
            }
            assert_eq!(queue.rows, BTreeMap::new());
            let before = queue.reads;
            assert_eq!(queue.start(8, now + 9), [0; 0]);
            assert_eq!(queue.reads, before, "finished rows cost nothing");
        }
    }
}
