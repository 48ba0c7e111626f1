//! A gateway with one app's credentials, in one environment.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::AccessError;
use super::limits::ConnectionLimits;
use super::rows::{self, Kind};
use super::vault::{Sealed, VaultError};
use super::{Access, WriteGuard, text};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AccountId, AppId, ConnectionId};
use switchyard_core::limits::{CONNECTION_CONFIG_BYTES, CONNECTIONS_PER_APP};
use switchyard_core::time::Timestamp;
use switchyard_records::note_past_connection;
use switchyard_store::Batch;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    pub id: ConnectionId,
    pub app: AppId,
    pub environment: Environment,
    /// The gateway's name, as in its manifest.
    pub gateway: String,
    /// Name of this account at the provider.
    pub account_name: String,
    /// Codes of the methods it may serve; `None`: all that the gateway has.
    pub methods: Option<Vec<String>>,
    /// The credentials and options that the gateway's manifest asks for, as JSON. Opened by
    /// [`super::Access::connection_config`].
    pub config: Sealed,
    /// Time of the last change of `config`; 1970 in rows that are older than this field. An
    /// account's answer about a request that was sent with earlier credentials proves nothing.
    #[serde(default)]
    pub config_changed_at: Timestamp,
    #[serde(default)]
    pub limits: ConnectionLimits,
    pub is_enabled: bool,
    pub created_at: Timestamp,
}

impl Connection {
    /// When its config was last replaced by another one. `None`: it has the config of its creation.
    pub fn reconfigured_at(&self) -> Option<Timestamp> {
        (self.config_changed_at != self.created_at).then_some(self.config_changed_at)
    }
}

/// Fields of a connection. No `Debug`: its config holds credentials.
#[derive(Clone)]
pub struct NewConnection {
    pub app: AppId,
    pub environment: Environment,
    pub gateway: String,
    pub account_name: String,
    pub methods: Option<Vec<String>>,
    pub config: serde_json::Value,
}

/// Change of a connection. `None` leaves a field unchanged; `Some(None)` as methods means all of
/// the gateway's.
#[derive(Clone, Default)]
pub struct ConnectionChange {
    pub account_name: Option<String>,
    pub methods: Option<Option<Vec<String>>>,
    pub config: Option<serde_json::Value>,
    pub limits: Option<ConnectionLimits>,
    pub is_enabled: Option<bool>,
}

impl Access {
    /// The connections of an app in one environment, disabled ones too, oldest first.
    pub fn connections(&self, app: AppId, environment: Environment) -> Vec<Arc<Connection>> {
        let set = self.set();
        let all = set
            .app(app)
            .into_iter()
            .flat_map(|owner| owner.connections.values());
        all.filter(|connection| connection.environment == environment)
            .cloned()
            .collect()
    }

    pub fn connection(&self, id: ConnectionId) -> Option<Arc<Connection>> {
        self.set().connection(id).cloned()
    }

    /// The credentials and options that the gateway gets.
    pub fn connection_config(
        &self,
        connection: &Connection,
    ) -> Result<serde_json::Value, AccessError> {
        let app = self
            .app(connection.app)
            .ok_or_else(|| AccessError::not_found("app", connection.app))?;
        let opened = self.0.vault.open(app.account, CONFIG, &connection.config)?;
        Ok(serde_json::from_slice(opened.expose()).map_err(|_| VaultError::Damaged(CONFIG))?)
    }

    /// Creates a connection without limits of its own.
    pub async fn create_connection(
        &self,
        new: NewConnection,
    ) -> Result<Arc<Connection>, AccessError> {
        self.create_limited_connection(new, ConnectionLimits::default(), true)
            .await
    }

    pub async fn create_limited_connection(
        &self,
        new: NewConnection,
        limits: ConnectionLimits,
        is_enabled: bool,
    ) -> Result<Arc<Connection>, AccessError> {
        limits.check()?;
        text::name("gateway", &new.gateway)?;
        text::name("account_name", &new.account_name)?;
        check_methods(new.methods.as_deref())?;
        let gate = self.gate().await;
        let app = self
            .app(new.app)
            .ok_or_else(|| AccessError::not_found("app", new.app))?;
        let existing = self
            .set()
            .app(app.id)
            .map_or(0, |owner| owner.connections.len());
        if existing >= CONNECTIONS_PER_APP {
            return Err(AccessError::TooManyConnections(CONNECTIONS_PER_APP));
        }
        let now = self.0.clock.now();
        let connection = Connection {
            id: ConnectionId::new(self.0.ids.ulid(now)),
            app: app.id,
            environment: new.environment,
            gateway: new.gateway,
            account_name: new.account_name,
            methods: new.methods,
            config: self.seal_config(app.account, &new.config)?,
            config_changed_at: now,
            limits,
            is_enabled,
            created_at: now,
        };
        put(gate, connection).await
    }

    pub async fn update_connection(
        &self,
        id: ConnectionId,
        change: ConnectionChange,
    ) -> Result<Arc<Connection>, AccessError> {
        let gate = self.gate().await;
        let connection = self
            .connection(id)
            .ok_or_else(|| AccessError::not_found("connection", id))?;
        let app = self
            .app(connection.app)
            .ok_or_else(|| AccessError::not_found("app", connection.app))?;
        // The same config saved again changes nothing.
        let (config, config_changed_at) = match &change.config {
            Some(config) if self.connection_config(&connection).ok().as_ref() != Some(config) => {
                let sealed = self.seal_config(app.account, config)?;
                (sealed, self.0.clock.now())
            }
            _ => (connection.config.clone(), connection.config_changed_at),
        };
        let changed = Connection {
            account_name: change
                .account_name
                .unwrap_or_else(|| connection.account_name.clone()),
            methods: change.methods.unwrap_or_else(|| connection.methods.clone()),
            config,
            config_changed_at,
            limits: change.limits.unwrap_or_else(|| connection.limits.clone()),
            is_enabled: change.is_enabled.unwrap_or(connection.is_enabled),
            ..(*connection).clone()
        };
        text::name("account_name", &changed.account_name)?;
        check_methods(changed.methods.as_deref())?;
        changed.limits.check()?;
        put(gate, changed).await
    }

    /// Begins to delete a connection: no attempt is submitted through it until the deletion is
    /// committed or dropped. The caller looks for open attempts in between; no further ones can
    /// begin.
    pub async fn begin_deletion(&self, id: ConnectionId) -> Result<Deletion, AccessError> {
        let gate = self.gate().await;
        let connection = self
            .connection(id)
            .ok_or_else(|| AccessError::not_found("connection", id))?;
        self.closing(|closing| closing.insert(id));
        let closed = Closed {
            access: self.clone(),
            connection: id,
        };
        Ok(Deletion {
            gate,
            connection,
            closed,
        })
    }

    /// Whether nothing is submitted through a connection now: it is switched off, or being deleted.
    pub(crate) fn is_closed(&self, id: ConnectionId) -> bool {
        let is_off = |connection: Arc<Connection>| !connection.is_enabled;
        self.connection(id).is_some_and(is_off) || self.closing(|closing| closing.contains(&id))
    }

    fn closing<T>(&self, look: impl FnOnce(&mut BTreeSet<ConnectionId>) -> T) -> T {
        look(&mut self.0.closing.lock())
    }

    fn seal_config(
        &self,
        account: AccountId,
        config: &serde_json::Value,
    ) -> Result<Sealed, AccessError> {
        if !config.is_object() {
            return Err(AccessError::invalid("config", "is a JSON object"));
        }
        let text = zeroize::Zeroizing::new(config.to_string());
        if text.len() > CONNECTION_CONFIG_BYTES {
            return Err(AccessError::invalid(
                "config",
                format!("is longer than {CONNECTION_CONFIG_BYTES} bytes"),
            ));
        }
        Ok(self.0.vault.seal(account, CONFIG, text.as_bytes())?)
    }
}

/// A connection that is being deleted.
pub struct Deletion {
    gate: WriteGuard,
    connection: Arc<Connection>,
    closed: Closed,
}

/// Held while nothing is submitted through a connection.
struct Closed {
    access: Access,
    connection: ConnectionId,
}

impl Drop for Closed {
    fn drop(&mut self) {
        let connection = self.connection;
        self.access.closing(|closing| closing.remove(&connection));
    }
}

impl Deletion {
    /// Deletes the connection with its credentials. Transactions that went through it keep its id,
    /// and a search still finds them by the names of their attempts there.
    pub async fn commit(self) -> Result<(), AccessError> {
        let Self {
            gate,
            connection,
            closed,
        } = self;
        let mut batch = Batch::new();
        rows::delete(&mut batch, Kind::Connection, connection.id);
        let Connection {
            app, environment, ..
        } = *connection;
        note_past_connection(&mut batch, app, environment, connection.id);
        gate.commit(batch, move |set| {
            set.remove_connection(&connection);
            drop(closed);
        })
        .await
    }
}

async fn put(gate: WriteGuard, connection: Connection) -> Result<Arc<Connection>, AccessError> {
    let mut batch = Batch::new();
    rows::put(&mut batch, Kind::Connection, connection.id, &connection)?;
    let connection = Arc::new(connection);
    let row = connection.clone();
    gate.commit(batch, move |set| {
        set.put_connection(row);
    })
    .await?;
    Ok(connection)
}

fn check_methods(methods: Option<&[String]>) -> Result<(), AccessError> {
    match methods {
        Some([]) => Err(AccessError::invalid(
            "methods",
            "is an empty list: leave it out for all methods of the gateway, or disable the connection",
        )),
        Some(codes) if codes.len() > METHODS => Err(AccessError::invalid(
            "methods",
            format!("names more than {METHODS} methods"),
        )),
        _ => Ok(()),
    }
}

/// Purpose of a connection's configuration that the vault authenticates.
const CONFIG: &str = "connection config";
/// No gateway serves more; a longer list is a mistake.
const METHODS: usize = 500;
