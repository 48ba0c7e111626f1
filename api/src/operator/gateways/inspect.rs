//! Manifest of a file, and the changes that its installation would make. No code of it runs, and it
//! is not stored.

use axum::body::Body;
use axum::extract::State;

use super::super::contract::gateways::Proposal;
use super::super::error::Answer;
use super::super::input::ok;
use super::{upload, view};
use crate::openapi::Success;
use crate::state::ApiState;

/// Inspect a file
///
/// Reads the manifest of the file in the body and lists the changes that its installation would
/// make. No code of it runs, and it is not stored.
#[utoipa::path(
    post,
    path = "/gateway-inspections",
    operation_id = "inspectGateway",
    tag = "Gateways",
    request_body(content = [u8], content_type = "application/octet-stream"),
    responses((status = 200, description = "The manifest.", body = Success<Proposal>)),
)]
pub async fn inspect(State(state): State<ApiState>, body: Body) -> Answer {
    let gateways = state.engine().gateways();
    let mut file = upload::received(gateways, body.into_data_stream()).await?;
    let proposal = gateways.propose(file.whole().await?).await;
    let proposal = proposal.map_err(upload::without_path)?;
    ok("Gateway inspected successfully", &view::proposal(&proposal))
}
