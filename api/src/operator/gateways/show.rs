//! Gateway with its versions, their open attempts, and its history.

use axum::extract::State;

use super::super::contract::gateways::Gateway;
use super::super::error::Answer;
use super::super::input::ok;
use super::{Name, view};
use crate::openapi::Success;
use crate::state::ApiState;

/// Retrieve a gateway
///
/// With its versions, the open attempts of each, and its changes.
#[utoipa::path(
    get,
    path = "/gateways/{gateway}",
    operation_id = "retrieveGateway",
    tag = "Gateways",
    responses((status = 200, description = "The gateway.", body = Success<Gateway>)),
)]
pub async fn show(State(state): State<ApiState>, Name(name): Name) -> Answer {
    let overview = state.engine().gateways().overview(&name).await?;
    ok("Gateway fetched successfully", &view::shown(&overview))
}
