//! What the room remembers while the process lives: how much each connection sends, and what is being dealt with. All of it can be found
//! again in the store.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, Semaphore};

use super::row::{CallbackState, Which};
use crate::clock::Timestamp;
use crate::ids::{AttemptId, ConnectionId};
use crate::limits::{
    CALLBACKS_A_SECOND, CALLBACKS_AFTER_OUR_CALL, CALLBACKS_AT_ONCE, CALLBACKS_HEARD,
    CALLBACKS_IN_FLIGHT, CALLBACKS_WAITING_BYTES,
};

pub(crate) struct Callbacks {
    gauges: Mutex<HashMap<ConnectionId, Gauge>>,
    /// The connections in whose queues something waits that nobody deals with, and a time before which nothing does: where reading begins,
    /// since a store steps slowly over rows that are gone.
    queues: Mutex<BTreeMap<ConnectionId, Timestamp>>,
    /// There is something to do before the next look.
    pub(super) nudge: Notify,
    /// Places for callbacks that were read and wait for the end of our own call.
    pub(super) patience: Semaphore,
    /// Callbacks that were put aside for their transaction since the start.
    put_aside: AtomicU64,
    /// At the start none was aside.
    none_at_start: AtomicBool,
    /// When providers were last asked about attempts that had ended, as far as what they said has been dealt with.
    heard: Mutex<HashMap<AttemptId, Timestamp>>,
}

#[derive(Default)]
struct Gauge {
    /// When the connection would have used up its share of time if each callback took its part of a second.
    booked_until: i64,
    waiting_bytes: u64,
    under_way: HashSet<Which>,
    kept: HashMap<CallbackState, usize>,
}

/// Why a callback is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    TooFast,
    TooManyWait,
}

impl Default for Callbacks {
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

impl Callbacks {
    /// Lets a callback in and notes its size; [`Self::out`] when it was dealt with or not stored.
    pub(super) fn enter(
        &self,
        connection: ConnectionId,
        bytes: u32,
        now: Timestamp,
    ) -> Result<(), Full> {
        let part = 1_000_000 / i64::from(CALLBACKS_A_SECOND);
        let mut gauges = self.gauges();
        let gauge = gauges.entry(connection).or_default();
        let booked = gauge.booked_until.max(now.as_micros());
        if booked - now.as_micros() >= part * i64::from(CALLBACKS_AT_ONCE) {
            return Err(Full::TooFast);
        }
        if gauge.waiting_bytes + u64::from(bytes) > CALLBACKS_WAITING_BYTES {
            return Err(Full::TooManyWait);
        }
        gauge.booked_until = booked + part;
        gauge.waiting_bytes += u64::from(bytes);
        Ok(())
    }

    /// Notes what was found waiting at the start, or is to be dealt with once more.
    pub(super) fn wait(&self, connection: ConnectionId, bytes: u32) {
        self.gauges().entry(connection).or_default().waiting_bytes += u64::from(bytes);
    }

    pub(super) fn out(&self, connection: ConnectionId, bytes: u32) {
        if let Some(gauge) = self.gauges().get_mut(&connection) {
            gauge.waiting_bytes = gauge.waiting_bytes.saturating_sub(bytes.into());
        }
    }

    /// Notes that a provider was asked at `at` about an attempt that had ended, and that what it said is kept.
    pub(super) fn heard(&self, attempt: AttemptId, at: Timestamp) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if heard.len() >= CALLBACKS_HEARD {
            heard.clear();
        }
        heard.insert(attempt, at);
    }

    /// Whether a provider was asked at `since` or later, by this process, and what it said is kept.
    pub(super) fn was_heard_since(&self, attempt: AttemptId, since: Timestamp) -> bool {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.get(&attempt).is_some_and(|at| *at >= since)
    }

    /// Notes, after the commit, that something waits in a connection's queue since `at`, or until then.
    pub(super) fn queued(&self, connection: ConnectionId, at: Timestamp) {
        self.left(connection, at);
        self.nudge.notify_one();
    }

    /// The same after a look, which found it and left it there: the next one comes to it by itself.
    pub(super) fn left(&self, connection: ConnectionId, at: Timestamp) {
        let mut queues = self.queues();
        let from = queues.entry(connection).or_insert(at);
        *from = at.min(*from);
    }

    /// The queues in which something may be due at `now` that there is a place for, and from when on each is to be read. Whoever reads
    /// one says what is left in it.
    pub(super) fn take_due(&self, now: Timestamp) -> Vec<(ConnectionId, Timestamp)> {
        let mut queues = self.queues();
        let is_worth_a_look = |connection: &ConnectionId, from: &mut Timestamp| {
            *from <= now && self.places(*connection) > 0
        };
        queues.extract_if(.., is_worth_a_look).collect()
    }

    /// How many more of a connection's may be taken up now.
    pub(super) fn places(&self, connection: ConnectionId) -> usize {
        let gauges = self.gauges();
        let under_way = gauges
            .get(&connection)
            .map_or(0, |gauge| gauge.under_way.len());
        CALLBACKS_IN_FLIGHT.saturating_sub(under_way)
    }

    /// `false`: it is being dealt with already.
    pub(super) fn take_up(&self, which: Which) -> bool {
        let mut gauges = self.gauges();
        gauges
            .entry(which.connection)
            .or_default()
            .under_way
            .insert(which)
    }

    /// It was dealt with, or is to be taken up again; `at`: its time in the queue. If it is still there, that is where it lies, or later.
    pub(super) fn lay_down(&self, which: Which, at: Timestamp) {
        if let Some(gauge) = self.gauges().get_mut(&which.connection) {
            gauge.under_way.remove(&which);
        }
        self.queued(which.connection, at);
    }

    /// Counts one more (or fewer) that is kept in `state`; how many there are then. `None`: count them first, by [`Self::counted`].
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

    /// Notes, before it is durable, that one is put aside for its transaction.
    pub(super) fn put_aside(&self) {
        self.put_aside.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn none_was_aside(&self) {
        self.none_at_start.store(true, Ordering::SeqCst);
    }

    /// Whether any callback may wait for a transaction. Asked after each commit that makes a name known.
    pub(super) fn may_be_awaited(&self) -> bool {
        !self.none_at_start.load(Ordering::SeqCst) || self.put_aside.load(Ordering::SeqCst) > 0
    }

    fn queues(&self) -> MutexGuard<'_, BTreeMap<ConnectionId, Timestamp>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gauges(&self) -> MutexGuard<'_, HashMap<ConnectionId, Gauge>> {
        self.gauges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_connection_may_send_a_burst_and_then_so_many_a_second_and_others_do_not_feel_it() {
        let desk = Callbacks::default();
        let [one, other] =
            [1, 2].map(|number| ConnectionId::new(ulid::Ulid::from_parts(1, number)));
        let start = Timestamp::from_seconds(1_000);
        let let_in = |connection, now| {
            let all = std::iter::repeat_with(|| desk.enter(connection, 1, now));
            all.take_while(Result::is_ok).count()
        };
        assert_eq!(let_in(one, start), CALLBACKS_AT_ONCE as usize);
        assert_eq!(desk.enter(one, 1, start), Err(Full::TooFast));
        assert_eq!(desk.enter(other, 1, start), Ok(()));
        let later = start.plus(Duration::from_secs(1));
        assert_eq!(let_in(one, later), CALLBACKS_A_SECOND as usize);
    }

    #[test]
    fn what_waits_is_bounded_by_its_size_until_it_was_dealt_with() {
        let desk = Callbacks::default();
        let one = ConnectionId::new(ulid::Ulid::from_parts(1, 1));
        let now = Timestamp::from_seconds(1_000);
        let half = u32::try_from(CALLBACKS_WAITING_BYTES / 2).unwrap();
        assert_eq!(desk.enter(one, half, now), Ok(()));
        assert_eq!(desk.enter(one, half, now), Ok(()));
        assert_eq!(desk.enter(one, 1, now), Err(Full::TooManyWait));
        desk.out(one, half);
        assert_eq!(desk.enter(one, 1, now), Ok(()));
    }

    /// A store steps slowly over rows that are gone: a look that begins before them costs more with each callback that was dealt with.
    #[test]
    fn a_queue_is_read_from_where_something_waits_and_only_when_that_may_be_taken_up() {
        let desk = Callbacks::default();
        let [one, other] =
            [1, 2].map(|number| ConnectionId::new(ulid::Ulid::from_parts(1, number)));
        let at = Timestamp::from_seconds;
        desk.queued(one, at(1_000));
        desk.queued(one, at(1_001));
        desk.queued(other, at(1_005));
        assert_eq!(desk.take_due(at(1_002)), [(one, at(1_000))]);
        assert_eq!(desk.take_due(at(1_002)), [], "nothing was left in it");
        desk.left(one, at(1_001));
        assert_eq!(
            desk.take_due(at(1_005)),
            [(one, at(1_001)), (other, at(1_005))]
        );
        let taken = |number: usize| Which {
            connection: one,
            callback: crate::ids::CallbackId::new(ulid::Ulid::from_parts(1, number as u128)),
        };
        (0..CALLBACKS_IN_FLIGHT).for_each(|number| assert!(desk.take_up(taken(number))));
        desk.queued(one, at(1_003));
        assert_eq!(desk.take_due(at(1_005)), [], "there is no place");
        desk.lay_down(taken(0), at(1_001));
        assert_eq!(
            desk.take_due(at(1_005)),
            [(one, at(1_001))],
            "it may be there still"
        );
    }

    #[test]
    fn a_question_counts_for_what_came_before_it_and_is_forgotten_with_too_many_others() {
        let desk = Callbacks::default();
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
