//! Connections: a gateway with one app's credentials. Credentials go in and never come out.

use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use switchyard_engine::access::{ConnectionChange, NewConnection};
use switchyard_engine::environment::Environment;
use switchyard_engine::ids::{AppId, ConnectionId};

use super::error::{Answer, invalid, not_found};
use super::input::{Body, Id, created, done, nullable, ok};
use super::view::ConnectionView;
use crate::state::ApiState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct New {
    environment: Environment,
    gateway: String,
    account_name: String,
    methods: Option<Vec<String>>,
    #[serde(default = "nothing")]
    config: Value,
}

/// What is left out stays; `methods: null` means all that the gateway has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    account_name: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    methods: Option<Option<Vec<String>>>,
    config: Option<Value>,
    is_enabled: Option<bool>,
}

pub async fn list(State(state): State<ApiState>, Id(app): Id<AppId>) -> Answer {
    let access = &state.engine.access;
    access.app(app).ok_or_else(|| not_found("app"))?;
    let environments = Environment::ALL.into_iter();
    let connections: Vec<_> = environments
        .flat_map(|environment| access.connections(app, environment))
        .collect();
    let views: Vec<_> = connections
        .iter()
        .map(|connection| ConnectionView::from(&**connection))
        .collect();
    ok("Connections fetched successfully", &views)
}

pub async fn create(
    State(state): State<ApiState>,
    Id(app): Id<AppId>,
    Body(new): Body<New>,
) -> Answer {
    if state.engine.gateways.current(&new.gateway).is_none() {
        let names: Vec<String> = state
            .engine
            .gateways
            .list()
            .iter()
            .map(|version| version.manifest.name.clone())
            .collect();
        let known = if names.is_empty() {
            "none is loaded".to_owned()
        } else {
            format!("loaded are {}", names.join(", "))
        };
        return Err(invalid(
            "gateway",
            format!("There is no gateway `{}`: {known}.", new.gateway),
        )
        .into());
    }
    let new = NewConnection {
        app,
        environment: new.environment,
        gateway: new.gateway,
        account_name: new.account_name,
        methods: new.methods,
        config: new.config,
    };
    let connection = state.engine.access.create_connection(new).await?;
    created(
        "Connection created successfully",
        &ConnectionView::from(&*connection),
    )
}

pub async fn show(State(state): State<ApiState>, Id(id): Id<ConnectionId>) -> Answer {
    let connection = state
        .engine
        .access
        .connection(id)
        .ok_or_else(|| not_found("connection"))?;
    ok(
        "Connection fetched successfully",
        &ConnectionView::from(&*connection),
    )
}

pub async fn update(
    State(state): State<ApiState>,
    Id(id): Id<ConnectionId>,
    Body(change): Body<Change>,
) -> Answer {
    let change = ConnectionChange {
        account_name: change.account_name,
        methods: change.methods,
        config: change.config,
        is_enabled: change.is_enabled,
    };
    let connection = state.engine.access.update_connection(id, change).await?;
    ok(
        "Connection changed successfully",
        &ConnectionView::from(&*connection),
    )
}

pub async fn remove(State(state): State<ApiState>, Id(id): Id<ConnectionId>) -> Answer {
    state.engine.access.delete_connection(id).await?;
    done("Connection deleted successfully")
}

fn nothing() -> Value {
    serde_json::json!({})
}
