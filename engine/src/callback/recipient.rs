//! Owner of a callback address.

use serde_json::Value;

use crate::access::{Access, AccessError};
use crate::engine::Engine;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AccountId, AppId, ConnectionId};

/// Connection: a stored one, or the one to the test gateway, which every app has in sandbox without
/// a stored row.
pub(super) struct Recipient {
    pub app: AppId,
    pub account: AccountId,
    pub environment: Environment,
    pub gateway: String,
}

/// Finds the connection of a callback address. `None`: it does not exist. A disabled connection
/// still receives callbacks about its attempts. The address of an app's test connection is public.
/// It does not exist without a test gateway, since no gateway would read its callbacks.
pub(super) fn find(engine: &Engine, id: ConnectionId) -> Option<Recipient> {
    let access = engine.access();
    if let Some(connection) = access.connection(id) {
        let app = access.app(connection.app)?;
        return Some(Recipient {
            app: app.id,
            account: app.account,
            environment: connection.environment,
            gateway: connection.gateway.clone(),
        });
    }
    let app = access.app(AppId::new(id.ulid()))?;
    engine
        .gateways()
        .reader(&engine.settings().sandbox_gateway)?;
    Some(Recipient {
        app: app.id,
        account: app.account,
        environment: Environment::Sandbox,
        gateway: engine.settings().sandbox_gateway.clone(),
    })
}

/// Credentials of the connection; empty for the connection to the test gateway.
pub(super) fn config(access: &Access, id: ConnectionId) -> Result<Value, AccessError> {
    match access.connection(id) {
        Some(connection) => access.connection_config(&connection),
        None => Ok(serde_json::json!({})),
    }
}
