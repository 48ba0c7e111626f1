//! `GET /v1/payments/{paymentId}` (specification 4.3): what is stored.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_engine::access::Caller;

use super::guard::SecretKey;
use super::lookup::{self, IdInPath};
use super::render::payment::PaymentRetrieved;
use super::schema::ReadRefusals;
use crate::envelope;
use crate::error::ApiError;
use crate::openapi::Success;
use crate::state::ApiState;

/// Retrieve a payment
///
/// The payment as it is stored; no provider is asked.
#[utoipa::path(
    get,
    path = "/v1/payments/{paymentId}",
    operation_id = "retrievePayment",
    tag = "Payments",
    params(("paymentId" = String, Path, description = "From `data.id` of initialize, or from a webhook.")),
    responses((status = 200, description = "The payment.", body = Success<PaymentRetrieved>), ReadRefusals),
    security(("secret_key" = [])),
)]
pub async fn retrieve_payment(
    State(state): State<ApiState>,
    SecretKey(guard): SecretKey,
    id: IdInPath,
) -> Response {
    let result = retrieve(&state, &guard.caller, id).await;
    guard.answer(result)
}

async fn retrieve(state: &ApiState, caller: &Caller, id: IdInPath) -> Result<Response, ApiError> {
    let engine = &state.engine;
    let tx = lookup::payment(engine, caller, id).await?;
    let context = lookup::context(engine, caller);
    let data = PaymentRetrieved::new(&context, &tx);
    Ok(envelope::success(
        StatusCode::OK,
        "Payment transaction fetched successfully",
        &data,
    ))
}
