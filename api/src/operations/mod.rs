//! Operations: liveness and readiness, metrics, log, shutdown.

mod disk;
mod first_values;
mod forwarded;
mod health;
pub mod logging;
pub mod meters;
pub mod metrics;
mod observed;
pub mod quota;
mod request;
mod shutdown;
#[cfg(test)]
mod tests;
pub mod traces;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusHandle;
use switchyard_engine::engine::Engine;

pub use disk::DiskReserve;
pub use forwarded::{CLIENT_ADDRESS, CLIENT_COUNTRY, Trust, identify};
pub use request::note_transaction;
pub use shutdown::{Draining, StopSignals};

/// State of the operations routes.
#[derive(Clone)]
pub struct Operations(Arc<Inner>);

struct Inner {
    engine: Engine,
    metrics: Option<PrometheusHandle>,
    metrics_open: bool,
    draining: Draining,
    surroundings: Surroundings,
}

/// Surroundings of the engine that health and metrics look at.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Folders whose free disk space is shown, each with its name in the metric.
    pub folders: Vec<(&'static str, PathBuf)>,
    /// Not ready while there are live connections and no gateway of any of them takes new attempts.
    pub requires_live_gateway: bool,
    /// Disk space that new transactions leave free; `None`: the store uses no disk.
    pub disk_reserve: Option<DiskReserve>,
}

impl Operations {
    /// `metrics`: where they are collected, `None` when they are switched off. `metrics_open`:
    /// whether they need no operator token.
    pub fn new(
        engine: Engine,
        metrics: Option<PrometheusHandle>,
        metrics_open: bool,
        draining: Draining,
        surroundings: Surroundings,
    ) -> Self {
        Self(Arc::new(Inner {
            engine,
            metrics,
            metrics_open,
            draining,
            surroundings,
        }))
    }

    /// `/healthz`, `/readyz` and, if there are any, `/metrics`.
    pub fn router<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        let metrics = match self.0.metrics {
            Some(_) => Router::new().route("/metrics", get(metrics::page)),
            None => Router::new(),
        };
        self.health().merge(metrics.with_state(self.clone()))
    }

    /// `/healthz` and `/readyz`.
    pub fn health<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        Router::new()
            .route("/healthz", get(health::live))
            .route("/readyz", get(health::ready))
            .with_state(self.clone())
    }
}
