//! `/operator/v1`: everything that the operator of an installation can see and do, for the command
//! line and for programs.
//!
//! The same envelope as the merchant API, the same rules for errors. Every request carries an
//! operator token; every change has an audit line. One file for each family of endpoints.

mod accounts;
mod apps;
mod audit;
mod auth;
#[cfg(test)]
mod auth_tests;
mod callbacks;
pub mod cases;
pub mod connections;
pub mod contract;
mod credentials;
pub mod deliveries;
pub mod error;
mod events;
pub mod export;
pub mod form;
pub mod gateways;
mod hold;
pub mod input;
pub mod keys;
pub mod logo;
pub mod manual_resolution;
pub mod openapi;
mod provider_ids;
mod rates;
mod routing;
mod schema_checks;
mod search;
pub mod statistics;
#[cfg(test)]
mod tests;
mod tokens;
pub mod transactions;
pub mod trigger;
mod users;
pub mod webhooks;

use axum::middleware::from_fn_with_state;
use axum::{Extension, Router};
use utoipa_axum::router::OpenApiRouter;

pub use error::Refused;
pub use routing::{check_rules, connection_health, owner, replace_rules, version_of};
pub use transactions::full_view;
pub use trigger::TRIGGERS;

use crate::operations::Draining;
use crate::state::ApiState;

/// All routes, to be nested under `/operator/v1`.
pub fn routes(state: ApiState, draining: Draining) -> Router<ApiState> {
    let (routes, _) = described().split_for_parts();
    routes
        .layer(Extension(draining))
        .layer(from_fn_with_state(state, auth::require_operator))
}

/// The OpenAPI document.
pub fn document() -> utoipa::openapi::OpenApi {
    let described = OpenApiRouter::with_openapi(openapi::head()).nest(PREFIX, described());
    openapi::completed(described.into_openapi(), &openapi::RULES)
}

/// All routes with their descriptions.
fn described() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .merge(accounts::routes())
        .merge(apps::routes())
        .merge(logo::routes())
        .merge(keys::routes())
        .merge(tokens::routes())
        .merge(connections::routes())
        .merge(provider_ids::routes())
        .merge(callbacks::routes())
        .merge(gateways::routes())
        .merge(routing::routes())
        .merge(rates::routes())
        .merge(transactions::routes())
        .merge(export::routes())
        .merge(search::routes())
        .merge(statistics::routes())
        .merge(manual_resolution::routes())
        .merge(cases::routes())
        .merge(hold::routes())
        .merge(webhooks::routes())
        .merge(deliveries::routes())
        .merge(events::routes())
        .merge(trigger::routes())
        .merge(users::routes())
}

/// Path of all routes.
pub const PREFIX: &str = "/operator/v1";
