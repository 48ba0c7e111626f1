//! Connections: a gateway with one app's credentials. Credentials go in and never come out.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use switchyard_engine::access::{ConnectionChange, NewConnection};
use switchyard_engine::environment::Environment;
use switchyard_engine::gateway::{Direction, Version};
use switchyard_engine::ids::{AppId, ConnectionId};

use super::credentials;
use super::error::{Answer, invalid, not_found};
use super::input::{Body, Id, created, done, nullable, ok};
use super::view::ConnectionView;
use crate::error::ApiError;
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
    let access = &state.engine.access;
    access.app(app).ok_or_else(|| not_found("app"))?;
    let version = version(&state, &new.gateway)?;
    check_methods(&version, new.methods.as_deref())?;
    let config = credentials::fitted(&version.manifest.config, &new.config)?;
    let check =
        credentials::tried(&state.engine.gateways, &version, new.environment, &config).await?;
    let new = NewConnection {
        app,
        environment: new.environment,
        gateway: new.gateway,
        account_name: new.account_name,
        methods: new.methods,
        config,
    };
    let connection = access.create_connection(new).await?;
    created(
        "Connection created successfully",
        &ConnectionView::from(&*connection).with_check(check),
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
    let access = &state.engine.access;
    let connection = access
        .connection(id)
        .ok_or_else(|| not_found("connection"))?;
    let (mut config, mut check) = (None, None);
    // Switching a connection off has to work without its gateway, too.
    if change.methods.is_some() || change.config.is_some() {
        let version = version(&state, &connection.gateway)?;
        check_methods(&version, change.methods.as_ref().and_then(Option::as_deref))?;
        if let Some(given) = change.config {
            let fitted = credentials::fitted(&version.manifest.config, &given)?;
            check = Some(
                credentials::tried(
                    &state.engine.gateways,
                    &version,
                    connection.environment,
                    &fitted,
                )
                .await?,
            );
            config = Some(fitted);
        }
    }
    let change = ConnectionChange {
        account_name: change.account_name,
        methods: change.methods,
        config,
        is_enabled: change.is_enabled,
    };
    let connection = access.update_connection(id, change).await?;
    let view = ConnectionView::from(&*connection);
    match check {
        Some(check) => ok("Connection changed successfully", &view.with_check(check)),
        None => ok("Connection changed successfully", &view),
    }
}

pub async fn remove(State(state): State<ApiState>, Id(id): Id<ConnectionId>) -> Answer {
    state.engine.access.delete_connection(id).await?;
    done("Connection deleted successfully")
}

fn nothing() -> Value {
    serde_json::json!({})
}

/// The version of a gateway that is in use now.
fn version(state: &ApiState, name: &str) -> Result<Arc<Version>, ApiError> {
    let gateways = &state.engine.gateways;
    gateways.current(name).ok_or_else(|| {
        let loaded: Vec<String> = gateways
            .list()
            .iter()
            .map(|version| version.name().to_owned())
            .collect();
        let loaded = if loaded.is_empty() {
            "none is".to_owned()
        } else {
            loaded.join(", ")
        };
        invalid(
            "gateway",
            format!("There is no gateway `{name}`; loaded: {loaded}."),
        )
    })
}

fn check_methods(version: &Version, methods: Option<&[String]>) -> Result<(), ApiError> {
    let serves = |code: &String| {
        version.serves(Direction::Collect, code) || version.serves(Direction::Payout, code)
    };
    match methods.into_iter().flatten().find(|code| !serves(code)) {
        Some(code) => Err(invalid(
            "methods",
            format!("The gateway `{}` does not serve `{code}`.", version.name()),
        )),
        None => Ok(()),
    }
}
