//! First events that were tried recently and not acknowledged: later events of their transactions
//! wait a while for them.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::log::{self, LogError};
use super::payload;
use super::policy::ORDER_WAIT;
use crate::clock::Timestamp;
use crate::ids::{TransactionId, WebhookId};
use crate::store::Store;

/// Start of the first attempt at each first event of the last [`ORDER_WAIT`] that was not
/// acknowledged.
#[derive(Default)]
pub(super) struct TriedEvents(Mutex<BTreeMap<WebhookId, TriedAt>>);

#[derive(Default)]
struct TriedAt {
    at: BTreeMap<TransactionId, Timestamp>,
    /// Whether the events that an earlier process tried are included.
    is_loaded: bool,
}

impl TriedEvents {
    /// Records an attempt that began at `began`, as in the log. The time at which the row was taken
    /// is too early on a busy machine.
    pub fn add(&self, webhook: WebhookId, transaction: TransactionId, began: Timestamp) {
        let mut tried = self.0.lock();
        let events = tried.entry(webhook).or_default();
        events.at.retain(|_, at| began.since(*at) < ORDER_WAIT);
        events.at.insert(transaction, began);
    }

    /// Start of the first attempt at the first event of a transaction.
    pub async fn at(
        &self,
        store: &Store,
        webhook: WebhookId,
        transaction: TransactionId,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, LogError> {
        let is_loaded = self.0.lock().entry(webhook).or_default().is_loaded;
        if !is_loaded {
            let since = now.minus(ORDER_WAIT);
            let attempts = log::attempts_since(store, webhook, since, TRIED_AT_START).await?;
            let mut tried = self.0.lock();
            let events = tried.entry(webhook).or_default();
            events.is_loaded = true;
            for attempt in attempts {
                let is_first = attempt.number == 1 && payload::sequence(attempt.name) == 1;
                if is_first && !attempt.acknowledged {
                    events.at.insert(attempt.transaction, attempt.at);
                }
            }
        }
        let tried = self.0.lock();
        let at = tried
            .get(&webhook)
            .and_then(|events| events.at.get(&transaction));
        Ok(at.copied().filter(|at| now.since(*at) < ORDER_WAIT))
    }
}

/// Maximum number of recent attempts that are read at the first look at a queue after a start.
const TRIED_AT_START: usize = 200;
