//! The gateways that are loaded.

use axum::extract::State;
use serde_json::{Value, json};

use super::error::Answer;
use super::input::ok;
use crate::state::ApiState;

pub async fn list(State(state): State<ApiState>) -> Answer {
    let versions = state.engine.gateways.list();
    let views: Vec<Value> = versions
        .iter()
        .map(|version| {
            let manifest = &version.manifest;
            json!({ "name": manifest.name, "title": manifest.title, "sha256": version.sha256 })
        })
        .collect();
    ok("Gateways fetched successfully", &views)
}
