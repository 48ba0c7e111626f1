//! No new attempts begin at a gateway; the answer counts what is left.

use axum::extract::State;

use super::super::contract::gateways::{ChangeReason, Gateway};
use super::super::error::Answer;
use super::super::input::{Body, ok};
use super::{Asking, Name, by, view};
use crate::openapi::Success;
use crate::state::ApiState;

/// Start no new attempts at a gateway
///
/// `running_calls` and `open_attempts` count the remaining work.
#[utoipa::path(
    post,
    path = "/gateways/{gateway}/drain",
    operation_id = "drainGateway",
    tag = "Gateways",
    request_body = ChangeReason,
    responses((status = 200, description = "The gateway.", body = Success<Gateway>)),
)]
pub async fn drain(
    State(state): State<ApiState>,
    asking: Asking,
    Name(name): Name,
    Body(change): Body<ChangeReason>,
) -> Answer {
    let by = by(&asking, change.why.as_deref());
    let overview = state.engine().gateways().drain(&name, &by).await?;
    ok("Gateway is being drained", &view::shown(&overview))
}
