//! `GET /v1/payouts/{payoutId}/verify` (specification 4.5): what is known now, after asking the provider when that is due.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_engine::access::Caller;

use super::guard::SecretKey;
use super::lookup::{self, IdInPath};
use super::render::payout::PayoutVerified;
use super::schema::ReadRefusals;
use crate::envelope;
use crate::error::ApiError;
use crate::openapi::Success;
use crate::state::ApiState;

/// Verify a payout
///
/// What is known of the payout now. The provider is asked again when the payout has not ended and was not asked for ten seconds.
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
    let result = verify(&state, &guard.caller, id).await;
    guard.answer(result)
}

async fn verify(state: &ApiState, caller: &Caller, id: IdInPath) -> Result<Response, ApiError> {
    let engine = &state.engine;
    let stored = lookup::payout(engine, caller, id).await?;
    // Deleted in between: sandbox data goes after 90 days.
    let tx = engine
        .verify_as_seen(stored)
        .await?
        .ok_or_else(ApiError::payout_not_found)?;
    let context = lookup::context(engine, caller);
    let data = PayoutVerified::new(&context, &tx);
    Ok(envelope::success(
        StatusCode::OK,
        "Payout transaction fetched successfully",
        &data,
    ))
}
