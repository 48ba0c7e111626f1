//! Webhooks: from the commit that they tell of to the receiver's 200.
//!
//! ```text
//! enqueue ──▶ outbox rows, in the transaction's own commit, one queue for each webhook
//! nudge   ──▶ dispatcher (actor): whose turn is it? ──▶ attempt: sign, send, judge ──▶ one commit: row moved or gone, attempt logged
//! ```
//!
//! Promises (P7): at least once, none lost, the same `webhook-id` and the same bytes on every attempt; a later event of a transaction is
//! not sent before the earlier one was acknowledged, gave up, or was tried 3 s ago; 200 alone is an acknowledgment, within 3 s in all;
//! never a retry early; a slow or dead receiver delays nobody else; every attempt is in the log; nothing but the receiver is reached.
//!
//! Memory holds windows on the queues, the store the queues. A nudge that is lost costs time, not a webhook: sweeps find what waits.

mod actor;
mod dispatcher;
mod log;
mod outbox;
mod payload;
mod policy;
mod purge;
mod release;
mod replay;
mod row;
mod sender;
mod settle;
mod signing;
mod sweep;
mod target;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use actix::{Addr, ArbiterHandle};
use tokio::runtime::Handle;
use tokio::sync::watch;

use self::actor::WebhookActor;
pub use self::dispatcher::WebhookSnapshot;
pub use self::log::{Attempt, Delivery, DeliveryStatus, LogError, Response, Timing};
pub use self::outbox::{Queued, enqueue};
pub use self::payload::body;
pub use self::policy::WebhookSettings;
pub use self::replay::{ReplayError, Replayed};
use self::sender::Sender;
pub use self::sender::SenderError;
pub use self::signing::{service_signature, standard_signature};
use crate::access::Access;
use crate::clock::{Clock, Timestamp};
use crate::egress::Names;
use crate::ids::{DeliveryId, Ids, WebhookId};
use crate::store::Store;

/// A handle on the webhook room. Cloning gives another one.
#[derive(Clone)]
pub struct Webhooks(Arc<Shared>);

/// What the webhook room works with.
pub struct Equipment {
    pub store: Store,
    pub access: Access,
    pub clock: Clock,
    pub ids: Ids,
    pub settings: WebhookSettings,
    pub names: Names,
}

/// What the actor, its attempts and its sweeps have in common.
struct Shared {
    store: Store,
    access: Access,
    clock: Clock,
    ids: Ids,
    settings: WebhookSettings,
    sender: Sender,
    runtime: Handle,
    /// Who has something new to send, and since when it is due. Nudging twice is nudging once, so it is bounded by the number of webhooks.
    nudged: Mutex<BTreeMap<WebhookId, Timestamp>>,
    /// A look is in the actor's mailbox, and will take what is in `nudged`.
    is_told: AtomicBool,
    depth: AtomicI64,
    away: Arc<AtomicUsize>,
    stopping: watch::Sender<bool>,
    actor: OnceLock<Addr<WebhookActor>>,
}

impl Webhooks {
    /// Starts the actor on `arbiter`, and looks at once for what was left unsent. Call it on the tokio runtime that shall do the sending.
    ///
    /// # Errors
    /// When the settings name a signature header that is none, or TLS cannot be set up.
    pub fn start(with: Equipment, arbiter: &ArbiterHandle) -> Result<Self, SenderError> {
        let shared = Arc::new(Shared {
            sender: Sender::new(&with.settings, with.names)?,
            store: with.store,
            access: with.access,
            clock: with.clock,
            ids: with.ids,
            settings: with.settings,
            runtime: Handle::current(),
            nudged: Mutex::default(),
            is_told: AtomicBool::new(false),
            depth: AtomicI64::new(0),
            away: Arc::default(),
            stopping: watch::channel(false).0,
            actor: OnceLock::new(),
        });
        let address = actor::start(&shared, arbiter);
        let _ = shared.actor.set(address);
        Ok(Self(shared))
    }

    /// Says that these webhooks have something new in the outbox: what [`enqueue`] answered, after the commit.
    pub fn nudge(&self, targets: &[Queued]) {
        if targets.is_empty() {
            return;
        }
        let added = i64::try_from(targets.len()).unwrap_or(0);
        self.0.depth_changed(added);
        self.0.look_at(targets);
    }

    /// How the dispatcher is; `None` when it has stopped.
    pub async fn snapshot(&self) -> Option<WebhookSnapshot> {
        let actor = self.0.actor.get()?;
        actor.send(crate::actors::Snapshot::default()).await.ok()
    }

    /// Begins nothing new and waits for what is on its way, for so long at most. What did not come back is sent again after the next
    /// start, with the same id.
    pub async fn stop(&self, grace: Duration) {
        self.0.stopping.send_replace(true);
        let deadline = tokio::time::Instant::now() + grace;
        while self.0.away.load(Ordering::SeqCst) > 0 && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The attempts at one webhook, newest first; those before `before`, when that is given.
    pub async fn attempts(
        &self,
        webhook: WebhookId,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<Attempt>, LogError> {
        log::attempts(&self.0.store, webhook, before, limit).await
    }

    /// The deliveries to one webhook that were tried or given up, newest first; older ones than `before`, when that is given.
    pub async fn deliveries(
        &self,
        webhook: WebhookId,
        before: Option<DeliveryId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, LogError> {
        log::deliveries(&self.0.store, webhook, before, limit).await
    }

    /// One delivery, with its body; `None` when it was not tried yet, or is not there.
    pub async fn delivery(
        &self,
        webhook: WebhookId,
        id: DeliveryId,
    ) -> Result<Option<Delivery>, LogError> {
        log::delivery(&self.0.store, webhook, id).await
    }

    /// Sends one delivery anew, with all its attempts before it, whatever became of it.
    pub async fn replay(
        &self,
        webhook: WebhookId,
        id: DeliveryId,
    ) -> Result<Delivery, ReplayError> {
        replay::replay(&self.0, webhook, id).await
    }

    /// Sends anew what failed at `since` or later. Asked again when there was more than one call replays.
    pub async fn replay_failed(
        &self,
        webhook: WebhookId,
        since: Timestamp,
    ) -> Result<Replayed, ReplayError> {
        replay::replay_failed(&self.0, webhook, since).await
    }

    /// Deletes what the log has of sandbox deliveries before `before`, and of webhooks that are gone. Says how many rows went.
    pub async fn purge(&self, before: Timestamp) -> Result<u64, LogError> {
        purge::purge(&self.0, before).await
    }
}

impl Shared {
    fn look_at(&self, targets: &[Queued]) {
        let mut nudged = self.nudged.lock().unwrap_or_else(PoisonError::into_inner);
        for queued in targets {
            let due = nudged.entry(queued.webhook).or_insert(queued.due);
            *due = queued.due.min(*due);
        }
        drop(nudged);
        if let Some(actor) = self.actor.get()
            && !self.is_told.swap(true, Ordering::SeqCst)
        {
            actor.do_send(actor::Tell(dispatcher::News::Look));
        }
    }

    fn take_nudged(&self) -> BTreeMap<WebhookId, Timestamp> {
        self.is_told.store(false, Ordering::SeqCst);
        std::mem::take(&mut *self.nudged.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn depth_changed(&self, by: i64) {
        let depth = self.depth.fetch_add(by, Ordering::Relaxed) + by;
        show_depth(depth);
    }

    fn set_depth(&self, depth: i64) {
        self.depth.store(depth, Ordering::Relaxed);
        show_depth(depth);
    }

    /// Counts an attempt as on its way until the answer is dropped.
    fn away(&self) -> Away {
        self.away.fetch_add(1, Ordering::SeqCst);
        Away(self.away.clone())
    }

    fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }
}

struct Away(Arc<AtomicUsize>);

impl Drop for Away {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn show_depth(depth: i64) {
    // A count of rows is far below 2^53, where floats begin to skip.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a gauge is a float, and a queue is not that long"
    )]
    metrics::gauge!("switchyard_outbox_depth", "kind" => "webhook").set(depth.max(0) as f64);
}
