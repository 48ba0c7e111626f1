//! The version before comes back, or the one that is named by the beginning of its hash.

use axum::extract::State;

use super::super::contract::gateways::{Gateway, VersionChange};
use super::super::error::Answer;
use super::super::input::{Body, ok};
use super::{Asking, Name, by, view};
use crate::openapi::Success;
use crate::state::ApiState;

/// Activate the previous version, or another one
#[utoipa::path(
    post,
    path = "/gateways/{gateway}/rollback",
    operation_id = "rollBackGateway",
    tag = "Gateways",
    request_body = VersionChange,
    responses((status = 200, description = "The gateway.", body = Success<Gateway>)),
)]
pub async fn roll_back(
    State(state): State<ApiState>,
    asking: Asking,
    Name(name): Name,
    Body(change): Body<VersionChange>,
) -> Answer {
    let by = by(&asking, change.why.as_deref());
    let overview = state
        .engine()
        .gateways()
        .roll_back(&name, change.version.as_deref(), &by)
        .await?;
    ok("Gateway rolled back successfully", &view::shown(&overview))
}
