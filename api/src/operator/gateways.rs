//! The gateways that are loaded.

use axum::extract::State;
use serde_json::{Value, json};
use switchyard_engine::gateway::Version;

use super::error::Answer;
use super::input::ok;
use crate::state::ApiState;

pub async fn list(State(state): State<ApiState>) -> Answer {
    let versions = state.engine.gateways.list();
    let views: Vec<Value> = versions.iter().map(|version| view(version)).collect();
    ok("Gateways fetched successfully", &views)
}

fn view(version: &Version) -> Value {
    let manifest = &version.manifest;
    json!({
        "name": manifest.name,
        "title": manifest.title,
        "description": manifest.description,
        "version": manifest.version,
        "sha256": version.sha256,
        "is_suspended": version.is_suspended(),
        "serves_any_method": manifest.any_method,
        "methods": manifest.methods,
        "operations": manifest.operations,
        "hosts": manifest.hosts,
        "config": manifest.config,
    })
}
