//! Brings a gateway back from quarantine, a drain or a removal.

use axum::extract::State;

use super::super::contract::gateways::{Gateway, VersionChange};
use super::super::error::Answer;
use super::super::input::{Body, ok};
use super::{Asking, Name, by, view};
use crate::openapi::Success;
use crate::state::ApiState;

/// End a quarantine, drain or removal
#[utoipa::path(
    post,
    path = "/gateways/{gateway}/restore",
    operation_id = "restoreGateway",
    tag = "Gateways",
    request_body = VersionChange,
    responses((status = 200, description = "The gateway.", body = Success<Gateway>)),
)]
pub async fn restore(
    State(state): State<ApiState>,
    asking: Asking,
    Name(name): Name,
    Body(change): Body<VersionChange>,
) -> Answer {
    let by = by(&asking, change.why.as_deref());
    let overview = state
        .engine()
        .gateways()
        .restore(&name, change.version.as_deref(), &by)
        .await?;
    ok("Gateway restored successfully", &view::shown(&overview))
}
