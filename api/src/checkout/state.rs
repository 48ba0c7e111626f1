//! State that all checkout requests share.

use std::collections::BTreeSet;
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

struct Inner {
    api: ApiState,
    streams: Streams,
    draining: Draining,
    prefix: String,
    is_https: bool,
    confirming: Mutex<BTreeSet<TransactionId>>,
}

/// Held while one request confirms a payment: any other of this process sees that it is not alone.
pub struct ConfirmLock {
    id: TransactionId,
    state: CheckoutState,
}

impl CheckoutState {
    pub fn new(api: ApiState, draining: Draining) -> Self {
        let public = Url::parse(&api.engine().settings().public_url).ok();
        let path = public.as_ref().map_or("", Url::path);
        Self(Arc::new(Inner {
            prefix: path.trim_end_matches('/').to_owned(),
            is_https: public.is_some_and(|url| url.scheme() == "https"),
            streams: Streams::new(api.settings().streams),
            api,
            draining,
            confirming: Mutex::default(),
        }))
    }

    pub fn api(&self) -> &ApiState {
        &self.0.api
    }

    pub fn streams(&self) -> &Streams {
        &self.0.streams
    }

    pub fn draining(&self) -> &Draining {
        &self.0.draining
    }

    /// Path of the public URL, without a slash at its end: most often empty.
    pub fn prefix(&self) -> &str {
        &self.0.prefix
    }

    /// Payers reach the service by https.
    pub fn is_https(&self) -> bool {
        self.0.is_https
    }

    /// `None`: another request is confirming this payment at this moment.
    pub fn try_lock(&self, id: TransactionId) -> Option<ConfirmLock> {
        let is_first = self.0.confirming.lock().insert(id);
        is_first.then(|| ConfirmLock {
            id,
            state: self.clone(),
        })
    }
}

impl Drop for ConfirmLock {
    fn drop(&mut self) {
        self.state.0.confirming.lock().remove(&self.id);
    }
}
