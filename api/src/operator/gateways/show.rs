//! Gateway with its versions, their open attempts, and its history.

use axum::extract::State;

use super::super::error::Answer;
use super::super::input::ok;
use super::{Name, view};
use crate::state::ApiState;

pub async fn show(State(state): State<ApiState>, Name(name): Name) -> Answer {
    let overview = state.engine.gateways.overview(&name).await?;
    ok("Gateway fetched successfully", &view::shown(&overview))
}
