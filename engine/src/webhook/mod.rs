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

mod dispatcher;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod log;
mod missing;
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
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use actix::ArbiterHandle;
use tokio::runtime::Handle;
use tokio::sync::watch;

use self::dispatcher::Dispatcher;
pub use self::dispatcher::WebhookSnapshot;
pub use self::log::{Attempt, Delivery, DeliveryStatus, LogError, Response, Timing};
pub use self::missing::CaughtUp;
pub use self::outbox::{Queued, enqueue};
pub use self::payload::{body, event_id};
pub use self::policy::WebhookSettings;
use self::replay::ReplayGate;
pub use self::replay::{ReplayError, Replayed};
use self::sender::Sender;
pub use self::sender::SenderError;
pub use self::signing::{service_signature, standard_signature};
use crate::access::Access;
use crate::actors::{Away, Door, Setting, start_desk};
use crate::clock::{Clock, Timestamp};
use crate::egress::Names;
use crate::ids::{DeliveryId, Ids, TransactionId, WebhookId};
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
    away: Away,
    stopping: watch::Sender<bool>,
    replays: ReplayGate,
    desk: OnceLock<Door<Dispatcher>>,
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
            away: Away::default(),
            stopping: watch::channel(false).0,
            replays: ReplayGate::default(),
            desk: OnceLock::new(),
        });
        let setting = Setting {
            arbiter,
            clock: shared.clock.clone(),
            stopping: shared.stopping.subscribe(),
        };
        let for_desk = shared.clone();
        let desk = start_desk(setting, move |door| Dispatcher::new(for_desk, door));
        shared
            .runtime
            .spawn(sweep::sweep_on(shared.clone(), desk.clone()));
        let _ = shared.desk.set(desk);
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
        self.0.desk.get()?.snapshot().await
    }

    /// Begins nothing new and waits for what is on its way, for so long at most. What did not come back is sent again after the next
    /// start, with the same id.
    pub async fn stop(&self, grace: Duration) {
        self.0.stopping.send_replace(true);
        self.0.away.all_back(grace).await;
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
        self.0.replays.pass(webhook, self.0.clock.now())?;
        replay::replay(&self.0, webhook, id).await
    }

    /// Sends anew what failed at `since` or later. Asked again when there was more than one call replays.
    pub async fn replay_failed(
        &self,
        webhook: WebhookId,
        since: Timestamp,
    ) -> Result<Replayed, ReplayError> {
        self.0.replays.pass(webhook, self.0.clock.now())?;
        replay::replay_failed(&self.0, webhook, since).await
    }

    /// Sends what happened at `since` or later and this webhook never acknowledged: events from before it was made or while it was off,
    /// and those that failed. Asked again with what [`CaughtUp::after`] says when there is more.
    pub async fn replay_missing(
        &self,
        webhook: WebhookId,
        since: Timestamp,
        after: Option<TransactionId>,
    ) -> Result<CaughtUp, ReplayError> {
        self.0.replays.pass(webhook, self.0.clock.now())?;
        missing::replay_missing(&self.0, webhook, since, after).await
    }

    /// Deletes what the log has of sandbox deliveries before `before`, live attempts that are older than the settings keep them, and all of
    /// webhooks that are gone. Says how many rows went.
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
        if let Some(desk) = self.desk.get()
            && !self.is_told.swap(true, Ordering::SeqCst)
        {
            desk.look();
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

    fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
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
