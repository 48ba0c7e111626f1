//! One webhook's queue, as much of it as is in memory: a window on the rows that are due, and what is on its way.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use ulid::Ulid;

use super::log::{self, LogError};
use super::policy::{ORDER_WAIT, Predecessor, Turn, turn};
use super::row::{self, Row};
use crate::clock::Timestamp;
use crate::ids::WebhookId;
use crate::store::{Direction, Store, StoreError, Table};

/// What the dispatcher keeps for a webhook that has, or had, something to send.
#[derive(Default)]
pub struct Target {
    /// Rows that are due and not on their way, in order.
    window: VecDeque<Row>,
    /// There may be due rows behind the window: it was full, or somebody added one.
    has_more: bool,
    /// What is on its way, by the key of its row.
    pub in_flight: BTreeMap<Vec<u8>, InFlight>,
    /// First events that were tried a moment ago without an acknowledgment, by transaction, and when their first attempt began.
    tried: BTreeMap<Ulid, Timestamp>,
    /// No row that is not on its way lies before this time, as far as we were told: where reading begins, since a store steps slowly over
    /// rows that are gone. A sweep forgets it.
    low: Option<Timestamp>,
    is_loaded: bool,
    /// Waits in a lane for its turn.
    pub is_ready: bool,
    /// Its rows are being given up or discarded, or it broke and rests.
    pub is_held: bool,
    pub pace: Pace,
    /// When the first row that is not due yet will be, as far as is known.
    next_due: Option<Timestamp>,
    /// When it is looked at again, if nothing happens before.
    pub wake: Option<Timestamp>,
    /// Its own rate limit: nothing is sent before this time.
    pub not_before: Option<Timestamp>,
}

/// A row that is on its way.
pub struct InFlight {
    pub row: Row,
    pub lane: Lane,
}

/// An attempt that was not acknowledged, and when the next one is due.
#[derive(Clone, Copy, Debug)]
pub struct Retried {
    /// As the log of attempts has it.
    pub began: Timestamp,
    pub due: Timestamp,
}

/// How quickly a receiver answered last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    #[default]
    Unknown,
    Quick,
    Slow,
}

/// Slow receivers have room of their own, so that they cannot take that of the quick ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    Quick,
    Slow,
}

/// What a target has to send.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    Send(Box<Row>),
    /// Nothing before this time.
    At(Timestamp),
    /// Nothing, or nothing before something that is on its way comes back.
    Nothing,
}

impl Target {
    /// A row that is due at `due` was added.
    pub fn look_again(&mut self, due: Timestamp) {
        self.has_more = true;
        self.low = self.low.map(|low| low.min(due));
    }

    /// Looks at all rows again, the oldest too.
    pub fn forget_low(&mut self) {
        self.low = None;
        self.has_more = true;
    }

    pub fn lane(&self) -> Lane {
        match self.pace {
            Pace::Slow => Lane::Slow,
            Pace::Quick | Pace::Unknown => Lane::Quick,
        }
    }

    /// Requests at a time: one until it is known how the receiver does.
    pub fn room(&self, most: usize) -> usize {
        let allowed = match self.pace {
            Pace::Unknown => 1,
            Pace::Quick | Pace::Slow => most,
        };
        allowed.saturating_sub(self.in_flight.len())
    }

    /// Takes what may be sent now from the window, filling it from the store when nothing in it may.
    pub async fn next(
        &mut self,
        store: &Store,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<Next, LogError> {
        self.tried.retain(|_, at| now.since(*at) < ORDER_WAIT);
        self.has_more |= self.next_due.is_some_and(|due| due <= now);
        let mut later = None;
        for _ in 0..2 {
            later = None;
            if let Some(row) = self.take_from_window(store, now, &mut later).await? {
                return Ok(Next::Send(Box::new(row)));
            }
            if !self.has_more {
                break;
            }
            self.next_due = self.fill(store, webhook, now).await?;
        }
        Ok(sooner(later, self.next_due).map_or(Next::Nothing, Next::At))
    }

    /// The row is on its way.
    pub fn started(&mut self, row: Row, lane: Lane) {
        self.in_flight.insert(row.key(), InFlight { row, lane });
    }

    /// Leaves room behind a request that begins now. A look that comes a little late is made up for, so that the rate is kept.
    pub fn space_out(&mut self, now: Timestamp, spacing: Duration) {
        let earliest = now.minus(LATE_LOOK);
        let from = self.not_before.map_or(now, |at| at.max(earliest));
        self.not_before = (!spacing.is_zero()).then(|| from.plus(spacing));
    }

    /// The row came back. `retry`: it was not acknowledged, and waits for a later attempt. What follows waits from the time at which
    /// the attempt began, not from when the row was taken: on a busy machine that is earlier.
    pub fn ended(&mut self, key: &[u8], retry: Option<Retried>) -> Option<InFlight> {
        let ended = self.in_flight.remove(key)?;
        // It may still be there, if only at a later time.
        self.low = self.low.map(|low| low.min(ended.row.due));
        let was_first = ended.row.attempts == 0 && ended.row.sequence() == 1;
        if let Some(retried) = retry.filter(|_| was_first) {
            self.tried
                .insert(ended.row.transaction.ulid(), retried.began);
        }
        self.next_due = sooner(self.next_due, retry.map(|retried| retried.due));
        Some(ended)
    }

    async fn take_from_window(
        &mut self,
        store: &Store,
        now: Timestamp,
        later: &mut Option<Timestamp>,
    ) -> Result<Option<Row>, StoreError> {
        for place in 0..self.window.len() {
            let (predecessor, first) = self.predecessor(store, &self.window[place]).await?;
            match turn(predecessor, now) {
                Turn::Now => return Ok(self.window.remove(place)),
                Turn::At(at) => *later = sooner(*later, Some(at)),
                Turn::AfterPredecessor => {
                    if let Some(first) = first {
                        self.window.retain(|row| row.key() != first.key());
                        return Ok(Some(first));
                    }
                    // It is on its way: we are asked again when it comes back.
                }
            }
        }
        Ok(None)
    }

    /// How it stands with the first event of the transaction that `row` is about; and that event itself, if it waits to be sent. It need
    /// not be in the window: when the clock was set back, it lies behind its later events, and a window full of those would wait for
    /// ever. It was never tried, so it is due.
    async fn predecessor(
        &self,
        store: &Store,
        row: &Row,
    ) -> Result<(Predecessor, Option<Row>), StoreError> {
        let Some(key) = row.predecessor_key() else {
            return Ok((Predecessor::Settled, None));
        };
        // Whatever the attempt, an earlier event that is on its way has its answer within the deadline: worth the wait.
        let is_earlier = |flying: &InFlight| {
            flying.row.transaction == row.transaction && flying.row.sequence() < row.sequence()
        };
        if self.in_flight.values().any(is_earlier) {
            return Ok((Predecessor::Unsent, None));
        }
        if let Some(at) = self.tried.get(&row.transaction.ulid()) {
            let first_attempt_at = *at;
            return Ok((Predecessor::Tried { first_attempt_at }, None));
        }
        let waiting = store.get(Table::Outbox, &key).await?;
        // One that cannot be read is skipped, and told in the log where the queue is read: who waited for it would wait for ever.
        let first = waiting.and_then(|value| Row::read(&key, &value).ok());
        Ok(match first {
            Some(first) => (Predecessor::Unsent, Some(first)),
            None => (Predecessor::Settled, None),
        })
    }

    /// Reads the beginning of the queue again. Answers when the first row that is not due yet will be.
    async fn fill(
        &mut self,
        store: &Store,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, LogError> {
        if !self.is_loaded {
            self.load_tried(store, webhook, now).await?;
        }
        let (start, end) = row::of_webhook(webhook, self.low.unwrap_or_default());
        let limit = WINDOW + self.in_flight.len();
        let rows = store
            .scan(Table::Outbox, &start, &end, Direction::Forward, limit)
            .await?;
        self.has_more = rows.len() == limit;
        self.window.clear();
        let mut low = now;
        let mut next_due = None;
        for (key, value) in rows {
            let row = match Row::read(&key, &value) {
                Ok(row) => row,
                Err(error) => {
                    tracing::error!(webhook.id = %webhook, %error, "A webhook in the outbox is skipped.");
                    continue;
                }
            };
            if row.due > now {
                next_due = Some(row.due);
                self.has_more = false;
                break;
            }
            if !self.in_flight.contains_key(&key) {
                low = low.min(row.due);
                self.window.push_back(row);
            }
        }
        self.low = Some(low);
        Ok(next_due)
    }

    /// After a restart: which first events were tried in the last seconds.
    async fn load_tried(
        &mut self,
        store: &Store,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<(), LogError> {
        let since = now.minus(ORDER_WAIT);
        for attempt in log::attempts_since(store, webhook, since, TRIED_AT_START).await? {
            let is_first = attempt.number == 1 && super::payload::sequence(attempt.name) == 1;
            if is_first && !attempt.acknowledged {
                self.tried.insert(attempt.transaction.ulid(), attempt.at);
            }
        }
        self.is_loaded = true;
        Ok(())
    }
}

/// The sooner of two moments that there may be.
pub fn sooner(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Due rows of one webhook that are in memory besides those on their way.
const WINDOW: usize = 16;
/// So late a look may come without slowing a webhook down that has a rate limit.
const LATE_LOOK: Duration = Duration::from_millis(20);
/// Attempts of the last seconds that are read when a queue is first looked at after a start.
const TRIED_AT_START: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::ids::{AppId, DeliveryId, EventId, PaymentId, TransactionId};
    use crate::store::Batch;
    use crate::transaction::EventName;

    /// The first event of a transaction of its own, due at `due`.
    fn row(webhook: WebhookId, due: Timestamp) -> Row {
        let id = Ulid::from_parts(1, due.as_seconds().unsigned_abs().into());
        Row {
            webhook,
            due,
            transaction: TransactionId::Payment(PaymentId::new(id)),
            name: EventName::PaymentInitiated,
            environment: Environment::Sandbox,
            attempts: 0,
            delivery: DeliveryId::new(id),
            event: EventId::new(id),
            app: AppId::new(id),
            enqueued_at: due,
            initiated_at: due,
            first_attempt_at: None,
            body: Vec::new(),
        }
    }

    #[tokio::test]
    async fn a_look_begins_behind_what_is_on_its_way_and_before_what_came_back() {
        let (store, webhook) = (Store::memory(), WebhookId::new(Ulid::from_parts(1, 1)));
        let [first, second, now] = [1, 2, 10].map(Timestamp::from_seconds);
        let mut batch = Batch::new();
        for due in [first, second] {
            let row = row(webhook, due);
            batch.put(Table::Outbox, row.key(), row.value());
        }
        store.commit(batch).await.unwrap();
        let mut target = Target::default();
        target.look_again(first);
        let Ok(Next::Send(sent)) = target.next(&store, webhook, now).await else {
            panic!("nothing is sent");
        };
        let key = sent.key();
        target.started(*sent, Lane::Quick);
        target.fill(&store, webhook, now).await.unwrap();
        assert_eq!(target.low, Some(second), "a dead receiver holds up no look");
        target.ended(&key, None).unwrap();
        assert_eq!(target.low, Some(first), "its row may be there still");
    }
}
