//! `/account/v1`: what the users of an account see and do in the console, for the command line and
//! for programs.
//!
//! A request carries an API token of a user, or the token of a session. [`switchyard_users`]
//! decides what it may do, by the same table as for the pages of the console: each operation names
//! its action. An account in which the user has no role does not exist for them. Every change has
//! an entry of the audit log. The envelope and the rules for errors are those of the other APIs.
//!
//! Left out: what only operators do, see `/operator/v1`.

mod approvals;
mod audit;
mod auth;
mod batches;
pub mod contract;
mod customers;
mod deliveries;
mod keys;
mod openapi;
mod own;
mod payment_links;
mod payouts;
mod place;
mod profile;
mod routing;
mod settings;
mod sign_in;
mod statistics;
mod team;
#[cfg(test)]
mod tests;
mod tokens;
mod transactions;
mod webhooks;

use axum::Router;
use axum::middleware::from_fn_with_state;
use utoipa_axum::router::OpenApiRouter;

use crate::state::ApiState;

/// Path of all routes.
pub const PREFIX: &str = "/account/v1";

/// All routes, to be nested under [`PREFIX`].
pub fn routes(state: ApiState) -> Router<ApiState> {
    let (of_users, _) = of_users().split_for_parts();
    let (of_everyone, _) = sign_in::routes().split_for_parts();
    of_users
        .layer(from_fn_with_state(state, auth::require_user))
        .merge(of_everyone)
}

/// The OpenAPI document.
pub fn document() -> utoipa::openapi::OpenApi {
    let all = of_users().merge(sign_in::routes());
    let described = OpenApiRouter::with_openapi(openapi::head()).nest(PREFIX, all);
    openapi::completed(described.into_openapi())
}

/// Routes of signed-in users, with their descriptions.
fn of_users() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .merge(own::routes())
        .merge(profile::routes())
        .merge(tokens::routes())
        .merge(transactions::routes())
        .merge(customers::routes())
        .merge(statistics::routes())
        .merge(payouts::routes())
        .merge(batches::routes())
        .merge(payment_links::routes())
        .merge(approvals::routes())
        .merge(keys::routes())
        .merge(routing::routes())
        .merge(webhooks::routes())
        .merge(deliveries::routes())
        .merge(settings::routes())
        .merge(team::routes())
        .merge(audit::routes())
}
