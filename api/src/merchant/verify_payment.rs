//! `GET /v1/payments/{paymentId}/verify` (docs/contract/responses.md): the current state, after a
//! query of the provider when that is due.

use axum::extract::State;
use axum::response::Response;
use switchyard_core::transaction::Kind;

use super::guard::SecretKey;
use super::lookup::IdInPath;
use super::read;
use super::render::payment::PaymentVerified;
use super::schema::ReadRefusals;
use crate::openapi::Success;
use crate::state::ApiState;

/// Verify a payment
///
/// Current state of the payment. The provider is queried first when the payment is open and was not
/// queried in the last ten seconds.
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
    let result = read::verify(&state, &guard.caller, Kind::Payment, id).await;
    guard.answer(result)
}
