//! `GET /v1/payouts/{payoutId}` (specification 4.6): what is stored.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_engine::access::Caller;

use super::guard::SecretKey;
use super::lookup::{self, IdInPath};
use super::render::payout::PayoutRetrieved;
use super::schema::ReadRefusals;
use crate::envelope;
use crate::error::ApiError;
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
    let result = retrieve(&state, &guard.caller, id).await;
    guard.answer(result)
}

async fn retrieve(state: &ApiState, caller: &Caller, id: IdInPath) -> Result<Response, ApiError> {
    let engine = &state.engine;
    let tx = lookup::payout(engine, caller, id).await?;
    let context = lookup::context(engine, caller);
    let data = PayoutRetrieved::new(&context, &tx);
    Ok(envelope::success(
        StatusCode::OK,
        "Payout transaction fetched successfully",
        &data,
    ))
}
