//! In-memory part of one webhook's queue: a window of due rows, and the rows in flight.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use ulid::Ulid;

use super::log::{self, LogError};
use super::policy::{ORDER_WAIT, Predecessor, Turn, turn};
use super::row::{self, Row};
use crate::queue::{Backlog, Found, sooner};
use switchyard_core::ids::WebhookId;
use switchyard_core::time::Timestamp;
use switchyard_store::{Direction, Store, StoreError, Table};

/// Dispatch state of one webhook: a window of due rows and the deliveries in flight.
#[derive(Default)]
pub struct Target {
    /// Due rows that are not in flight, in order.
    window: VecDeque<Row>,
    backlog: Backlog<Vec<u8>, InFlight>,
    /// Start of the first attempt at recent first events that were not acknowledged, by
    /// transaction.
    tried: BTreeMap<Ulid, Timestamp>,
    is_loaded: bool,
    /// Whether the webhook is in a lane and waits for its turn.
    pub is_ready: bool,
    /// Whether its rows are being removed, so that it must not be enqueued.
    pub is_held: bool,
    pub pace: Pace,
    /// Time of the next wake-up without another event.
    pub wake: Option<Timestamp>,
    /// Rate limit of the webhook: nothing is sent before this time.
    pub not_before: Option<Timestamp>,
}

/// Row in flight.
pub struct InFlight {
    pub row: Row,
    pub lane: Lane,
}

/// Unacknowledged attempt, with the due time of the next one.
#[derive(Clone, Copy, Debug)]
pub struct RetryAt {
    /// Start of the attempt, as in the log.
    pub began: Timestamp,
    pub due: Timestamp,
}

/// Speed of a receiver's last response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    #[default]
    Unknown,
    Quick,
    Slow,
}

/// Lane of a request. Slow receivers have a lane of their own, so that they take no capacity from
/// quick ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    Quick,
    Slow,
}

/// Next step of a target.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    Send(Box<Row>),
    /// Idle until this time.
    At(Timestamp),
    /// Idle: the queue is empty, or the next row waits for a request in flight.
    Nothing,
}

impl Target {
    /// Records that a row with the due time `due` was added.
    pub fn rescan(&mut self, due: Timestamp) {
        self.backlog.added(due);
    }

    /// Restarts the scan at the oldest row.
    pub fn restart_scan(&mut self) {
        self.backlog.restart();
    }

    pub fn is_idle(&self) -> bool {
        self.backlog.in_flight() == 0
    }

    pub fn in_flight_mut(&mut self, key: &[u8]) -> Option<&mut InFlight> {
        self.backlog.value_mut(key)
    }

    pub fn lane(&self) -> Lane {
        match self.pace {
            Pace::Slow => Lane::Slow,
            Pace::Quick | Pace::Unknown => Lane::Quick,
        }
    }

    /// Free concurrency: one request at a time until the receiver's pace is known.
    pub fn room(&self, most: usize) -> usize {
        let allowed = match self.pace {
            Pace::Unknown => 1,
            Pace::Quick | Pace::Slow => most,
        };
        allowed.saturating_sub(self.backlog.in_flight())
    }

    /// Takes the next row that may be sent from the window. Refills the window from the store when
    /// none of its rows may be sent.
    pub async fn next(
        &mut self,
        store: &Store,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<Next, LogError> {
        self.tried.retain(|_, at| now.since(*at) < ORDER_WAIT);
        let mut later = None;
        for _ in 0..2 {
            later = None;
            if let Some(row) = self.take_from_window(store, now, &mut later).await? {
                return Ok(Next::Send(Box::new(row)));
            }
            if !self.backlog.is_due(now) {
                break;
            }
            self.fill(store, webhook, now).await?;
        }
        let next_due = self.backlog.next_due(now);
        Ok(sooner(later, next_due).map_or(Next::Nothing, Next::At))
    }

    /// Marks a row as in flight.
    pub fn started(&mut self, row: Row, lane: Lane) {
        let (key, due) = (row.key(), row.due);
        self.backlog.start(key, due, InFlight { row, lane });
    }

    /// Sets the earliest start of the next request from the rate limit. Up to [`LATE_LOOK`] of
    /// delay is made up for, so that a late poll does not lower the rate.
    pub fn apply_rate_limit(&mut self, now: Timestamp, spacing: Duration) {
        let earliest = now.minus(LATE_LOOK);
        let from = self.not_before.map_or(now, |at| at.max(earliest));
        self.not_before = (!spacing.is_zero()).then(|| from.plus(spacing));
    }

    /// Removes a row from those in flight. `retry`: the attempt was not acknowledged, and another
    /// one follows. Later events wait from the logged start of the attempt. The time at which the
    /// row was taken is too early on a busy machine.
    pub fn ended(&mut self, key: &[u8], retry: Option<RetryAt>) -> Option<InFlight> {
        let ended = self.backlog.end(key)?;
        let was_first = ended.row.attempts == 0 && ended.row.sequence() == 1;
        if let Some(retried) = retry.filter(|_| was_first) {
            self.tried
                .insert(ended.row.transaction.ulid(), retried.began);
        }
        if let Some(retried) = retry {
            self.backlog.added(retried.due);
        }
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
                    // In flight: `next` is called again when its request ends.
                }
            }
        }
        Ok(None)
    }

    /// State of the first event of the row's transaction, and that event itself if it waits to be
    /// sent. It may be outside the window: after the clock was set back, it is due after its later
    /// events, and a window full of those would wait for it forever. It was never tried, so it is
    /// due.
    async fn predecessor(
        &self,
        store: &Store,
        row: &Row,
    ) -> Result<(Predecessor, Option<Row>), StoreError> {
        let Some(key) = row.predecessor_key() else {
            return Ok((Predecessor::Settled, None));
        };
        // An earlier event in flight ends within the deadline at any attempt: wait for it.
        let is_earlier = |flying: &InFlight| {
            flying.row.transaction == row.transaction && flying.row.sequence() < row.sequence()
        };
        if self.backlog.values().any(is_earlier) {
            return Ok((Predecessor::Unsent, None));
        }
        if let Some(at) = self.tried.get(&row.transaction.ulid()) {
            let first_attempt_at = *at;
            return Ok((Predecessor::Tried { first_attempt_at }, None));
        }
        let waiting = store.get(Table::Outbox, &key).await?;
        // An unreadable row is skipped; the scan of the queue logs it. Waiting for it would never
        // end.
        let first = waiting.and_then(|value| Row::read(&key, &value).ok());
        Ok(match first {
            Some(first) => (Predecessor::Unsent, Some(first)),
            None => (Predecessor::Settled, None),
        })
    }

    /// Replaces the window by the first due rows of the store that are not in flight.
    async fn fill(
        &mut self,
        store: &Store,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<(), LogError> {
        if !self.is_loaded {
            self.load_tried(store, webhook, now).await?;
        }
        let scan = self.backlog.scan(WINDOW);
        let (start, end) = row::of_webhook(webhook, scan.from);
        let rows = store
            .scan(Table::Outbox, &start, &end, Direction::Forward, scan.limit)
            .await
            .inspect_err(|_| self.backlog.failed(scan))?;
        let rows = rows.into_iter().filter_map(|(key, row)| {
            let due = row::due_in(&key).ok()?;
            Some(Found { key, due, row })
        });
        self.window.clear();
        for found in self.backlog.found(scan, rows, now) {
            match Row::read(&found.key, &found.row) {
                Ok(row) => self.window.push_back(row),
                Err(error) => {
                    tracing::error!(webhook.id = %webhook, %error, "skipped an unreadable webhook");
                    self.backlog.leave_out(found.key);
                }
            }
        }
        Ok(())
    }

    /// Loads, after a restart, the first events that were tried in the last [`ORDER_WAIT`].
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

/// Maximum number of due rows in memory for each webhook, besides those in flight.
const WINDOW: usize = 16;
/// Delay of a poll that does not lower a webhook's rate.
const LATE_LOOK: Duration = Duration::from_millis(20);
/// Maximum number of recent attempts that are read at the first scan of a queue after a start.
const TRIED_AT_START: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use switchyard_core::environment::Environment;
    use switchyard_core::ids::{AppId, DeliveryId, EventId, PaymentId, TransactionId};
    use switchyard_core::transaction::EventName;
    use switchyard_store::Batch;

    /// First event of a transaction, due at `due`.
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
        target.rescan(first);
        let Ok(Next::Send(sent)) = target.next(&store, webhook, now).await else {
            panic!("nothing is sent");
        };
        let key = sent.key();
        target.started(*sent, Lane::Quick);
        target.fill(&store, webhook, now).await.unwrap();
        assert_eq!(
            target.backlog.reads_from(),
            second,
            "rows in flight do not hold the mark back"
        );
        target.ended(&key, None).unwrap();
        assert_eq!(
            target.backlog.reads_from(),
            first,
            "the row may still exist"
        );
    }

    #[tokio::test]
    async fn unreadable_rows_at_the_head_of_a_queue_do_not_block_the_rows_behind_them() {
        let (store, webhook) = (Store::memory(), WebhookId::new(Ulid::from_parts(1, 1)));
        let now = Timestamp::from_seconds(1_000);
        let mut batch = Batch::new();
        for place in 0..=2 * WINDOW as i64 {
            let row = row(webhook, Timestamp::from_seconds(place));
            let is_last = place == 2 * WINDOW as i64;
            let value = if is_last { row.value() } else { Vec::new() };
            batch.put(Table::Outbox, row.key(), value);
        }
        store.commit(batch).await.unwrap();
        let mut target = Target::default();
        target.restart_scan();
        for _ in 0..3 {
            if let Next::Send(row) = target.next(&store, webhook, now).await.unwrap() {
                assert_eq!(row.due, Timestamp::from_seconds(2 * WINDOW as i64));
                return;
            }
        }
        panic!("the readable row was not found");
    }
}
