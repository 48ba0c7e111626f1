//! Files of the operator's folder, and the approval of one that awaits consent.

use axum::extract::State;
use serde_json::Value;

use super::super::error::Answer;
use super::super::input::{Body, ok};
use super::{Asking, Name, Said, by, taken, view};
use crate::state::ApiState;

pub async fn list(State(state): State<ApiState>) -> Answer {
    let files = state.engine.gateways.folder_files();
    let views: Vec<Value> = files.iter().map(view::file).collect();
    ok("Files fetched successfully", &views)
}

pub async fn accept(
    State(state): State<ApiState>,
    asking: Asking,
    Name(sha256): Name,
    Body(said): Body<Said>,
) -> Answer {
    let gateways = &state.engine.gateways;
    let by = by(&asking, said.why.as_deref());
    let added = gateways.accept(&sha256, &by).await;
    taken(&state, added).await
}
