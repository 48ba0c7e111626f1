//! All gateways that were ever taken on.

use axum::extract::State;
use serde_json::Value;

use super::super::error::Answer;
use super::super::input::ok;
use super::view;
use crate::state::ApiState;

pub async fn list(State(state): State<ApiState>) -> Answer {
    let overviews = state.engine.gateways.overviews().await?;
    let views: Vec<Value> = overviews.iter().map(view::listed).collect();
    ok("Gateways fetched successfully", &views)
}
