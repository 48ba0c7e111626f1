//! `GET /v1/payouts/{payoutId}` (docs/contract/responses.md): the stored payout.

use axum::extract::State;
use axum::response::Response;
use switchyard_core::transaction::Kind;

use super::guard::SecretKey;
use super::lookup::IdInPath;
use super::read;
use super::render::payout::PayoutRetrieved;
use super::schema::ReadRefusals;
use crate::openapi::Success;
use crate::state::ApiState;

/// Retrieve a payout
///
/// The payout as it is stored; no provider is asked.
#[utoipa::path(
    get,
    path = "/v1/payouts/{payoutId}",
    operation_id = "retrievePayout",
    tag = "Payouts",
    params(("payoutId" = String, Path, description = "From `data.id` of initialize, or from a webhook.")),
    responses((status = 200, description = "The payout.", body = Success<PayoutRetrieved>), ReadRefusals),
    security(("secret_key" = [])),
)]
pub async fn retrieve_payout(
    State(state): State<ApiState>,
    SecretKey(guard): SecretKey,
    id: IdInPath,
) -> Response {
    let result = read::retrieve(&state, &guard.caller, Kind::Payout, id).await;
    guard.answer(result)
}
