//! `GET /v1/payouts/{payoutId}/verify` (docs/contract/responses.md): the current state, after a
//! query of the provider when that is due.

use axum::extract::State;
use axum::response::Response;
use switchyard_core::transaction::Kind;

use super::guard::SecretKey;
use super::lookup::IdInPath;
use super::read;
use super::render::payout::PayoutVerified;
use super::schema::ReadRefusals;
use crate::openapi::Success;
use crate::state::ApiState;

/// Verify a payout
///
/// Current state of the payout. The provider is queried first when the payout is open and was not
/// queried in the last ten seconds.
#[utoipa::path(
    get,
    path = "/v1/payouts/{payoutId}/verify",
    operation_id = "verifyPayout",
    tag = "Payouts",
    params(("payoutId" = String, Path, description = "From `data.id` of initialize, or from a webhook.")),
    responses((status = 200, description = "The payout.", body = Success<PayoutVerified>), ReadRefusals),
    security(("secret_key" = [])),
)]
pub async fn verify_payout(
    State(state): State<ApiState>,
    SecretKey(guard): SecretKey,
    id: IdInPath,
) -> Response {
    let result = read::verify(&state, &guard.caller, Kind::Payout, id).await;
    guard.answer(result)
}
