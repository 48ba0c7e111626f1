//! State that all checkout requests share.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use parking_lot::Mutex;
use switchyard_core::ids::TransactionId;
use url::Url;

use super::streams::Streams;
use crate::operations::Draining;
use crate::state::ApiState;

/// A handle, cloned with every route and layer for every request: one counter, not one for each
/// part.
#[derive(Clone)]
pub struct CheckoutState(Arc<Inner>);

/// Fields of the state.
pub struct Inner {
    pub api: ApiState,
    pub streams: Streams,
    pub draining: Draining,
    /// Path of the public URL, without a slash at its end: most often empty.
    pub prefix: String,
    /// Payers reach the service by https.
    pub https: bool,
    confirming: Mutex<BTreeSet<TransactionId>>,
}

/// Held while one request confirms a payment: any other of this process sees that it is not alone.
pub struct ConfirmLock {
    id: TransactionId,
    state: CheckoutState,
}

impl Deref for CheckoutState {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl CheckoutState {
    pub fn new(api: ApiState, draining: Draining) -> Self {
        let public = Url::parse(&api.engine.settings().public_url).ok();
        let path = public.as_ref().map_or("", Url::path);
        Self(Arc::new(Inner {
            prefix: path.trim_end_matches('/').to_owned(),
            https: public.is_some_and(|url| url.scheme() == "https"),
            streams: Streams::new(api.settings.streams),
            api,
            draining,
            confirming: Mutex::default(),
        }))
    }

    /// `None`: another request is confirming this payment at this moment.
    pub fn alone(&self, id: TransactionId) -> Option<ConfirmLock> {
        let is_first = self.confirming.lock().insert(id);
        is_first.then(|| ConfirmLock {
            id,
            state: self.clone(),
        })
    }
}

impl Drop for ConfirmLock {
    fn drop(&mut self) {
        self.state.confirming.lock().remove(&self.id);
    }
}
