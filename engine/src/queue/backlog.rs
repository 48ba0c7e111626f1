//! Position of the next scan in one queue, and its rows in flight. No I/O.
//!
//! The store keeps a tombstone for each deleted row, and a scan passes them slowly. So a scan
//! starts at a low-water mark: each row that is due before it was found by an earlier scan.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::sooner;
use switchyard_core::time::Timestamp;

/// State of one queue between two scans. `K` identifies a row; `V` is kept for a row in flight.
pub(super) struct Backlog<K, V = ()> {
    low_water_mark: Timestamp,
    /// Earliest due time of the rows that were added, or not removed, since the last scan began.
    added: Option<Timestamp>,
    /// Due time of the first row that the last scan left.
    left: Option<Timestamp>,
    in_flight: BTreeMap<K, InFlight<V>>,
    /// Rows that may still be there after their execution, with the time of the next one.
    handled: BTreeMap<K, Timestamp>,
    /// Rows that cannot be read. They stay in the store until an operator repairs it.
    unreadable: BTreeSet<K>,
}

struct InFlight<V> {
    due: Timestamp,
    value: V,
}

/// Scan of a queue in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scan {
    /// Due time at which the scan starts.
    pub from: Timestamp,
    /// Number of rows to read at a time: rows in flight are still in the store.
    pub limit: usize,
    /// Number of rows that may still be found.
    free: usize,
    /// Due time of the last row that was read.
    last: Timestamp,
    /// Due time of the first row that is left.
    left: Option<Timestamp>,
    now: Timestamp,
    /// Latest due time of a row to find.
    until: Timestamp,
}

impl Scan {
    /// Whether no further row can be found.
    pub fn is_over(&self) -> bool {
        self.free == 0 || self.left.is_some()
    }
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
            left: None,
            in_flight: BTreeMap::new(),
            handled: BTreeMap::new(),
            unreadable: BTreeSet::new(),
        }
    }
}

impl<K: Ord + Clone, V> Backlog<K, V> {
    /// Records that a row with the due time `due` was added, or may have been. Also for a row that
    /// a scan found and that is given back without its execution.
    pub fn added(&mut self, due: Timestamp) {
        self.added = sooner(self.added, Some(due));
    }

    /// Restarts the scan at the oldest row.
    pub fn restart(&mut self) {
        self.added(Timestamp::default());
    }

    /// Whether a scan up to `until` may find a row.
    pub fn is_due(&self, until: Timestamp) -> bool {
        sooner(self.added, self.left).is_some_and(|due| due <= until)
    }

    /// Earliest known due time after `until`. `None`: no row is known to become due.
    pub fn next_due(&self, until: Timestamp) -> Option<Timestamp> {
        let is_later = |due: &Timestamp| *due > until;
        sooner(self.added.filter(is_later), self.left.filter(is_later))
    }

    /// Begins a scan for at most `free` rows that are due until `until`. A scan that fails is given
    /// to [`Self::failed`], each other one to [`Self::ended`].
    pub fn scan(&mut self, free: usize, now: Timestamp, until: Timestamp) -> Scan {
        let from = self.reads_from();
        self.added = None;
        self.low_water_mark = from;
        Scan {
            from,
            limit: free + self.in_flight.len() + self.unreadable.len(),
            free,
            last: from,
            left: None,
            now,
            until,
        }
    }

    /// Records that the rows of a scan could not be read: the next scan starts at the same place.
    pub fn failed(&mut self, scan: Scan) {
        self.added(scan.from);
    }

    /// Whether a scan finds the row: it is due, and neither in flight nor handled nor unreadable.
    /// Call it for each row that was read, in order of due time.
    pub fn finds(&self, scan: &mut Scan, key: &K, due: Timestamp) -> bool {
        if scan.left.is_some() {
            return false;
        }
        let is_handled = |key| self.handled.get(key).is_some_and(|again| *again > scan.now);
        let is_new =
            !self.in_flight.contains_key(key) && !self.unreadable.contains(key) && !is_handled(key);
        scan.last = due;
        if due > scan.until || (is_new && scan.free == 0) {
            scan.left = Some(due);
            return false;
        }
        scan.free -= usize::from(is_new);
        is_new
    }

    /// Ends a scan. `is_full`: there may be further rows after the last one.
    pub fn ended(&mut self, scan: Scan, is_full: bool) {
        self.left = scan.left.or_else(|| is_full.then_some(scan.last));
        self.low_water_mark = self.left.map_or(scan.now, |left| left.min(scan.now));
    }

    /// Marks a row as in flight. `false`: it is in flight already, and `value` is dropped.
    pub fn start(&mut self, key: K, due: Timestamp, value: V) -> bool {
        let is_new = !self.in_flight.contains_key(&key);
        if is_new {
            self.in_flight.insert(key, InFlight { due, value });
        }
        is_new
    }

    /// Ends the execution of a row that is removed from the queue. Returns its due time.
    pub fn end(&mut self, key: &K) -> Option<Timestamp> {
        Some(self.in_flight.remove(key)?.due)
    }

    /// Ends the execution of a row that may still be there. Scans find it again after `rest`, or at
    /// its due time if that is in the future.
    pub fn end_handled(&mut self, key: K, now: Timestamp, rest: Duration) {
        if let Some(due) = self.end(&key) {
            let again = if due > now { due } else { now.plus(rest) };
            self.handled.insert(key, again);
        }
    }

    /// Removes the records of handled rows that scans find again.
    pub fn forget_handled(&mut self, now: Timestamp) {
        self.handled.retain(|_, again| now < *again);
    }

    /// Leaves out a row that cannot be read. `false`: it was left out before.
    pub fn leave_out(&mut self, key: K) -> bool {
        self.unreadable.insert(key)
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.in_flight.values().map(|in_flight| &in_flight.value)
    }

    pub fn value_mut(&mut self, key: &K) -> Option<&mut V> {
        let in_flight = self.in_flight.get_mut(key)?;
        Some(&mut in_flight.value)
    }

    /// Due time at which the next scan starts.
    pub fn reads_from(&self) -> Timestamp {
        let added = self.added;
        added.map_or(self.low_water_mark, |due| due.min(self.low_water_mark))
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

        /// Reads a scan to its end.
        fn read(&mut self, mut scan: Scan) -> Vec<(usize, Timestamp)> {
            let mut rows: Vec<_> = self.rows.iter().map(|(key, due)| (*due, *key)).collect();
            rows.sort_unstable();
            rows.retain(|(due, _)| *due >= scan.from);
            let mut found = Vec::new();
            let mut pages = rows.chunks(scan.limit);
            let mut is_full = false;
            while !scan.is_over()
                && let Some(page) = pages.next()
            {
                self.reads += page.len();
                is_full = page.len() == scan.limit;
                for (due, key) in page {
                    if self.backlog.finds(&mut scan, key, *due) {
                        found.push((*key, *due));
                    }
                }
            }
            self.backlog.ended(scan, is_full);
            found
        }

        /// Starts at most `free` rows that are due at `now`.
        fn start(&mut self, free: usize, now: i64) -> Vec<usize> {
            let scan = self.backlog.scan(free, at(now), at(now));
            let found = self.read(scan);
            for (key, due) in &found {
                assert!(self.backlog.start(*key, *due, ()));
            }
            found.into_iter().map(|(key, _)| key).collect()
        }

        /// The execution of a row ends, and its row is deleted.
        fn finish(&mut self, key: usize) {
            self.rows.remove(&key);
            self.backlog.end(&key).unwrap();
        }

        /// The execution of a row ends without a durable result.
        fn give_back(&mut self, key: usize) {
            let due = self.backlog.end(&key).unwrap();
            self.backlog.added(due);
        }
    }

    #[test]
    fn due_rows_start_in_order_while_there_is_room_and_each_of_them_once() {
        let mut queue = Queue::with(&[3, 1, 2, 9]);
        assert_eq!(queue.start(2, 5), [1, 2]);
        assert!(queue.backlog.is_due(at(5)), "row 0 was left");
        queue.finish(1);
        assert_eq!(queue.start(1, 5), [0]);
        assert_eq!(queue.start(1, 5), [0; 0]);
        assert!(!queue.backlog.is_due(at(5)), "no row was left");
        assert_eq!(queue.backlog.next_due(at(5)), Some(at(9)));
        assert_eq!(queue.backlog.next_due(at(9)), None, "it is due now");
        assert_eq!(queue.start(1, 9), [3]);
    }

    #[test]
    fn a_scan_starts_behind_finished_rows_and_before_a_row_that_is_still_there() {
        let mut queue = Queue::with(&[1, 2, 3]);
        assert_eq!(queue.start(8, 5), [0, 1, 2]);
        queue.finish(0);
        queue.finish(2);
        assert_eq!(queue.backlog.reads_from(), at(5), "row 1 is in flight");
        queue.give_back(1);
        assert_eq!(queue.backlog.reads_from(), at(2));
        assert_eq!(queue.start(8, 6), [1], "its result was not stored");
    }

    #[test]
    fn a_row_that_is_added_during_a_scan_is_found_by_the_next_one() {
        let mut queue = Queue::with(&[2]);
        let scan = queue.backlog.scan(8, at(5), at(5));
        queue.backlog.added(at(1));
        assert_eq!(queue.read(scan).len(), 1);
        assert!(queue.backlog.start(0, at(2), ()));
        queue.rows.insert(7, at(1));
        assert!(queue.backlog.is_due(at(5)));
        assert_eq!(queue.start(8, 5), [7]);
    }

    #[test]
    fn a_failed_scan_is_repeated_from_the_same_place() {
        let mut queue = Queue::with(&[1]);
        let scan = queue.backlog.scan(8, at(5), at(5));
        queue.backlog.failed(scan);
        assert!(queue.backlog.is_due(at(5)));
        assert_eq!(queue.start(8, 5), [0]);
    }

    #[test]
    fn unreadable_rows_are_left_out_and_do_not_block_those_behind_them() {
        let mut queue = Queue::with(&[1, 1, 1, 2]);
        assert_eq!(queue.start(2, 5), [0, 1]);
        for key in [0, 1] {
            queue.give_back(key);
            assert!(queue.backlog.leave_out(key));
            assert!(!queue.backlog.leave_out(key), "it was left out before");
        }
        assert_eq!(queue.start(2, 5), [2, 3]);
    }

    #[test]
    fn handled_rows_are_passed_until_their_time_and_block_none_behind_them() {
        let mut queue = Queue::with(&[1, 2, 3, 4, 5]);
        for keys in [[0, 1], [2, 3]] {
            assert_eq!(queue.start(2, 5), keys);
            for key in keys {
                queue
                    .backlog
                    .end_handled(key, at(5), Duration::from_secs(5));
            }
        }
        queue.backlog.restart();
        assert_eq!(queue.start(2, 9), [4]);
        assert_eq!(queue.backlog.reads_from(), at(9), "nothing is left");
        queue.backlog.forget_handled(at(9));
        queue.backlog.restart();
        assert_eq!(queue.start(8, 9), [0; 0]);
        queue.backlog.restart();
        assert_eq!(queue.start(8, 10), [0, 1, 2, 3]);
    }

    #[test]
    fn a_scan_ahead_of_the_time_starts_the_next_one_at_that_time() {
        let mut queue = Queue::with(&[1, 7, 9]);
        let scan = queue.backlog.scan(8, at(5), at(8));
        assert_eq!(queue.read(scan), [(0, at(1)), (1, at(7))]);
        assert_eq!(queue.backlog.reads_from(), at(5));
        assert_eq!(queue.backlog.next_due(at(8)), Some(at(9)));
        assert!(queue.backlog.start(1, at(7), ()));
        queue.backlog.end_handled(1, at(5), Duration::from_secs(5));
        assert_eq!(queue.start(8, 6), [0; 0]);
        assert_eq!(queue.start(8, 7), [1], "not later than its time");
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
                    2 | 3 => {
                        started.extend(queue.start(1 + usize::try_from(next(3)).unwrap(), now));
                    }
                    4 if !started.is_empty() => {
                        let at_place = usize::try_from(next(started.len() as u64)).unwrap();
                        let key = started.swap_remove(at_place);
                        if next(3) == 0 {
                            queue.give_back(key);
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
