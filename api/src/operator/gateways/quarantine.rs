//! A version takes nothing new until it is restored: the current one, or the one that is named.

use axum::extract::State;

use super::super::contract::gateways::{Gateway, VersionChange};
use super::super::error::Answer;
use super::super::input::{Body, ok};
use super::{Asking, Name, by, view};
use crate::openapi::Success;
use crate::state::ApiState;

/// Start no new attempts at a version
///
/// Default: the current version.
#[utoipa::path(
    post,
    path = "/gateways/{gateway}/quarantine",
    operation_id = "quarantineGateway",
    tag = "Gateways",
    request_body = VersionChange,
    responses((status = 200, description = "The gateway.", body = Success<Gateway>)),
)]
pub async fn quarantine(
    State(state): State<ApiState>,
    asking: Asking,
    Name(name): Name,
    Body(change): Body<VersionChange>,
) -> Answer {
    let by = by(&asking, change.why.as_deref());
    let overview = state
        .engine()
        .gateways()
        .quarantine(&name, change.version.as_deref(), &by)
        .await?;
    ok("Gateway put into quarantine", &view::shown(&overview))
}
