//! Connections and routing rules, for reading. Operators change them.

use axum::extract::State;
use switchyard_core::ids::ConnectionId;
use switchyard_engine::access;
use switchyard_users::Action;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::routing::VersionQuery;
use super::place::InScope;
use crate::openapi::Success;
use crate::operator::contract::connections::Connection;
use crate::operator::contract::routing::RoutingRules;
use crate::operator::error::{Answer, not_found};
use crate::operator::input::{QueryParams, ok};
use crate::operator::version_of;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list_connections))
        .routes(routes!(show_connection))
        .routes(routes!(show_rules))
}

/// List connections
///
/// Without credentials, which no operation shows. Action: `view_connections`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/connections",
    operation_id = "listConnections",
    tag = "Routing",
    responses((status = 200, description = "Connections.", body = Success<Vec<Connection>>)),
)]
async fn list_connections(State(state): State<ApiState>, scope: InScope) -> Answer {
    scope.place.permit(Action::ViewConnections)?;
    let access = state.engine().access();
    let found = access.connections(scope.app.id, scope.environment);
    let views: Vec<_> = found.iter().map(|one| view(&state, one)).collect();
    ok("Connections fetched successfully", &views)
}

/// Retrieve a connection
///
/// Without its credentials. Action: `view_connections`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/connections/{connection}",
    operation_id = "retrieveConnection",
    tag = "Routing",
    responses((status = 200, description = "The connection.", body = Success<Connection>)),
)]
async fn show_connection(State(state): State<ApiState>, scope: InScope) -> Answer {
    scope.place.permit(Action::ViewConnections)?;
    let id: ConnectionId = scope.place.sender.id("connection")?;
    let found = state.engine().access().connection(id);
    let found = found.filter(|one| one.app == scope.app.id && one.environment == scope.environment);
    let found = found.ok_or_else(|| not_found("connection"))?;
    ok("Connection fetched successfully", &view(&state, &found))
}

/// Retrieve the routing rules
///
/// Action: `view_routing`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/routing",
    operation_id = "retrieveRules",
    tag = "Routing",
    params(VersionQuery),
    responses((status = 200, description = "The rules.", body = Success<RoutingRules>)),
)]
async fn show_rules(
    State(state): State<ApiState>,
    scope: InScope,
    QueryParams(query): QueryParams<VersionQuery>,
) -> Answer {
    scope.place.permit(Action::ViewRouting)?;
    let view = version_of(&state, scope.app.id, scope.environment, query.version)?;
    ok("Routing rules fetched successfully", &view)
}

fn view(state: &ApiState, connection: &access::Connection) -> Connection {
    Connection::new(connection, &state.engine().settings().public_url)
}
