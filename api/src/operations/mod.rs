//! What keeps the program running and seen: liveness and readiness, metrics, the log, and an orderly end.

mod forwarded;
mod health;
pub mod logging;
pub mod meters;
pub mod metrics;
mod request;
mod shutdown;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusHandle;
use switchyard_engine::engine::Engine;

pub use forwarded::{CLIENT_ADDRESS, CLIENT_COUNTRY, Trust, identify};
pub use request::note_transaction;
pub use shutdown::{Draining, StopSignals};

/// What the pages of this room look at.
#[derive(Clone)]
pub struct Operations(Arc<Inner>);

struct Inner {
    engine: Engine,
    metrics: Option<PrometheusHandle>,
    metrics_open: bool,
    draining: Draining,
}

impl Operations {
    /// `metrics`: where they are collected, `None` when they are switched off. `metrics_open`: whether they need no operator token.
    pub fn new(
        engine: Engine,
        metrics: Option<PrometheusHandle>,
        metrics_open: bool,
        draining: Draining,
    ) -> Self {
        Self(Arc::new(Inner {
            engine,
            metrics,
            metrics_open,
            draining,
        }))
    }

    /// `/healthz`, `/readyz` and, if there are any, `/metrics`.
    pub fn router<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        let mut router = Router::new()
            .route("/healthz", get(health::live))
            .route("/readyz", get(health::ready));
        if self.0.metrics.is_some() {
            router = router.route("/metrics", get(metrics::page));
        }
        router.with_state(self.clone())
    }
}
