//! To whom a callback's address belongs.

use serde_json::Value;

use crate::engine::{Engine, EngineError};
use crate::environment::Environment;
use crate::ids::{AccountId, AppId, ConnectionId};

/// A connection, or the one to the test gateway that every app has in sandbox without a row of its own.
pub(super) struct Home {
    pub app: AppId,
    pub account: AccountId,
    pub environment: Environment,
    pub gateway: String,
}

/// `None`: there is no such connection. A disabled connection still receives callbacks about
/// its attempts. The address of an app's test connection is public. Without a test gateway there is
/// no such connection, since its callbacks would wait for a reader.
pub(super) fn find(engine: &Engine, id: ConnectionId) -> Option<Home> {
    let access = &engine.access;
    if let Some(connection) = access.connection(id) {
        let app = access.app(connection.app)?;
        return Some(Home {
            app: app.id,
            account: app.account,
            environment: connection.environment,
            gateway: connection.gateway.clone(),
        });
    }
    let app = access.app(AppId::new(id.ulid()))?;
    engine.gateways.reader(&engine.settings.sandbox_gateway)?;
    Some(Home {
        app: app.id,
        account: app.account,
        environment: Environment::Sandbox,
        gateway: engine.settings.sandbox_gateway.clone(),
    })
}

/// The connection's credentials; the test gateway's own have none.
pub(super) fn config(engine: &Engine, id: ConnectionId) -> Result<Value, EngineError> {
    match engine.access.connection(id) {
        Some(connection) => Ok(engine.access.connection_config(&connection)?),
        None => Ok(serde_json::json!({})),
    }
}
