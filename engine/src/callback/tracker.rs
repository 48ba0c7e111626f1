//! In-memory state of the callback queues: rate and waiting bytes of each connection. All of it can
//! be rebuilt from the store.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, Semaphore};

use super::queue::CallbackQueue;
use super::row::CallbackState;
use crate::queue::Queue;
use switchyard_core::ids::{AttemptId, CallbackId, ConnectionId};
use switchyard_core::limits::{
    CALLBACK_CROWD_PAUSE, CALLBACKS_A_SECOND, CALLBACKS_AFTER_OUR_CALL, CALLBACKS_AT_ONCE,
    CALLBACKS_REMEMBERED, CALLBACKS_WAITING_BYTES,
};
use switchyard_core::time::Timestamp;

pub(crate) struct CallbackTracker {
    gauges: Mutex<HashMap<ConnectionId, Gauge>>,
    pub(super) queue: Queue<CallbackQueue>,
    /// Notified after each processed callback.
    pub(super) processed: Notify,
    /// Held while callbacks over a limit are deleted.
    pub(super) room: tokio::sync::Mutex<()>,
    /// Permits for callbacks that were read and wait in memory for the end of our own call.
    pub(super) patience: Semaphore,
    /// Number of callbacks that were parked for their transaction since the start.
    park: AtomicU64,
    /// Whether no callback was parked at startup.
    none_at_start: AtomicBool,
    /// Times of the last queries about each ended attempt.
    asked: Mutex<HashMap<AttemptId, Queries>>,
    /// Of an attempt of a transaction with too many callbacks, the one that causes the next query,
    /// and its time.
    crowds: Mutex<HashMap<AttemptId, (CallbackId, Timestamp)>>,
}

#[derive(Default)]
struct Gauge {
    /// Rate limit: time in microseconds up to which the connection's share is used, if each
    /// callback takes an equal part of a second.
    booked_until: i64,
    waiting_bytes: u64,
    kept: HashMap<CallbackState, usize>,
    /// Of each state, the last of the oldest callbacks that are all verified.
    verified: HashMap<CallbackState, CallbackId>,
}

/// Times of the last queries about an ended attempt.
#[derive(Clone, Copy, Default)]
struct Queries {
    /// The last one whose result is stored.
    answered: Option<Timestamp>,
    /// The last one without a result.
    unanswered: Option<Timestamp>,
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
            queue: Queue::default(),
            processed: Notify::new(),
            room: tokio::sync::Mutex::default(),
            patience: Semaphore::new(CALLBACKS_AFTER_OUR_CALL),
            park: AtomicU64::new(0),
            none_at_start: AtomicBool::new(false),
            asked: Mutex::default(),
            crowds: Mutex::default(),
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
    pub(super) fn note_query_result(&self, attempt: AttemptId, at: Timestamp) {
        self.note_query(attempt, |queries| queries.answered = Some(at));
    }

    /// Records that a query about an ended attempt, sent at `at`, had no result.
    pub(super) fn note_query_without_result(&self, attempt: AttemptId, at: Timestamp) {
        self.note_query(attempt, |queries| queries.unanswered = Some(at));
    }

    fn note_query(&self, attempt: AttemptId, note: impl FnOnce(&mut Queries)) {
        let mut asked = self.asked.lock();
        if asked.len() >= CALLBACKS_REMEMBERED {
            asked.clear();
        }
        note(asked.entry(attempt).or_default());
    }

    /// Whether this process queried the provider at `since` or later and stored the result.
    pub(super) fn was_queried_since(&self, attempt: AttemptId, since: Timestamp) -> bool {
        self.queries(attempt).answered.is_some_and(|at| at >= since)
    }

    /// Whether this process queried the provider after `since` without a result.
    pub(super) fn was_unanswered_after(&self, attempt: AttemptId, since: Timestamp) -> bool {
        self.queries(attempt)
            .unanswered
            .is_some_and(|at| at > since)
    }

    fn queries(&self, attempt: AttemptId) -> Queries {
        let asked = self.asked.lock();
        asked.get(&attempt).copied().unwrap_or_default()
    }

    /// Time of the query about `attempts` that an unverified callback beyond the limit causes.
    /// `None`: other callbacks cause later queries about each of them, which cover this one.
    pub(super) fn reserve_query(
        &self,
        attempts: &[AttemptId],
        callback: CallbackId,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let mut crowds = self.crowds.lock();
        let known = |attempt: &AttemptId| crowds.get(attempt).copied();
        let own = attempts.iter().filter_map(known);
        let own = own.filter(|(holder, _)| *holder == callback);
        if let Some(at) = own.map(|(_, at)| at).max() {
            return Some(at);
        }
        let is_covered = |attempt: &AttemptId| known(attempt).is_some_and(|(_, at)| at > now);
        let uncovered: Vec<_> = attempts.iter().filter(|one| !is_covered(one)).collect();
        if uncovered.is_empty() {
            return None;
        }
        let earlier = uncovered.iter().filter_map(|attempt| known(attempt));
        let at = earlier.fold(now, |at, (_, last)| at.max(last.plus(CALLBACK_CROWD_PAUSE)));
        if crowds.len() >= CALLBACKS_REMEMBERED {
            crowds.retain(|_, (_, at)| *at > now);
        }
        crowds.extend(
            uncovered
                .into_iter()
                .map(|attempt| (*attempt, (callback, at))),
        );
        Some(at)
    }

    /// Time of the query about an attempt that is reserved for the callback.
    pub(super) fn reserved_query(
        &self,
        attempt: AttemptId,
        callback: CallbackId,
    ) -> Option<Timestamp> {
        let crowds = self.crowds.lock();
        let (holder, at) = crowds.get(&attempt)?;
        (*holder == callback).then_some(*at)
    }

    /// Wakes the queue, after the commit, for a row that is due at `at`.
    pub(super) fn queued(&self, connection: ConnectionId, at: Timestamp) {
        self.queue.wake([(connection, at)]);
    }

    /// Starts no further callbacks.
    pub(crate) fn stop(&self) {
        self.queue.stop_now();
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

    /// Notes that a callback and all older ones of its state are verified.
    pub(super) fn verified(
        &self,
        connection: ConnectionId,
        state: CallbackState,
        last: CallbackId,
    ) {
        let mut gauges = self.gauges();
        let gauge = gauges.entry(connection).or_default();
        gauge.verified.insert(state, last);
    }

    /// The last of the oldest callbacks that are all verified.
    pub(super) fn verified_until(
        &self,
        connection: ConnectionId,
        state: CallbackState,
    ) -> Option<CallbackId> {
        self.gauges()
            .get(&connection)?
            .verified
            .get(&state)
            .copied()
    }

    /// Records, before the commit, that a callback is parked for its transaction.
    pub(super) fn park(&self) {
        self.park.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn none_was_aside(&self) {
        self.none_at_start.store(true, Ordering::SeqCst);
    }

    /// Whether any callback may be parked for a transaction. Checked after each commit that makes a
    /// name known.
    pub(super) fn may_be_awaited(&self) -> bool {
        !self.none_at_start.load(Ordering::SeqCst) || self.park.load(Ordering::SeqCst) > 0
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
    fn a_question_counts_for_what_came_before_it_and_is_forgotten_with_too_many_others() {
        let desk = CallbackTracker::default();
        let attempt = |number| AttemptId::new(ulid::Ulid::from_parts(1, number));
        let asked = Timestamp::from_seconds(1_000);
        let before = asked.minus(Duration::from_secs(1));
        let after = asked.plus(Duration::from_secs(1));
        desk.note_query_result(attempt(0), asked);
        assert!(desk.was_queried_since(attempt(0), before));
        assert!(!desk.was_queried_since(attempt(0), after), "it is news");
        assert!(
            !desk.was_queried_since(attempt(1), before),
            "of another one"
        );
        for number in 1..=CALLBACKS_REMEMBERED as u128 {
            desk.note_query_result(attempt(number), asked);
        }
        assert!(
            !desk.was_queried_since(attempt(0), before),
            "one query too many"
        );
    }

    #[test]
    fn a_reserved_query_covers_the_later_callbacks_about_its_attempts_and_no_others() {
        let (desk, start) = (
            CallbackTracker::default(),
            Timestamp::from_micros(1_000_000),
        );
        let ulid = |number: u128| ulid::Ulid::from(number);
        let [x, y] = [1, 2].map(|number| AttemptId::new(ulid(number)));
        let reserve = |attempts: &[AttemptId], callback: u128, seconds: u64| {
            let now = start.plus(Duration::from_secs(seconds));
            let at = desk.reserve_query(attempts, CallbackId::new(ulid(callback)), now);
            at.map(|at| at.since(start).as_secs())
        };
        assert_eq!(reserve(&[x], 1, 0), Some(0), "at once");
        assert_eq!(reserve(&[x], 2, 1), Some(10), "a pause after the last");
        assert_eq!(reserve(&[x], 3, 2), None, "covered");
        assert_eq!(reserve(&[x], 2, 2), Some(10), "its own again");
        assert_eq!(reserve(&[y], 4, 2), Some(2), "another attempt");
        assert_eq!(
            reserve(&[x, y], 5, 3),
            Some(12),
            "the one of both is not covered"
        );
        assert_eq!(reserve(&[x, y], 6, 4), None, "both are");
        assert_eq!(reserve(&[x, y], 5, 12), Some(12), "due");
        assert_eq!(reserve(&[x], 7, 11), Some(20));
    }
}
