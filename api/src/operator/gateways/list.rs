//! List of all gateways that were ever installed.

use axum::extract::State;

use super::super::contract::gateways::GatewaySummary;
use super::super::error::Answer;
use super::super::input::ok;
use super::view;
use crate::openapi::Success;
use crate::state::ApiState;

/// List gateways
///
/// With their state, methods and configuration schema.
#[utoipa::path(
    get,
    path = "/gateways",
    operation_id = "listGateways",
    tag = "Gateways",
    responses((status = 200, description = "Gateways.", body = Success<Vec<GatewaySummary>>)),
)]
pub async fn list(State(state): State<ApiState>) -> Answer {
    let overviews = state.engine().gateways().overviews().await?;
    let views: Vec<_> = overviews.iter().map(view::listed).collect();
    ok("Gateways fetched successfully", &views)
}
