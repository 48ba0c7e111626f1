//! In-memory state of the callback queues: rate and waiting bytes of each connection, low-water
//! marks, callbacks in flight. All of it can be rebuilt from the store.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, Semaphore};

use super::row::{CallbackKey, CallbackState};
use crate::queue::{Backlog, Found, Scan};
use switchyard_core::ids::{AttemptId, CallbackId, ConnectionId};
use switchyard_core::limits::{
    CALLBACKS_A_SECOND, CALLBACKS_AFTER_OUR_CALL, CALLBACKS_AT_ONCE, CALLBACKS_HEARD,
    CALLBACKS_IN_FLIGHT, CALLBACKS_WAITING_BYTES,
};
use switchyard_core::time::Timestamp;

pub(crate) struct CallbackTracker {
    gauges: Mutex<HashMap<ConnectionId, Gauge>>,
    /// Queue of each connection, by callback.
    queues: Mutex<BTreeMap<ConnectionId, Backlog<CallbackId>>>,
    /// Wakes the worker before its next poll.
    pub(super) nudge: Notify,
    /// Permits for callbacks that were read and wait in memory for the end of our own call.
    pub(super) patience: Semaphore,
    /// Number of callbacks that were parked for their transaction since the start.
    put_aside: AtomicU64,
    /// Whether no callback was parked at startup.
    none_at_start: AtomicBool,
    /// Time of the last query about each ended attempt. Set once the result has been processed.
    heard: Mutex<HashMap<AttemptId, Timestamp>>,
}

#[derive(Default)]
struct Gauge {
    /// Rate limit: time in microseconds up to which the connection's share is used, if each
    /// callback takes an equal part of a second.
    booked_until: i64,
    waiting_bytes: u64,
    kept: HashMap<CallbackState, usize>,
}

/// Reason to reject a callback on receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AdmissionError {
    TooFast,
    TooManyWait,
}

impl Default for CallbackTracker {
    fn default() -> Self {
        Self {
            gauges: Mutex::default(),
            queues: Mutex::default(),
            nudge: Notify::new(),
            patience: Semaphore::new(CALLBACKS_AFTER_OUR_CALL),
            put_aside: AtomicU64::new(0),
            none_at_start: AtomicBool::new(false),
            heard: Mutex::default(),
        }
    }
}

impl CallbackTracker {
    /// Admits a callback and counts its size. [`Self::out`] subtracts the size after the callback
    /// was processed or could not be stored.
    pub(super) fn enter(
        &self,
        connection: ConnectionId,
        bytes: u32,
        now: Timestamp,
    ) -> Result<(), AdmissionError> {
        let part = 1_000_000 / i64::from(CALLBACKS_A_SECOND);
        let mut gauges = self.gauges();
        let gauge = gauges.entry(connection).or_default();
        let booked = gauge.booked_until.max(now.as_micros());
        if booked - now.as_micros() >= part * i64::from(CALLBACKS_AT_ONCE) {
            return Err(AdmissionError::TooFast);
        }
        if gauge.waiting_bytes + u64::from(bytes) > CALLBACKS_WAITING_BYTES {
            return Err(AdmissionError::TooManyWait);
        }
        gauge.booked_until = booked + part;
        gauge.waiting_bytes += u64::from(bytes);
        Ok(())
    }

    /// Counts the size of a callback that was queued at startup or is queued again.
    pub(super) fn wait(&self, connection: ConnectionId, bytes: u64) {
        self.gauges().entry(connection).or_default().waiting_bytes += bytes;
    }

    pub(super) fn out(&self, connection: ConnectionId, bytes: u32) {
        if let Some(gauge) = self.gauges().get_mut(&connection) {
            gauge.waiting_bytes = gauge.waiting_bytes.saturating_sub(bytes.into());
        }
    }

    /// Records that the result of a query about an ended attempt, sent at `at`, is stored.
    pub(super) fn heard(&self, attempt: AttemptId, at: Timestamp) {
        let mut heard = self.heard.lock();
        if heard.len() >= CALLBACKS_HEARD {
            heard.clear();
        }
        heard.insert(attempt, at);
    }

    /// Whether this process queried the provider at `since` or later and stored the result.
    pub(super) fn was_heard_since(&self, attempt: AttemptId, since: Timestamp) -> bool {
        let heard = self.heard.lock();
        heard.get(&attempt).is_some_and(|at| *at >= since)
    }

    /// Records, after the commit, a queued row that is due at `at`, and wakes the worker.
    pub(super) fn queued(&self, connection: ConnectionId, at: Timestamp) {
        self.left(connection, at);
        self.nudge.notify_one();
    }

    /// Records a queued row without a wake-up: the next poll finds it.
    pub(super) fn left(&self, connection: ConnectionId, at: Timestamp) {
        self.queues().entry(connection).or_default().added(at);
    }

    /// Begins scans of the connections that may have a row due at `now` and have a free slot. Each
    /// scan ends with [`Self::take_found`] or [`Self::scan_failed`].
    pub(super) fn begin_scans(&self, now: Timestamp) -> Vec<(ConnectionId, Scan)> {
        let mut queues = self.queues();
        let scans = queues.iter_mut().filter_map(|(connection, backlog)| {
            let free = CALLBACKS_IN_FLIGHT.saturating_sub(backlog.in_flight());
            (free > 0 && backlog.is_due(now)).then(|| (*connection, backlog.scan(free)))
        });
        scans.collect()
    }

    pub(super) fn scan_failed(&self, connection: ConnectionId, scan: Scan) {
        self.queues().entry(connection).or_default().failed(scan);
    }

    /// Takes slots for the due callbacks of a scan's rows, and returns them with their due times.
    pub(super) fn take_found(
        &self,
        connection: ConnectionId,
        scan: Scan,
        rows: impl Iterator<Item = Found<CallbackId, ()>>,
        now: Timestamp,
    ) -> Vec<(CallbackKey, Timestamp)> {
        let mut queues = self.queues();
        let backlog = queues.entry(connection).or_default();
        let due_rows = backlog.found(scan, rows, now);
        for found in &due_rows {
            backlog.start(found.key, found.due, ());
        }
        let taken = due_rows.into_iter().map(|found| {
            let callback = found.key;
            let which = CallbackKey {
                connection,
                callback,
            };
            (which, found.due)
        });
        taken.collect()
    }

    /// Takes a slot for a callback that is due at `at`. `false`: it is in flight already.
    pub(super) fn take_up(&self, which: CallbackKey, at: Timestamp) -> bool {
        let mut queues = self.queues();
        let backlog = queues.entry(which.connection).or_default();
        backlog.start(which.callback, at, ())
    }

    /// Frees the slot of a callback that was processed or will be tried again. `at` is its due time
    /// in the queue. If the callback is still queued, it is due at `at` or later.
    pub(super) fn lay_down(&self, which: CallbackKey, at: Timestamp) {
        if let Some(backlog) = self.queues().get_mut(&which.connection) {
            backlog.end(&which.callback);
        }
        self.queued(which.connection, at);
    }

    /// Adds one to the number of callbacks in `state`, or subtracts one, and returns the number.
    /// `None`: the number is unknown; set it with [`Self::counted`].
    pub(super) fn keep(
        &self,
        connection: ConnectionId,
        state: CallbackState,
        more: bool,
    ) -> Option<usize> {
        let mut gauges = self.gauges();
        let kept = gauges.get_mut(&connection)?.kept.get_mut(&state)?;
        *kept = if more {
            *kept + 1
        } else {
            kept.saturating_sub(1)
        };
        Some(*kept)
    }

    pub(super) fn counted(&self, connection: ConnectionId, state: CallbackState, count: usize) {
        let mut gauges = self.gauges();
        gauges
            .entry(connection)
            .or_default()
            .kept
            .insert(state, count);
    }

    /// Records, before the commit, that a callback is parked for its transaction.
    pub(super) fn put_aside(&self) {
        self.put_aside.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn none_was_aside(&self) {
        self.none_at_start.store(true, Ordering::SeqCst);
    }

    /// Whether any callback may be parked for a transaction. Checked after each commit that makes a
    /// name known.
    pub(super) fn may_be_awaited(&self) -> bool {
        !self.none_at_start.load(Ordering::SeqCst) || self.put_aside.load(Ordering::SeqCst) > 0
    }

    fn queues(&self) -> MutexGuard<'_, BTreeMap<ConnectionId, Backlog<CallbackId>>> {
        self.queues.lock()
    }

    fn gauges(&self) -> MutexGuard<'_, HashMap<ConnectionId, Gauge>> {
        self.gauges.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_connection_may_send_a_burst_and_then_so_many_a_second_and_others_do_not_feel_it() {
        let desk = CallbackTracker::default();
        let [one, other] =
            [1, 2].map(|number| ConnectionId::new(ulid::Ulid::from_parts(1, number)));
        let start = Timestamp::from_seconds(1_000);
        let let_in = |connection, now| {
            let all = std::iter::repeat_with(|| desk.enter(connection, 1, now));
            all.take_while(Result::is_ok).count()
        };
        assert_eq!(let_in(one, start), CALLBACKS_AT_ONCE as usize);
        assert_eq!(desk.enter(one, 1, start), Err(AdmissionError::TooFast));
        assert_eq!(desk.enter(other, 1, start), Ok(()));
        let later = start.plus(Duration::from_secs(1));
        assert_eq!(let_in(one, later), CALLBACKS_A_SECOND as usize);
    }

    #[test]
    fn what_waits_is_bounded_by_its_size_until_it_was_dealt_with() {
        let desk = CallbackTracker::default();
        let one = ConnectionId::new(ulid::Ulid::from_parts(1, 1));
        let now = Timestamp::from_seconds(1_000);
        let half = u32::try_from(CALLBACKS_WAITING_BYTES / 2).unwrap();
        assert_eq!(desk.enter(one, half, now), Ok(()));
        assert_eq!(desk.enter(one, half, now), Ok(()));
        assert_eq!(desk.enter(one, 1, now), Err(AdmissionError::TooManyWait));
        desk.out(one, half);
        assert_eq!(desk.enter(one, 1, now), Ok(()));
    }

    #[test]
    fn each_connection_has_a_queue_and_slots_of_its_own() {
        let tracker = CallbackTracker::default();
        let [one, other] =
            [1, 2].map(|number| ConnectionId::new(ulid::Ulid::from_parts(1, number)));
        let at = Timestamp::from_seconds;
        let scanned = |now| {
            let scans = tracker.begin_scans(now);
            let connections = scans.iter().map(|(connection, scan)| {
                let callbacks = (0..=CALLBACKS_IN_FLIGHT).map(|number| Found {
                    key: CallbackId::new(ulid::Ulid::from_parts(2, number as u128)),
                    due: at(1_000),
                    row: (),
                });
                let rows = callbacks.take(scan.limit);
                let taken = tracker.take_found(*connection, *scan, rows, now);
                (*connection, taken.len())
            });
            connections.collect::<Vec<_>>()
        };
        tracker.queued(one, at(1_000));
        tracker.queued(other, at(1_005));
        assert_eq!(scanned(at(1_002)), [(one, CALLBACKS_IN_FLIGHT)]);
        assert_eq!(scanned(at(1_002)), [], "there is no slot");
        assert_eq!(scanned(at(1_005)), [(other, CALLBACKS_IN_FLIGHT)]);
        let first = CallbackKey {
            connection: one,
            callback: CallbackId::new(ulid::Ulid::from_parts(2, 0)),
        };
        assert!(!tracker.take_up(first, at(1_000)), "it is in flight");
        tracker.lay_down(first, at(1_000));
        assert_eq!(scanned(at(1_005)), [(one, 1)], "it may be there still");
    }

    #[test]
    fn a_question_counts_for_what_came_before_it_and_is_forgotten_with_too_many_others() {
        let desk = CallbackTracker::default();
        let attempt = |number| AttemptId::new(ulid::Ulid::from_parts(1, number));
        let asked = Timestamp::from_seconds(1_000);
        let before = asked.minus(Duration::from_secs(1));
        let after = asked.plus(Duration::from_secs(1));
        desk.heard(attempt(0), asked);
        assert!(desk.was_heard_since(attempt(0), before));
        assert!(!desk.was_heard_since(attempt(0), after), "it is news");
        assert!(!desk.was_heard_since(attempt(1), before), "of another one");
        for number in 1..=CALLBACKS_HEARD as u128 {
            desk.heard(attempt(number), asked);
        }
        assert!(
            !desk.was_heard_since(attempt(0), before),
            "one query too many"
        );
    }
}
