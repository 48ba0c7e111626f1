//! First events that were tried recently and not acknowledged: later events of their transactions
//! wait a while for them.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::log::{self, Attempt, LogError};
use super::payload;
use super::policy::ORDER_WAIT;
use switchyard_core::ids::{TransactionId, WebhookId};
use switchyard_core::time::Timestamp;
use switchyard_store::Store;

/// Start of the first attempt at each first event of the last [`ORDER_WAIT`] that was not
/// acknowledged, for each webhook whose log was loaded.
#[derive(Default)]
pub(super) struct TriedEvents(Mutex<BTreeMap<WebhookId, TriedAt>>);

type TriedAt = BTreeMap<TransactionId, Timestamp>;

impl TriedEvents {
    /// Records an attempt that began at `began`, as in the log. The time at which the row was taken
    /// is too early on a busy machine.
    pub fn add(&self, webhook: WebhookId, transaction: TransactionId, began: Timestamp) {
        let mut tried = self.0.lock();
        let events = tried.entry(webhook).or_default();
        events.retain(|_, at| began.since(*at) < ORDER_WAIT);
        events.insert(transaction, began);
    }

    /// Loads the events that an earlier process tried. Call it before the first attempt of this
    /// process: an event that failed counts as tried in the log, but is not waited for.
    pub async fn load(
        &self,
        store: &Store,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<(), LogError> {
        if self.0.lock().contains_key(&webhook) {
            return Ok(());
        }
        let since = now.minus(ORDER_WAIT);
        let attempts = log::attempts_since(store, webhook, since, TRIED_AT_START).await?;
        let is_tried = |attempt: &Attempt| {
            attempt.number == 1 && payload::sequence(attempt.name) == 1 && !attempt.acknowledged
        };
        let tried = attempts.into_iter().filter(is_tried);
        let tried = tried.map(|attempt| (attempt.transaction, attempt.at));
        self.0.lock().insert(webhook, tried.collect());
        Ok(())
    }

    /// Start of the first attempt at the first event of a transaction.
    pub fn at(
        &self,
        webhook: WebhookId,
        transaction: TransactionId,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let at = *self.0.lock().get(&webhook)?.get(&transaction)?;
        (now.since(at) < ORDER_WAIT).then_some(at)
    }
}

/// Maximum number of recent attempts that are read at the first scan of a queue after a start.
const TRIED_AT_START: usize = 200;
