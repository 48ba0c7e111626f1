//! Connections: a gateway with one app's credentials. Credentials go in and never come out.

use std::sync::Arc;

use axum::extract::State;
use serde_json::{Map, Value};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, ConnectionId};
use switchyard_engine::access;
use switchyard_gateway_host::{Direction, Version, misfit};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::Nothing;
use super::contract::connections::{ConfigCheck, Connection, ConnectionChange, NewConnection};
use super::credentials;
use super::error::{Answer, Refused, invalid, not_found};
use super::input::{Body, Id, created, done, ok};
use crate::error::{ApiError, ErrorCode, Problem};
use crate::openapi::Success;
use crate::reason::Reason;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show, update, remove))
}

/// List the connections of an app
#[utoipa::path(
    get,
    path = "/apps/{app}/connections",
    operation_id = "listConnections",
    tag = "Connections",
    responses((status = 200, description = "Connections.", body = Success<Vec<Connection>>)),
)]
async fn list(State(state): State<ApiState>, Id(app): Id<AppId>) -> Answer {
    let access = state.engine().access();
    access.app(app).ok_or_else(|| not_found("app"))?;
    let environments = Environment::ALL.into_iter();
    let connections: Vec<_> = environments
        .flat_map(|environment| access.connections(app, environment))
        .collect();
    let views: Vec<_> = connections
        .iter()
        .map(|connection| Connection::new(connection, &state.engine().settings().public_url))
        .collect();
    ok("Connections fetched successfully", &views)
}

/// Connect an app to a gateway
///
/// The credentials are checked against the schema of the gateway and, if the gateway can, by one
/// harmless call to the provider: see `check`. Credentials that the provider refuses are not
/// stored. If the provider cannot be asked, the connection is stored disabled.
#[utoipa::path(
    post,
    path = "/apps/{app}/connections",
    operation_id = "createConnection",
    tag = "Connections",
    request_body = NewConnection,
    responses((status = 201, description = "The connection.", body = Success<Connection>)),
)]
async fn create(
    State(state): State<ApiState>,
    Id(app): Id<AppId>,
    Body(new): Body<NewConnection>,
) -> Answer {
    let saved = create_checked(&state, app, new).await?;
    let message = match saved.connection.is_enabled {
        true => "Connection created successfully",
        false => "Connection created disabled: its credentials could not be checked",
    };
    created(message, &saved.view(&state))
}

/// A stored connection, with the check of its new credentials.
pub struct Saved {
    pub connection: Arc<access::Connection>,
    /// `None`: the credentials are unchanged.
    pub check: Option<ConfigCheck>,
}

impl Saved {
    fn view(self, state: &ApiState) -> Connection {
        Connection {
            check: self.check,
            ..Connection::new(&self.connection, &state.engine().settings().public_url)
        }
    }
}

/// Checks the credentials with the provider and stores the connection: disabled if the check could
/// not be made, unless the request says otherwise.
pub async fn create_checked(
    state: &ApiState,
    app: AppId,
    new: NewConnection,
) -> Result<Saved, Refused> {
    let access = state.engine().access();
    access.app(app).ok_or_else(|| not_found("app"))?;
    let version = version(state, &new.gateway)?;
    if new.environment == Environment::Live
        && version.manifest.any_method
        && !state.settings().development
    {
        let message = "A test gateway moves no money: its connections are in sandbox only.";
        let problem = Problem::new(ErrorCode::FieldInvalid, message).at("environment");
        return Err(ApiError::from(problem.because(Reason::TestGatewayInLive)).into());
    }
    check_methods(state, &version, new.methods.as_deref())?;
    let config = new.config.unwrap_or_else(|| Value::Object(Map::new()));
    let config = credentials::validated(&version.manifest.config, &config)?;
    let check = credentials::Check {
        gateways: state.engine().gateways(),
        version: &version,
        environment: new.environment,
        skip: new.skip_check,
        enable_unchecked: new.enable_unchecked,
    };
    let (check, is_enabled) = check.of(&config).await?;
    let limits = new.limits.into();
    let new = access::NewConnection {
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
    Ok(Saved {
        connection,
        check: Some(check),
    })
}

/// Retrieve a connection
#[utoipa::path(
    get,
    path = "/connections/{connection}",
    operation_id = "retrieveConnection",
    tag = "Connections",
    responses((status = 200, description = "The connection.", body = Success<Connection>)),
)]
async fn show(State(state): State<ApiState>, Id(id): Id<ConnectionId>) -> Answer {
    let connection = state
        .engine()
        .access()
        .connection(id)
        .ok_or_else(|| not_found("connection"))?;
    ok(
        "Connection fetched successfully",
        &Connection::new(&connection, &state.engine().settings().public_url),
    )
}

/// Change a connection
///
/// Credentials are checked as for a new connection. A connection in use keeps its credentials if
/// the provider cannot be asked, unless `enable_unchecked` is set.
#[utoipa::path(
    patch,
    path = "/connections/{connection}",
    operation_id = "updateConnection",
    tag = "Connections",
    request_body = ConnectionChange,
    responses((status = 200, description = "The connection.", body = Success<Connection>)),
)]
async fn update(
    State(state): State<ApiState>,
    Id(id): Id<ConnectionId>,
    Body(change): Body<ConnectionChange>,
) -> Answer {
    let saved = change_checked(&state, id, change).await?;
    ok("Connection changed successfully", &saved.view(&state))
}

/// Changes a connection. New credentials are checked with the provider before.
pub async fn change_checked(
    state: &ApiState,
    id: ConnectionId,
    change: ConnectionChange,
) -> Result<Saved, Refused> {
    let access = state.engine().access();
    let connection = access
        .connection(id)
        .ok_or_else(|| not_found("connection"))?;
    let (mut config, mut check) = (None, None);
    let mut is_enabled = change.is_enabled;
    // Switching a connection off has to work without its gateway, too.
    if change.methods.is_some() || change.config.is_some() {
        let version = version(state, &connection.gateway)?;
        // Other credentials for the methods as they are can always be stored.
        if let Some(methods) = &change.methods {
            check_methods(state, &version, methods.as_deref())?;
        }
        if let Some(given) = change.config {
            let fitted = credentials::validated(&version.manifest.config, &given)?;
            let asked = credentials::Check {
                gateways: state.engine().gateways(),
                version: &version,
                environment: connection.environment,
                skip: change.skip_check,
                enable_unchecked: change.enable_unchecked || change.is_enabled == Some(true),
            };
            let (result, may_be_enabled) = asked.of(&fitted).await?;
            check = Some(result);
            config = Some(fitted);
            if !may_be_enabled && connection.is_enabled && change.is_enabled != Some(false) {
                return Err(credentials::unchecked(check.as_ref()).into());
            }
            if !may_be_enabled {
                is_enabled = Some(false);
            }
        }
    }
    let change = access::ConnectionChange {
        account_name: change.account_name,
        methods: change.methods,
        config,
        limits: change.limits.map(Into::into),
        is_enabled,
    };
    let connection = access.update_connection(id, change).await?;
    Ok(Saved { connection, check })
}

/// Delete a connection and its credentials
///
/// A connection with open attempts is not deleted.
#[utoipa::path(
    delete,
    path = "/connections/{connection}",
    operation_id = "deleteConnection",
    tag = "Connections",
    responses((status = 200, description = "The connection is deleted.", body = Success<Nothing>)),
)]
async fn remove(State(state): State<ApiState>, Id(id): Id<ConnectionId>) -> Answer {
    state.engine().delete_connection(id).await?;
    done("Connection deleted successfully")
}

/// The version of a gateway that is in use now.
fn version(state: &ApiState, name: &str) -> Result<Arc<Version>, ApiError> {
    let gateways = state.engine().gateways();
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
        let message = format!("There is no gateway `{name}`; loaded: {loaded}.");
        let problem = Problem::new(ErrorCode::FieldInvalid, message).at("gateway");
        problem.because(Reason::GatewayUnknown).into()
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
    if let Some(why) = chosen.find_map(|method| misfit(method, state.engine().directory())) {
        return Err(invalid("methods", why));
    }

    let serves = |code: &String| {
        version.serves(Direction::Collect, code) || version.serves(Direction::Payout, code)
    };
    match methods.into_iter().flatten().find(|code| !serves(code)) {
        Some(code) => {
            let message = format!("The gateway `{}` does not serve `{code}`.", version.name());
            let problem = Problem::new(ErrorCode::FieldInvalid, message).at("methods");
            let because = Reason::MethodNotServed.with("method", code);
            Err(problem.because(because).into())
        }
        None => Ok(()),
    }
}
