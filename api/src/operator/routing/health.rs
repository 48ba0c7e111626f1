//! `GET /routing/health`: what this process lately heard of each connection and method.

use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use switchyard_engine::environment::Environment;
use switchyard_engine::ids::AppId;

use super::{named, numbers, with};
use crate::operator::error::Answer;
use crate::operator::input::{Asked, ok};
use crate::state::ApiState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    app: Option<AppId>,
    environment: Option<Environment>,
}

pub async fn health(State(state): State<ApiState>, Asked(filter): Asked<Filter>) -> Answer {
    let access = &state.engine.access;
    let mut views: Vec<Value> = Vec::new();
    for (key, heard) in state.engine.health() {
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
        let what = json!({ "environment": environment, "kind": key.kind, "method": key.method });
        let more = with(what, numbers(&heard.numbers));
        views.push(with(named(&state, key.connection), more));
    }
    ok("Health fetched successfully", &views)
}
