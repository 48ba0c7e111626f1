//! Pinned hashes: their files need no consent. Those of the settings are not among them.

use axum::extract::State;

use super::super::contract::Nothing;
use super::super::contract::gateways::{NewPin, Pin};
use super::super::error::Answer;
use super::super::input::{Body, created, done, ok};
use super::{Asking, Name, by, view};
use crate::openapi::Success;
use crate::state::ApiState;

/// List SHA-256 values that need no consent
///
/// Without those of the settings file.
#[utoipa::path(
    get,
    path = "/gateway-pins",
    operation_id = "listPins",
    tag = "Gateways",
    responses((status = 200, description = "Pins.", body = Success<Vec<Pin>>)),
)]
pub async fn list(State(state): State<ApiState>) -> Answer {
    let pins = state.engine().gateways().pins();
    let views: Vec<_> = pins.into_iter().map(view::pin).collect();
    ok("Pins fetched successfully", &views)
}

/// Pin a SHA-256
///
/// Its file needs no consent.
#[utoipa::path(
    post,
    path = "/gateway-pins",
    operation_id = "createPin",
    tag = "Gateways",
    request_body = NewPin,
    responses((status = 201, description = "The pin.", body = Success<Pin>)),
)]
pub async fn create(
    State(state): State<ApiState>,
    asking: Asking,
    Body(new): Body<NewPin>,
) -> Answer {
    let pin = state
        .engine()
        .gateways()
        .pin(&new.sha256, &by(&asking, None))
        .await?;
    created("Hash pinned successfully", &view::pin(pin))
}

/// Unpin a SHA-256
///
/// An installed version stays.
#[utoipa::path(
    delete,
    path = "/gateway-pins/{sha256}",
    operation_id = "deletePin",
    tag = "Gateways",
    responses((status = 200, description = "The pin is deleted.", body = Success<Nothing>)),
)]
pub async fn remove(State(state): State<ApiState>, asking: Asking, Name(sha256): Name) -> Answer {
    state
        .engine()
        .gateways()
        .unpin(&sha256, &by(&asking, None))
        .await?;
    done("Pin deleted successfully")
}
