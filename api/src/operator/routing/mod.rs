//! Routing: an app's rules, simulations, and the health of connections.

mod health;
mod rules;
mod simulate;
#[cfg(test)]
mod tests;
mod traffic;

use switchyard_core::ids::ConnectionId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use self::health::{connection_health, owner};
pub use self::rules::{check_rules, replace_rules, version_of};
use super::contract::routing::NamedConnection;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(rules::show, rules::replace))
        .routes(routes!(simulate::simulate))
        .routes(routes!(health::health))
}

/// Returns a connection with its names. A deleted one has its id only.
fn named(state: &ApiState, id: ConnectionId) -> NamedConnection {
    let connection = state.engine().access().connection(id);
    let names = match &connection {
        Some(connection) => Some((&*connection.gateway, &*connection.account_name)),
        None => state.engine().sandbox_names(id),
    };
    NamedConnection {
        connection: Some(id),
        gateway: names.map(|(gateway, _)| gateway.to_owned()),
        account_name: names.map(|(_, account_name)| account_name.to_owned()),
    }
}
