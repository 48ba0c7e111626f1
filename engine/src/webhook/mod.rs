//! Webhooks: from the commit that causes the event to the receiver's 200.
//!
//! ```text
//! enqueue ──▶ outbox rows in the transaction's own commit, one queue for each webhook
//! nudge   ──▶ queue actor, round robin ──▶ attempt: sign, send, judge
//!                                      ──▶ one commit: row moved or deleted, attempt logged
//! ```
//!
//! Promises (P7): at-least-once delivery, none lost, the same `webhook-id` and the same bytes on
//! every attempt; a later event of a transaction is not sent before the earlier one was
//! acknowledged, gave up, or was first tried 3 s ago; only 200 is an acknowledgment, within 3 s in
//! all; no retry is early; a slow or dead receiver delays no other; every attempt is in the log;
//! requests reach only the receiver.
//!
//! The queues are in the store; memory holds windows on them. A lost nudge delays a webhook but
//! does not lose it: sweeps find the row.

mod erase;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod log;
mod missing;
mod outbox;
mod payload;
mod policy;
mod purge;
mod queue;
mod record;
mod release;
mod replay;
mod row;
mod sender;
mod signing;
#[cfg(test)]
mod tests;
mod tried;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use tokio::runtime::Handle;
use ulid::Ulid;

pub use self::erase::EraseError;
pub use self::log::{
    Attempt, Delivery, DeliveryChange, DeliveryStatus, LogError, Response, Timing,
};
pub use self::missing::MissedReplay;
pub use self::outbox::{Queued, enqueue};
pub use self::payload::{body, event_id};
pub use self::policy::WebhookSettings;
use self::queue::WebhookQueue;
use self::replay::ReplayGate;
pub use self::replay::{ReplayError, Replayed};
use self::sender::Sender;
pub use self::sender::SenderError;
pub use self::signing::{service_signature, standard_signature};
use self::tried::TriedEvents;
use crate::access::Access;
use crate::queue::{Queue, QueueContext, QueueSnapshot};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{DeliveryId, TransactionId, WebhookId};
use switchyard_core::limits::DELIVERY_ATTEMPTS_EXAMINED;
use switchyard_core::time::Timestamp;
use switchyard_store::Store;
use switchyard_system::clock::Clock;
use switchyard_system::egress::Resolver;
use switchyard_system::ids::Ids;

/// Handle to the webhook module. Clones share the state.
#[derive(Clone)]
pub struct Webhooks(Arc<Shared>);

/// Dependencies of the webhook module.
pub struct Dependencies {
    pub store: Store,
    pub access: Access,
    pub clock: Clock,
    pub ids: Ids,
    pub settings: WebhookSettings,
    pub names: Resolver,
}

/// State shared by the module's handles and the attempts.
struct Shared {
    store: Store,
    access: Access,
    clock: Clock,
    ids: Ids,
    settings: WebhookSettings,
    sender: Sender,
    queue: Queue<WebhookQueue>,
    tried: TriedEvents,
    replays: ReplayGate,
}

impl Webhooks {
    /// Starts the actor on `arbiter` and scans at once for unsent rows. Call it on the tokio
    /// runtime that is to send the requests.
    ///
    /// # Errors
    /// When the settings contain an invalid signature header name, or TLS cannot be set up.
    pub fn start(with: Dependencies, arbiter: &ArbiterHandle) -> Result<Self, SenderError> {
        let shared = Arc::new(Shared {
            sender: Sender::new(&with.settings, with.names)?,
            store: with.store,
            access: with.access,
            clock: with.clock,
            ids: with.ids,
            settings: with.settings,
            queue: Queue::default(),
            tried: TriedEvents::default(),
            replays: ReplayGate::default(),
        });
        let context = QueueContext {
            store: shared.store.clone(),
            clock: shared.clock.clone(),
            runtime: Handle::current(),
        };
        let handler = WebhookQueue(shared.clone());
        shared.queue.start(arbiter, context, handler);
        Ok(Self(shared))
    }

    /// Wakes the queue actor for new rows. Call it after the commit with the result of [`enqueue`].
    pub fn nudge(&self, targets: &[Queued]) {
        if targets.is_empty() {
            return;
        }
        let added = i64::try_from(targets.len()).unwrap_or(0);
        self.0.queue.depth_changed(added);
        self.0.wake(targets);
    }

    /// Snapshot of the queue actor; `None` when it has stopped.
    pub async fn snapshot(&self) -> Option<QueueSnapshot> {
        self.0.queue.snapshot().await
    }

    /// Starts no new requests and waits up to `grace` for those in flight. Unfinished ones are sent
    /// again after the next start, with the same id.
    pub async fn stop(&self, grace: Duration) {
        self.0.queue.stop(grace).await;
    }

    /// Attempts at one webhook, newest first, optionally only those before `before`.
    pub async fn attempts(
        &self,
        webhook: WebhookId,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<Attempt>, LogError> {
        log::attempts(&self.0.store, webhook, before, limit).await
    }

    /// Deliveries to one webhook that were tried or abandoned, newest first, optionally only those
    /// older than `before`.
    pub async fn deliveries(
        &self,
        webhook: WebhookId,
        before: Option<DeliveryId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, LogError> {
        log::deliveries(&self.0.store, webhook, before, limit).await
    }

    /// One delivery with its body; `None` when it does not exist or was not tried yet.
    pub async fn delivery(
        &self,
        webhook: WebhookId,
        id: DeliveryId,
    ) -> Result<Option<Delivery>, LogError> {
        log::delivery(&self.0.store, webhook, id).await
    }

    /// Attempts of one delivery, newest first. Of a very busy webhook, the oldest ones may be
    /// missing.
    pub async fn attempts_of(&self, delivery: &Delivery) -> Result<Vec<Attempt>, LogError> {
        log::attempts_of(&self.0.store, delivery, DELIVERY_ATTEMPTS_EXAMINED).await
    }

    /// Sends one delivery again with a full set of attempts, after any result.
    pub async fn replay(
        &self,
        webhook: WebhookId,
        id: DeliveryId,
    ) -> Result<Delivery, ReplayError> {
        self.0.replays.pass(webhook, self.0.clock.now())?;
        replay::replay(&self.0, webhook, id).await
    }

    /// Sends the deliveries again that failed at `since` or later. Call it again when there are
    /// more than one call replays.
    pub async fn replay_failed(
        &self,
        webhook: WebhookId,
        since: Timestamp,
    ) -> Result<Replayed, ReplayError> {
        self.0.replays.pass(webhook, self.0.clock.now())?;
        replay::replay_failed(&self.0, webhook, since).await
    }

    /// Sends the events from `since` on that this webhook never acknowledged: events from before it
    /// was created or while it was disabled, and failed ones. Call it again with
    /// [`MissedReplay::after`] when there are more.
    pub async fn replay_missing(
        &self,
        webhook: WebhookId,
        since: Timestamp,
        after: Option<TransactionId>,
    ) -> Result<MissedReplay, ReplayError> {
        self.0.replays.pass(webhook, self.0.clock.now())?;
        missing::replay_missing(&self.0, webhook, since, after).await
    }

    /// Ulids of the transactions with events that are still to be sent to a webhook.
    pub async fn waiting(&self, webhook: WebhookId) -> Result<BTreeSet<Ulid>, LogError> {
        erase::waiting(&self.0, webhook).await
    }

    /// Erases the description of the customer from the bodies that were sent to a webhook about
    /// these transactions, and the bodies of the responses.
    ///
    /// # Errors
    /// When the log cannot be read or written, or a delivery has changed. A part may be
    /// erased then.
    pub async fn erase_bodies(
        &self,
        of: (WebhookId, Environment),
        transactions: &BTreeSet<TransactionId>,
    ) -> Result<(), EraseError> {
        erase::erase_bodies(&self.0, of, transactions).await?;
        erase::erase_responses(&self.0, of, transactions).await
    }

    /// Deletes the log of sandbox deliveries before `before`, live attempts past the retention of
    /// the settings, and the whole log of deleted webhooks. Returns the number of deleted rows.
    pub async fn purge(&self, before: Timestamp) -> Result<u64, LogError> {
        purge::purge(&self.0, before).await
    }
}

impl Shared {
    fn wake(&self, targets: &[Queued]) {
        let rows = targets.iter().map(|queued| (queued.webhook, queued.due));
        self.queue.wake(rows);
    }
}
