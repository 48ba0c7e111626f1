//! What all visits share in this process.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use switchyard_engine::ids::TransactionId;
use tokio::sync::Semaphore;
use url::Url;

use crate::operations::Draining;
use crate::state::ApiState;

/// Event streams at once. Each is a connection that stays open; beyond it pages ask for the status instead.
const STREAMS: usize = 10_000;

#[derive(Clone)]
pub struct Desk {
    pub api: ApiState,
    pub streams: Arc<Semaphore>,
    pub draining: Draining,
    /// Path of the public URL, without a slash at its end: most often empty.
    pub prefix: Arc<str>,
    /// Payers reach the service by https.
    pub https: bool,
    confirming: Arc<Mutex<BTreeSet<TransactionId>>>,
}

/// Held while one request confirms a payment: any other of this process sees that it is not alone.
pub struct Alone {
    id: TransactionId,
    confirming: Arc<Mutex<BTreeSet<TransactionId>>>,
}

impl Desk {
    pub fn new(api: ApiState, draining: Draining) -> Self {
        let public = Url::parse(&api.engine.settings.public_url).ok();
        let path = public.as_ref().map_or("", Url::path);
        Self {
            prefix: path.trim_end_matches('/').into(),
            https: public.is_some_and(|url| url.scheme() == "https"),
            api,
            draining,
            streams: Arc::new(Semaphore::new(STREAMS)),
            confirming: Arc::default(),
        }
    }

    /// `None`: another request is confirming this payment at this moment.
    pub fn alone(&self, id: TransactionId) -> Option<Alone> {
        let is_first = self
            .confirming
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id);
        is_first.then(|| Alone {
            id,
            confirming: Arc::clone(&self.confirming),
        })
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.confirming
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.id);
    }
}
