//! Removal of a gateway. Its open attempts are still queried.

use axum::extract::State;

use super::super::contract::gateways::{ChangeReason, Gateway};
use super::super::error::Answer;
use super::super::input::{Body, ok};
use super::{Asking, Name, by, view};
use crate::openapi::Success;
use crate::state::ApiState;

/// Remove a gateway
///
/// Its open attempts are still queried.
#[utoipa::path(
    post,
    path = "/gateways/{gateway}/remove",
    operation_id = "removeGateway",
    tag = "Gateways",
    request_body = ChangeReason,
    responses((status = 200, description = "The gateway.", body = Success<Gateway>)),
)]
pub async fn remove(
    State(state): State<ApiState>,
    asking: Asking,
    Name(name): Name,
    Body(change): Body<ChangeReason>,
) -> Answer {
    let by = by(&asking, change.why.as_deref());
    let overview = state.engine().gateways().remove(&name, &by).await?;
    ok("Gateway removed successfully", &view::shown(&overview))
}
