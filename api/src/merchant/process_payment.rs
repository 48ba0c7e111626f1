//! `POST /v1/payments/{paymentId}/process`: the merchant has delivered.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_core::transaction::Kind;
use switchyard_engine::access::Caller;

use super::guard::SecretKey;
use super::lookup::{self, IdInPath};
use super::render::payment::PaymentRetrieved;
use super::schema::ProcessRefusals;
use crate::envelope;
use crate::error::ApiError;
use crate::openapi::Success;
use crate::state::ApiState;

/// Mark a payment processed
///
/// Notes that a successful payment was delivered on. Doing it again changes nothing. A body is
/// ignored.
#[utoipa::path(
    post,
    path = "/v1/payments/{paymentId}/process",
    operation_id = "processPayment",
    tag = "Payments",
    params(("paymentId" = String, Path, description = "From `data.id` of initialize, or from a webhook.")),
    responses((status = 200, description = "The payment, marked.", body = Success<PaymentRetrieved>), ProcessRefusals),
    security(("secret_key" = [])),
)]
pub async fn process_payment(
    State(state): State<ApiState>,
    SecretKey(guard): SecretKey,
    id: IdInPath,
) -> Response {
    let result = process(&state, &guard.caller, id).await;
    guard.answer(result)
}

async fn process(state: &ApiState, caller: &Caller, id: IdInPath) -> Result<Response, ApiError> {
    let engine = state.engine();
    let stored = lookup::transaction(engine, caller, Kind::Payment, id).await?;
    let tx = engine.mark_processed(stored.id).await?;
    let context = lookup::context(engine, caller);
    let data = PaymentRetrieved::new(&context, &tx);
    Ok(envelope::success(
        StatusCode::OK,
        "Payment transaction processed successfully",
        &data,
    ))
}
