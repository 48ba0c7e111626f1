//! Hashes that may come without a question. Those of the settings are not among them.

use axum::extract::State;
use serde::Deserialize;

use super::super::error::Answer;
use super::super::input::{Body, created, done, ok};
use super::super::view::shown;
use super::{Asking, Name, by};
use crate::state::ApiState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct New {
    sha256: String,
}

pub async fn list(State(state): State<ApiState>) -> Answer {
    let pins = state.engine.gateways.pins();
    ok("Pins fetched successfully", &shown(&pins))
}

pub async fn create(State(state): State<ApiState>, asking: Asking, Body(new): Body<New>) -> Answer {
    let pin = state
        .engine
        .gateways
        .pin(&new.sha256, &by(&asking, None))
        .await?;
    created("Hash pinned successfully", &shown(&pin))
}

pub async fn remove(State(state): State<ApiState>, asking: Asking, Name(sha256): Name) -> Answer {
    state
        .engine
        .gateways
        .unpin(&sha256, &by(&asking, None))
        .await?;
    done("Pin deleted successfully")
}
