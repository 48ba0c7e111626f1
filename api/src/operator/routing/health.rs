//! Recent health of each connection and method, as this process has seen it.

use axum::extract::State;
use switchyard_core::environment::Environment;
use switchyard_core::ids::AppId;

use super::named;
use crate::openapi::Success;
use crate::operator::contract::routing::{ConnectionHealth, HealthFilter};
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

/// Returns the recent health of the connections that the filter selects.
pub fn connection_health(state: &ApiState, filter: &HealthFilter) -> Vec<ConnectionHealth> {
    let access = state.engine().access();
    let mut views = Vec::new();
    for (key, heard) in state.engine().health() {
        let connection = access.connection(key.connection);
        let owner = connection
            .as_ref()
            .map(|connection| (connection.app, connection.environment));
        // The test gateway's own connection in sandbox has its app's id, and no row.
        let (app, environment) =
            owner.unwrap_or((AppId::new(key.connection.ulid()), Environment::Sandbox));
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
            health: (&heard.numbers).into(),
        });
    }
    views
}
