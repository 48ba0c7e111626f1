//! `GET /healthz`: the process answers. `GET /readyz`: it can take payments: the store writes, and nobody has told it to stop.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::Operations;

pub async fn live() -> Json<Value> {
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

pub async fn ready(State(operations): State<Operations>) -> (StatusCode, Json<Value>) {
    let inner = &operations.0;
    let store = inner.engine.store.stats().available;
    let stopping = inner.draining.has_begun();
    let (status, word) = if store && !stopping {
        (StatusCode::OK, "ready")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready")
    };
    let checks = json!({
        "store": if store { "ok" } else { "cannot write" },
        "shutdown": if stopping { "has begun" } else { "ok" },
    });
    (status, Json(json!({ "status": word, "checks": checks })))
}
