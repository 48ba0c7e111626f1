//! `GET /healthz`: the process answers. `GET /readyz`: it can take payments: the store writes and
//! no damage of it is known, a gateway can serve live, and it was not told to stop.
//!
//! A disk below its reserve is reported and leaves the server ready. No other machine has its
//! transactions: without traffic, payers could not finish and callbacks would be lost, and the
//! reserve is kept for them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};
use switchyard_core::environment::Environment;
use switchyard_engine::access::KeyKind;
use switchyard_engine::engine::Engine;

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
    let held = operations.0.engine.hold().is_held();
    (
        status,
        Json(json!({ "status": word, "held": held, "checks": checks })),
    )
}

/// Results of the checks of `/readyz`: [`OK`] or the reason.
#[derive(serde::Serialize)]
pub(super) struct Checks {
    store: &'static str,
    /// Names of gateways that are not loaded leave the server ready while another one can serve.
    gateways: Cow<'static, str>,
    #[serde(skip)]
    can_serve: bool,
    shutdown: &'static str,
    /// A reason here leaves the server ready: no other one could finish the open transactions.
    disk: &'static str,
}

impl Checks {
    pub(super) fn of(operations: &Operations) -> Self {
        let inner = &operations.0;
        let store = match inner.engine.store().stats() {
            store if !store.available => "cannot write",
            store if store.damaged => "damaged: run `switchyard store check`, and restore a backup",
            _ => OK,
        };
        let can_serve = !inner.surroundings.requires_live_gateway || can_serve_live(&inner.engine);
        let reserve = inner.surroundings.disk_reserve.as_ref();
        let is_short = reserve.is_some_and(|reserve| reserve.refuses(KeyKind::Secret));
        Self {
            store,
            gateways: gateways(can_serve, &not_loaded(&inner.engine)),
            can_serve,
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
        self.can_serve && [self.store, self.shutdown].iter().all(|check| *check == OK)
    }
}

const OK: &str = "ok";
const NONE_SERVES: &str = "no gateway of a live connection can serve";
const DISK_IS_SHORT: &str =
    "less than store.reserve is free: new payments and payouts are refused, open ones go on";

/// Result of the check of the gateways.
fn gateways(can_serve: bool, not_loaded: &BTreeSet<String>) -> Cow<'static, str> {
    let names: Vec<&str> = not_loaded.iter().map(String::as_str).collect();
    let names = names.join(", ");
    match (can_serve, names.is_empty()) {
        (true, true) => OK.into(),
        (true, false) => format!("not loaded: {names}").into(),
        (false, true) => NONE_SERVES.into(),
        (false, false) => format!("{NONE_SERVES}; not loaded: {names}").into(),
    }
}

/// Names of gateways that enabled connections use and that are not loaded.
fn not_loaded(engine: &Engine) -> BTreeSet<String> {
    let apps = engine.access().apps(None);
    let apps = apps.iter().filter(|app| app.is_enabled);
    let connections = apps.flat_map(|app| {
        let of = |environment| engine.access().connections(app.id, environment);
        Environment::ALL.into_iter().flat_map(of)
    });
    let enabled = connections.filter(|connection| connection.is_enabled);
    let names = enabled.map(|connection| connection.gateway.clone());
    names
        .filter(|name| engine.gateways().current(name).is_none())
        .collect()
}

/// Whether the gateway of some live connection takes new attempts. A new installation has no live
/// connection: nothing is missing then.
fn can_serve_live(engine: &Engine) -> bool {
    let takes_new = |gateway: &str| {
        let version = engine.gateways().current(gateway);
        version.is_some_and(|version| !version.is_in_quarantine() && !version.is_draining())
    };
    let mut has_connection = false;
    for app in engine.access().apps(None) {
        if !app.is_enabled {
            continue;
        }
        for connection in engine.access().connections(app.id, Environment::Live) {
            if connection.is_enabled && takes_new(&connection.gateway) {
                return true;
            }
            has_connection |= connection.is_enabled;
        }
    }
    !has_connection
}
