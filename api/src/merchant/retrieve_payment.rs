//! `GET /v1/payments/{paymentId}` (docs/contract/responses.md): the stored payment.

use axum::extract::State;
use axum::response::Response;
use switchyard_core::transaction::Kind;

use super::guard::SecretKey;
use super::lookup::IdInPath;
use super::read;
use super::render::payment::PaymentRetrieved;
use super::schema::ReadRefusals;
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
    let result = read::retrieve(&state, &guard.caller, Kind::Payment, id).await;
    guard.answer(result)
}
