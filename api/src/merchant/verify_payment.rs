//! `GET /v1/payments/{paymentId}/verify` (specification 4.2): what is known now, after asking the provider when that is due.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_engine::access::Caller;

use super::guard::SecretKey;
use super::lookup::{self, IdInPath};
use super::render::payment::PaymentVerified;
use super::schema::ReadRefusals;
use crate::envelope;
use crate::error::ApiError;
use crate::openapi::Success;
use crate::state::ApiState;

/// Verify a payment
///
/// What is known of the payment now. The provider is asked again when the payment has not ended and was not asked for ten seconds.
#[utoipa::path(
    get,
    path = "/v1/payments/{paymentId}/verify",
    operation_id = "verifyPayment",
    tag = "Payments",
    params(("paymentId" = String, Path, description = "From `data.id` of initialize, or from a webhook.")),
    responses((status = 200, description = "The payment.", body = Success<PaymentVerified>), ReadRefusals),
    security(("secret_key" = [])),
)]
pub async fn verify_payment(
    State(state): State<ApiState>,
    SecretKey(guard): SecretKey,
    id: IdInPath,
) -> Response {
    let result = verify(&state, &guard.caller, id).await;
    guard.answer(result)
}

async fn verify(state: &ApiState, caller: &Caller, id: IdInPath) -> Result<Response, ApiError> {
    let engine = &state.engine;
    let stored = lookup::payment(engine, caller, id).await?;
    // Deleted in between: sandbox data goes after 90 days.
    let tx = engine
        .verify_as_seen(stored)
        .await?
        .ok_or_else(ApiError::payment_not_found)?;
    let context = lookup::context(engine, caller);
    let data = PaymentVerified::new(&context, &tx);
    Ok(envelope::success(
        StatusCode::OK,
        "Payment transaction fetched successfully",
        &data,
    ))
}
