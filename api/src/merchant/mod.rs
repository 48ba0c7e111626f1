//! The merchant API: one file an endpoint. Payments and payouts share `read` and `list`.

pub mod cors;
mod failure;
mod fields;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod guard;
pub mod initialize;
mod initialize_payment;
mod initialize_payout;
mod list;
mod list_payments;
mod list_payouts;
mod lookup;
mod missing;
mod process_payment;
mod read;
pub mod render;
pub mod request;
mod retrieve_payment;
mod retrieve_payout;
pub mod schema;
mod verify_payment;
mod verify_payout;

use axum::routing::options;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::ApiState;

/// Every route that takes an API key, with its description.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(initialize_payment::initialize_payment))
        .route("/v1/payments/initialize", options(cors::preflight))
        .routes(routes!(verify_payment::verify_payment))
        .routes(routes!(retrieve_payment::retrieve_payment))
        .routes(routes!(process_payment::process_payment))
        .routes(routes!(list_payments::list_payments))
        .routes(routes!(initialize_payout::initialize_payout))
        .routes(routes!(verify_payout::verify_payout))
        .routes(routes!(retrieve_payout::retrieve_payout))
        .routes(routes!(list_payouts::list_payouts))
}
