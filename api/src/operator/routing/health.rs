//! Recent health of each connection and method, as this process has seen it.

use axum::extract::State;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, ConnectionId};
use switchyard_engine::access::Access;

use super::named;
use crate::openapi::Success;
use crate::operator::contract::routing::{ConnectionHealth, Health, HealthFilter, LastFault};
use crate::operator::error::Answer;
use crate::operator::input::{QueryParams, ok};
use crate::state::ApiState;

/// Retrieve the recent health of each connection and method
#[utoipa::path(
    get,
    path = "/routing/health",
    operation_id = "listHealth",
    tag = "Routing",
    params(HealthFilter),
    responses((status = 200, description = "Health.", body = Success<Vec<ConnectionHealth>>)),
)]
pub async fn health(
    State(state): State<ApiState>,
    QueryParams(filter): QueryParams<HealthFilter>,
) -> Answer {
    let views = connection_health(&state, &filter);
    ok("Health fetched successfully", &views)
}

/// App and environment of a connection.
pub fn owner(access: &Access, connection: ConnectionId) -> (AppId, Environment) {
    let known = access.connection(connection);
    let owner = known.map(|connection| (connection.app, connection.environment));
    // The test gateway's own connection in sandbox has its app's id, and no row.
    owner.unwrap_or((AppId::new(connection.ulid()), Environment::Sandbox))
}

/// Returns the recent health of the connections that the filter selects.
pub fn connection_health(state: &ApiState, filter: &HealthFilter) -> Vec<ConnectionHealth> {
    let access = state.engine().access();
    let mut views = Vec::new();
    for (key, heard, fault) in state.engine().health() {
        let (app, environment) = owner(access, key.connection);
        if filter.app.is_some_and(|wanted| wanted != app)
            || filter
                .environment
                .is_some_and(|wanted| wanted != environment)
        {
            continue;
        }
        views.push(ConnectionHealth {
            connection: named(state, key.connection),
            environment,
            kind: key.kind,
            method: key.method,
            health: Health {
                last_fault: fault.map(|fault| LastFault {
                    at: fault.at.into(),
                    message: fault.why,
                }),
                ..(&heard.numbers).into()
            },
        });
    }
    views
}
