//! `GET /healthz`: the process answers. `GET /readyz`: it can take payments: the store writes and no
//! damage of it is known, a gateway can serve live, and it was not told to stop.
//!
//! A disk below its reserve is reported and leaves the server ready. No other machine has its
//! transactions: without traffic, payers could not finish and callbacks would be lost, and the
//! reserve is kept for them.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};
use switchyard_engine::access::KeyKind;
use switchyard_engine::engine::Engine;
use switchyard_engine::environment::Environment;

use super::Operations;

pub async fn live() -> Json<Value> {
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

pub async fn ready(State(operations): State<Operations>) -> (StatusCode, Json<Value>) {
    let checks = Checks::of(&operations);
    let (status, word) = match checks.are_passed() {
        true => (StatusCode::OK, "ready"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "not ready"),
    };
    let held = operations.0.engine.hold.is_held();
    (
        status,
        Json(json!({ "status": word, "held": held, "checks": checks })),
    )
}

/// Results of the checks of `/readyz`: [`OK`] or the reason.
#[derive(serde::Serialize)]
pub(super) struct Checks {
    store: &'static str,
    gateways: &'static str,
    shutdown: &'static str,
    /// A reason here leaves the server ready: no other one could finish the open transactions.
    disk: &'static str,
}

impl Checks {
    pub(super) fn of(operations: &Operations) -> Self {
        let inner = &operations.0;
        let store = match inner.engine.store.stats() {
            store if !store.available => "cannot write",
            store if store.damaged => "damaged: run `switchyard store check`, and restore a backup",
            _ => OK,
        };
        let gateways = !inner.surroundings.requires_live_gateway || can_serve_live(&inner.engine);
        let reserve = inner.surroundings.disk_reserve.as_ref();
        let is_short = reserve.is_some_and(|reserve| reserve.refuses(KeyKind::Secret));
        Self {
            store,
            gateways: match gateways {
                true => OK,
                false => "no gateway of a live connection can serve",
            },
            shutdown: match inner.draining.has_begun() {
                true => "has begun",
                false => OK,
            },
            disk: match is_short {
                true => DISK_IS_SHORT,
                false => OK,
            },
        }
    }

    pub(super) fn are_passed(&self) -> bool {
        [self.store, self.gateways, self.shutdown]
            .iter()
            .all(|check| *check == OK)
    }
}

const OK: &str = "ok";
const DISK_IS_SHORT: &str =
    "less than store.reserve is free: new payments and payouts are refused, open ones go on";

/// Whether the gateway of some live connection takes new attempts. A new installation has no live
/// connection: nothing is missing then.
fn can_serve_live(engine: &Engine) -> bool {
    let takes_new = |gateway: &str| {
        let version = engine.gateways.current(gateway);
        version.is_some_and(|version| !version.is_in_quarantine() && !version.is_draining())
    };
    let mut has_connection = false;
    for app in engine.access.apps(None) {
        if !app.is_enabled {
            continue;
        }
        for connection in engine.access.connections(app.id, Environment::Live) {
            if connection.is_enabled && takes_new(&connection.gateway) {
                return true;
            }
            has_connection |= connection.is_enabled;
        }
    }
    !has_connection
}
