//! Watchers of a transaction: the checkout page, and verify while it waits for the provider.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::Transaction;

/// State that a watcher sees. It changes with each commit, with the end of each query and with each
/// verified callback, also with one that changes nothing.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// The transaction as this process last committed it since the first watcher came; durable.
    /// Another process may have changed it later.
    pub transaction: Option<Arc<Transaction>>,
    /// Number of queries that ended and of verified callbacks since the first watcher came. The end
    /// of a submission is not counted: a query that began after it would seem to have ended.
    pub answers: u64,
}

#[derive(Default)]
pub(crate) struct Watchers(Mutex<HashMap<TransactionId, Watched>>);

/// Each watcher has a channel of its own, so that they are woken in the order in which they came:
/// receivers of one channel are woken in any order.
#[derive(Default)]
struct Watched {
    live: Live,
    watchers: Vec<watch::Sender<Live>>,
}

impl Watchers {
    /// Size of the map from which transactions without a watcher are removed.
    const SWEEP_AT: usize = 1_024;

    pub(crate) fn watch(&self, id: TransactionId) -> watch::Receiver<Live> {
        let mut map = self.0.lock();
        if map.len() >= Self::SWEEP_AT && map.len().is_power_of_two() {
            map.retain(|_, watched| watched.is_watched());
        }
        let watched = map.entry(id).or_default();
        watched.is_watched(); // those who left make room
        let (sender, receiver) = watch::channel(watched.live.clone());
        watched.watchers.push(sender);
        receiver
    }

    pub(crate) fn committed(&self, after: &Arc<Transaction>) {
        self.update(after.id, |live| {
            // Two commits may come here in another order than they were made in.
            let latest = live.transaction.as_ref().map(|tx| tx.version);
            if latest.is_none_or(|version| version < after.version) {
                live.transaction = Some(after.clone());
            }
        });
    }

    pub(crate) fn answered(&self, id: TransactionId) {
        self.update(id, |live| live.answers += 1);
    }

    fn update(&self, id: TransactionId, change: impl FnOnce(&mut Live)) {
        let mut map = self.0.lock();
        let Some(watched) = map.get_mut(&id) else {
            return;
        };
        if !watched.is_watched() {
            map.remove(&id);
            return;
        }
        change(&mut watched.live);
        for watcher in &watched.watchers {
            watcher.send_replace(watched.live.clone());
        }
    }
}

impl Watched {
    fn is_watched(&mut self) -> bool {
        self.watchers.retain(|watcher| !watcher.is_closed());
        !self.watchers.is_empty()
    }
}
