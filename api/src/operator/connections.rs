//! Connections: a gateway with one app's credentials. Credentials go in and never come out.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use switchyard_engine::access::{ConnectionChange, ConnectionLimits, NewConnection};
use switchyard_engine::environment::Environment;
use switchyard_engine::gateway::{Direction, Version, misfit};
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
    #[serde(default)]
    limits: ConnectionLimits,
    /// Stores the credentials without asking the provider, which may be down.
    #[serde(default)]
    skip_check: bool,
    /// Enables the connection although the provider could not be asked.
    #[serde(default)]
    enable_unchecked: bool,
}

/// Omitted fields are unchanged; `methods: null` means all of the gateway's.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    account_name: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    methods: Option<Option<Vec<String>>>,
    config: Option<Value>,
    limits: Option<ConnectionLimits>,
    is_enabled: Option<bool>,
    #[serde(default)]
    skip_check: bool,
    #[serde(default)]
    enable_unchecked: bool,
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
        .map(|connection| ConnectionView::new(connection, &state.engine.settings.public_url))
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
    if new.environment == Environment::Live
        && version.manifest.any_method
        && !state.settings.development
    {
        let message = "A test gateway moves no money: its connections are in sandbox only.";
        return Err(invalid("environment", message).into());
    }
    check_methods(&state, &version, new.methods.as_deref())?;
    let config = credentials::fitted(&version.manifest.config, &new.config)?;
    let check = credentials::Check {
        gateways: &state.engine.gateways,
        version: &version,
        environment: new.environment,
        skip: new.skip_check,
        enable_unchecked: new.enable_unchecked,
    };
    let (check, is_enabled) = check.of(&config).await?;
    let limits = new.limits;
    let new = NewConnection {
        app,
        environment: new.environment,
        gateway: new.gateway,
        account_name: new.account_name,
        methods: new.methods,
        config,
    };
    let connection = access
        .create_limited_connection(new, limits, is_enabled)
        .await?;
    let message = match is_enabled {
        true => "Connection created successfully",
        false => "Connection created disabled: its credentials could not be checked",
    };
    created(
        message,
        &ConnectionView::new(&connection, &state.engine.settings.public_url).with_check(check),
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
        &ConnectionView::new(&connection, &state.engine.settings.public_url),
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
    let mut is_enabled = change.is_enabled;
    // Switching a connection off has to work without its gateway, too.
    if change.methods.is_some() || change.config.is_some() {
        let version = version(&state, &connection.gateway)?;
        // Other credentials for the methods as they are can always be stored.
        if let Some(methods) = &change.methods {
            check_methods(&state, &version, methods.as_deref())?;
        }
        if let Some(given) = change.config {
            let fitted = credentials::fitted(&version.manifest.config, &given)?;
            let asked = credentials::Check {
                gateways: &state.engine.gateways,
                version: &version,
                environment: connection.environment,
                skip: change.skip_check,
                enable_unchecked: change.enable_unchecked || change.is_enabled == Some(true),
            };
            let (said, may_be_enabled) = asked.of(&fitted).await?;
            check = Some(said);
            config = Some(fitted);
            if !may_be_enabled && connection.is_enabled && change.is_enabled != Some(false) {
                return Err(credentials::unchecked(check.as_ref()).into());
            }
            if !may_be_enabled {
                is_enabled = Some(false);
            }
        }
    }
    let change = ConnectionChange {
        account_name: change.account_name,
        methods: change.methods,
        config,
        limits: change.limits,
        is_enabled,
    };
    let connection = access.update_connection(id, change).await?;
    let view = ConnectionView::new(&connection, &state.engine.settings.public_url);
    match check {
        Some(check) => ok("Connection changed successfully", &view.with_check(check)),
        None => ok("Connection changed successfully", &view),
    }
}

pub async fn remove(State(state): State<ApiState>, Id(id): Id<ConnectionId>) -> Answer {
    state.engine.delete_connection(id).await?;
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

/// The gateway serves the chosen methods, and transactions can have them.
fn check_methods(
    state: &ApiState,
    version: &Version,
    methods: Option<&[String]>,
) -> Result<(), ApiError> {
    let is_chosen = |code: &String| methods.is_none_or(|methods| methods.contains(code));
    let rows = version.manifest.methods.iter();
    let mut chosen = rows.filter(|method| is_chosen(&method.code));
    if let Some(why) = chosen.find_map(|method| misfit(method, &state.engine.directory)) {
        return Err(invalid("methods", why));
    }

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
