//! Who waits for news of a transaction: the checkout page, and verify while it waits for the provider.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use crate::ids::TransactionId;

/// What a watcher sees. It changes with each commit and with each answer of the provider, news or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// The transaction's latest version that this process committed; 0 before the first.
    pub version: u64,
    /// Answers from gateways so far, since somebody began to watch.
    pub answers: u64,
}

#[derive(Default)]
pub(crate) struct Watchers(Mutex<HashMap<TransactionId, Watched>>);

/// Each watcher has a channel of its own, so that they are woken in the order in which they came: those of one channel wake by chance.
#[derive(Default)]
struct Watched {
    live: Live,
    watchers: Vec<watch::Sender<Live>>,
}

impl Watchers {
    /// Transactions in the map beyond which those that nobody watches any more are swept out.
    const SWEEP_AT: usize = 1_024;

    pub(crate) fn watch(&self, id: TransactionId) -> watch::Receiver<Live> {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if map.len() >= Self::SWEEP_AT && map.len().is_power_of_two() {
            map.retain(|_, watched| watched.is_watched());
        }
        let watched = map.entry(id).or_default();
        watched.is_watched(); // those who left make room
        let (sender, receiver) = watch::channel(watched.live);
        watched.watchers.push(sender);
        receiver
    }

    pub(crate) fn committed(&self, id: TransactionId, version: u64) {
        self.tell(id, |live| live.version = version);
    }

    pub(crate) fn answered(&self, id: TransactionId) {
        self.tell(id, |live| live.answers += 1);
    }

    fn tell(&self, id: TransactionId, change: impl FnOnce(&mut Live)) {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(watched) = map.get_mut(&id) else {
            return;
        };
        if !watched.is_watched() {
            map.remove(&id);
            return;
        }
        change(&mut watched.live);
        for watcher in &watched.watchers {
            watcher.send_replace(watched.live);
        }
    }
}

impl Watched {
    fn is_watched(&mut self) -> bool {
        self.watchers.retain(|watcher| !watcher.is_closed());
        !self.watchers.is_empty()
    }
}
