//! Decision of a second operator about an upgrade.

use axum::extract::State;

use super::super::contract::gateways::{Approval, Gateway};
use super::super::error::Answer;
use super::super::input::{Body, ok};
use super::{Asking, Name, by, view};
use crate::openapi::Success;
use crate::state::ApiState;

/// Approve an upgrade as the second operator
///
/// Refused for a token of the same origin as one that uploaded the file or consented to it.
#[utoipa::path(
    post,
    path = "/gateways/{gateway}/approve",
    operation_id = "approveGateway",
    tag = "Gateways",
    request_body = Approval,
    responses((status = 200, description = "The gateway.", body = Success<Gateway>)),
)]
pub async fn approve(
    State(state): State<ApiState>,
    asking: Asking,
    Name(name): Name,
    Body(named): Body<Approval>,
) -> Answer {
    let by = by(&asking, named.why.as_deref());
    let gateways = state.engine().gateways();
    let overview = gateways.approve(&name, &named.sha256, &by).await?;
    ok("Gateway approved successfully", &view::shown(&overview))
}

/// Reject an upgrade that awaits approval
#[utoipa::path(
    post,
    path = "/gateways/{gateway}/reject",
    operation_id = "rejectGateway",
    tag = "Gateways",
    request_body = Approval,
    responses((status = 200, description = "The gateway.", body = Success<Gateway>)),
)]
pub async fn reject(
    State(state): State<ApiState>,
    asking: Asking,
    Name(name): Name,
    Body(named): Body<Approval>,
) -> Answer {
    let by = by(&asking, named.why.as_deref());
    let gateways = state.engine().gateways();
    let overview = gateways.reject(&name, &named.sha256, &by).await?;
    ok("Gateway rejected successfully", &view::shown(&overview))
}
