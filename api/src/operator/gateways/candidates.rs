//! Files of the operator's folder, and the approval of one that awaits consent.

use axum::extract::State;

use super::super::contract::gateways::{CandidateFile, ChangeReason, Gateway};
use super::super::error::Answer;
use super::super::input::{Body, ok};
use super::{Asking, Name, by, taken, view};
use crate::openapi::Success;
use crate::state::ApiState;

/// List the files of the gateways' folder
///
/// With the status of each.
#[utoipa::path(
    get,
    path = "/gateway-candidates",
    operation_id = "listCandidates",
    tag = "Gateways",
    responses((status = 200, description = "Files.", body = Success<Vec<CandidateFile>>)),
)]
pub async fn list(State(state): State<ApiState>) -> Answer {
    let files = state.engine().gateways().folder_files();
    let views: Vec<_> = files.iter().map(view::file).collect();
    ok("Files fetched successfully", &views)
}

/// Consent to a file of the gateways' folder
#[utoipa::path(
    post,
    path = "/gateway-candidates/{sha256}",
    operation_id = "acceptCandidate",
    tag = "Gateways",
    request_body = ChangeReason,
    responses(
        (status = 201, description = "The gateway.", body = Success<Gateway>),
        (
            status = 202,
            description = "The gateway, with the upgrade that awaits approval.",
            body = Success<Gateway>,
        ),
    ),
)]
pub async fn accept(
    State(state): State<ApiState>,
    asking: Asking,
    Name(sha256): Name,
    Body(change): Body<ChangeReason>,
) -> Answer {
    let gateways = state.engine().gateways();
    let by = by(&asking, change.why.as_deref());
    let added = gateways.accept(&sha256, &by).await;
    taken(&state, added).await
}
