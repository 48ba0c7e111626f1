//! `GET /v1/payouts`: an app's payouts, newest first.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use switchyard_core::transaction::Kind;

use super::guard::SecretKey;
use super::list;
use super::render::payout::{PayoutRetrieved, PayoutStatus};
use super::schema::ListRefusals;
use crate::openapi::SuccessPage;
use crate::state::ApiState;

/// List payouts
///
/// The app's payouts in the key's environment, newest first, as they are stored.
#[utoipa::path(
    get,
    path = "/v1/payouts",
    operation_id = "listPayouts",
    tag = "Payouts",
    params(
        ("limit" = Option<u64>, Query, description = "Payouts a page; 20 by default.", minimum = 1, maximum = 100),
        ("page" = Option<u64>, Query, description = "From 1.", minimum = 1, maximum = 1_000_000),
        ("status" = Option<PayoutStatus>, Query, description = "Only those in this status now."),
        ("from_date" = Option<String>, Query, description = "Only those made then or later: a date, or an RFC 3339 moment."),
        ("to_date" = Option<String>, Query, description = "Only those made then or earlier; a bare date includes its whole day."),
    ),
    responses((status = 200, description = "A page of payouts.", body = SuccessPage<PayoutRetrieved>), ListRefusals),
    security(("secret_key" = [])),
)]
pub async fn list_payouts(
    State(state): State<ApiState>,
    SecretKey(guard): SecretKey,
    RawQuery(query): RawQuery,
) -> Response {
    let result = list::page(&state, &guard.caller, Kind::Payout, query.as_deref()).await;
    guard.answer(result)
}
