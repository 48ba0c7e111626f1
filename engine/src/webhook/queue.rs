//! Queues of webhooks: one for each receiver, with its own concurrency limit, its rate limit and the
//! order of the events of one transaction.

use std::sync::Arc;
use std::time::Duration;

use super::policy::{self, Predecessor};
use super::row::{self, Row};
use super::{Shared, record, release};
use crate::queue::{
    Executed, Found, Item, LaneLimits, Queue, QueueError, QueueHandler, QueueLimits, RowState,
    SlowLane, StartTime,
};
use switchyard_core::ids::WebhookId;
use switchyard_core::limits;
use switchyard_core::time::Timestamp;
use switchyard_store::{KeyRange, Table};

pub(super) struct WebhookQueue(pub Arc<Shared>);

impl QueueHandler for WebhookQueue {
    type Queue = WebhookId;
    type Key = Vec<u8>;
    type Row = Row;

    const NAME: &'static str = "webhook";
    const MAILBOX: usize = limits::WEBHOOK_MAILBOX;
    const TABLE: Table = Table::Outbox;
    // Each request is an open socket. With a tenth of 10,000 receivers dead and another tenth slow,
    // 1,000 events a second keep 600 slow requests in flight. The maximum of the slow lane is above
    // what it reaches when all new receivers are dead: the quick lane fills once per `after` until
    // the deadline.
    const LANES: LaneLimits = LaneLimits {
        quick: 256,
        slow: Some(SlowLane {
            after: Duration::from_millis(500),
            limit: 640,
            max: 2_048,
        }),
    };
    const REST: Duration = Duration::from_secs(30);
    const MEASURED: Option<&'static str> = Some("webhook");

    fn queue(&self) -> &Queue<Self> {
        &self.0.queue
    }

    fn all() -> KeyRange {
        row::all()
    }

    fn range(webhook: WebhookId, from: Timestamp) -> KeyRange {
        row::of_webhook(webhook, from)
    }

    fn read_key(key: &[u8]) -> Option<(WebhookId, Vec<u8>, Timestamp)> {
        let (webhook, due) = row::read_key(key)?;
        Some((webhook, key.to_owned(), due))
    }

    fn read_row(key: &[u8], value: &[u8]) -> Result<Row, QueueError> {
        Ok(Row::read(key, value)?)
    }

    fn enqueued_at(row: &Row) -> Option<Timestamp> {
        Some(row.enqueued_at)
    }

    fn limits(&self, webhook: WebhookId) -> QueueLimits {
        match self.0.access.webhook(webhook).filter(|to| to.is_enabled) {
            Some(to) => QueueLimits {
                concurrency: to
                    .options
                    .concurrency
                    .map_or(self.0.settings.concurrency_per_target, usize::from),
                spacing: to.options.spacing(),
            },
            // One execution empties the queue.
            None => QueueLimits {
                concurrency: 1,
                ..QueueLimits::default()
            },
        }
    }

    /// An earlier event in flight ends within the deadline at any attempt: wait for it.
    fn waits_for(row: &Row, other: &Row) -> bool {
        other.transaction == row.transaction && other.sequence() < row.sequence()
    }

    async fn start_time(
        &self,
        webhook: WebhookId,
        row: &Row,
        now: Timestamp,
    ) -> Result<StartTime<Self>, QueueError> {
        let (predecessor, first) = self.predecessor(webhook, row, now).await?;
        Ok(match (policy::start_time(predecessor, now), first) {
            (policy::StartTime::At(at), _) => StartTime::At(at),
            (policy::StartTime::AfterPredecessor, Some(first)) => StartTime::After(first),
            (policy::StartTime::Now | policy::StartTime::AfterPredecessor, _) => StartTime::Now,
        })
    }

    async fn execute(&self, webhook: WebhookId, item: &Item<Self>) -> Executed {
        match self.0.access.webhook(webhook).filter(|to| to.is_enabled) {
            Some(to) => record::attempt(&self.0, &to, &item.row).await,
            None => match release::release(&self.0, webhook).await {
                Ok(()) => RowState::QueueChanged.into(),
                Err(error) => {
                    tracing::error!(
                        webhook.id = %webhook,
                        %error,
                        "failed to empty the queue of a disabled webhook"
                    );
                    RowState::Unchanged.into()
                }
            },
        }
    }
}

impl WebhookQueue {
    /// State of the first event of the row's transaction, and that event itself if it waits to be
    /// sent. It may be outside the window: after the clock was set back, it is due after its later
    /// events, and a window full of those would wait for it forever. It was never tried, so it is
    /// due.
    async fn predecessor(
        &self,
        webhook: WebhookId,
        row: &Row,
        now: Timestamp,
    ) -> Result<(Predecessor, Option<Item<Self>>), QueueError> {
        let (tried, store) = (&self.0.tried, &self.0.store);
        tried.load(store, webhook, now).await?;
        let Some(key) = row.predecessor_key() else {
            return Ok((Predecessor::Settled, None));
        };
        if let Some(first_attempt_at) = tried.at(webhook, row.transaction, now) {
            return Ok((Predecessor::Tried { first_attempt_at }, None));
        }
        let waiting = store.get(Table::Outbox, &key).await?;
        // An unreadable row is skipped; the scan of the queue logs it. Waiting for it would never
        // end.
        let first = waiting.and_then(|value| Row::read(&key, &value).ok());
        Ok(match first {
            Some(row) => {
                let (key, due) = (key.into(), row.due);
                (Predecessor::Unsent, Some(Found { key, due, row }))
            }
            None => (Predecessor::Settled, None),
        })
    }
}
