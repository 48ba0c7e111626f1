//! The whole of the access room in memory, arranged for how it is asked: keys by hash, the rest by
//! app.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::account::Account;
use super::app::App;
use super::connection::Connection;
use super::key::{Key, ListedKey};
use super::operator_token::OperatorToken;
use super::routing::RoutingRules;
use super::webhook::Webhook;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AccountId, AppId, ConnectionId, KeyId, OperatorTokenId, WebhookId};
use switchyard_core::limits::ROUTING_VERSIONS;
use switchyard_core::time::Timestamp;
use switchyard_system::secrets::Fingerprint;

#[derive(Default)]
pub(super) struct Set {
    pub accounts: BTreeMap<AccountId, Arc<Account>>,
    pub tokens: BTreeMap<OperatorTokenId, Arc<OperatorToken>>,
    apps: BTreeMap<AppId, AppState>,
    keys_by_hash: HashMap<Fingerprint, Arc<LiveKey>>,
    keys: HashMap<KeyId, AppId>,
    webhooks: HashMap<WebhookId, AppId>,
    connections: HashMap<ConnectionId, AppId>,
}

/// App with its keys, webhooks and other data.
pub(super) struct AppState {
    pub app: Arc<App>,
    pub keys: BTreeMap<KeyId, Arc<LiveKey>>,
    pub webhooks: BTreeMap<WebhookId, Arc<Webhook>>,
    /// Enabled ones of `webhooks`, read at each event.
    pub enabled_webhooks: Arc<[Arc<Webhook>]>,
    pub connections: BTreeMap<ConnectionId, Arc<Connection>>,
    /// Of each environment the versions that are kept, oldest first.
    routing: BTreeMap<Environment, Vec<Arc<RoutingRules>>>,
}

/// A key and when it was last used, in microseconds; 0: not since the start.
pub(super) struct LiveKey {
    pub key: Arc<Key>,
    pub last_used: AtomicI64,
}

impl LiveKey {
    pub fn listed(&self) -> ListedKey {
        let micros = self.last_used.load(Ordering::Relaxed);
        ListedKey {
            key: self.key.clone(),
            last_used_at: (micros != 0).then(|| Timestamp::from_micros(micros)),
        }
    }
}

impl Set {
    pub fn apps(&self) -> impl Iterator<Item = &AppState> {
        self.apps.values()
    }

    pub fn app(&self, id: AppId) -> Option<&AppState> {
        self.apps.get(&id)
    }

    pub fn by_hash(&self, hash: &Fingerprint) -> Option<&Arc<LiveKey>> {
        self.keys_by_hash.get(hash)
    }

    pub fn key(&self, id: KeyId) -> Option<&Arc<LiveKey>> {
        self.app(*self.keys.get(&id)?)?.keys.get(&id)
    }

    pub fn webhook(&self, id: WebhookId) -> Option<&Arc<Webhook>> {
        self.app(*self.webhooks.get(&id)?)?.webhooks.get(&id)
    }

    pub fn connection(&self, id: ConnectionId) -> Option<&Arc<Connection>> {
        self.app(*self.connections.get(&id)?)?.connections.get(&id)
    }

    /// Puts a new app in, or a changed one in the place of the old.
    pub fn put_app(&mut self, app: Arc<App>) {
        if let Some(there) = self.apps.get_mut(&app.id) {
            there.app = app;
            return;
        }
        self.apps.insert(
            app.id,
            AppState {
                app,
                keys: BTreeMap::new(),
                webhooks: BTreeMap::new(),
                enabled_webhooks: Arc::default(),
                connections: BTreeMap::new(),
                routing: BTreeMap::new(),
            },
        );
    }

    /// Puts a key in. `false`: its app does not exist. (The same for the two below.)
    pub fn put_key(&mut self, key: Arc<Key>) -> bool {
        let Some(owner) = self.apps.get_mut(&key.app) else {
            return false;
        };
        let last_used = owner
            .keys
            .get(&key.id)
            .map_or(0, |there| there.last_used.load(Ordering::Relaxed));
        let live = Arc::new(LiveKey {
            last_used: AtomicI64::new(last_used),
            key: key.clone(),
        });
        owner.keys.insert(key.id, live.clone());
        self.keys.insert(key.id, key.app);
        self.keys_by_hash.insert(key.hash, live);
        true
    }

    pub fn put_webhook(&mut self, webhook: Arc<Webhook>) -> bool {
        let Some(owner) = self.apps.get_mut(&webhook.app) else {
            return false;
        };
        self.webhooks.insert(webhook.id, webhook.app);
        owner.webhooks.insert(webhook.id, webhook);
        owner.refresh();
        true
    }

    pub fn put_connection(&mut self, connection: Arc<Connection>) -> bool {
        let Some(owner) = self.apps.get_mut(&connection.app) else {
            return false;
        };
        self.connections.insert(connection.id, connection.app);
        owner.connections.insert(connection.id, connection);
        true
    }

    /// Puts a version of rules in behind the earlier ones, and lets the oldest go when there are
    /// too many.
    pub fn put_routing(&mut self, rules: Arc<RoutingRules>) -> bool {
        let Some(owner) = self.apps.get_mut(&rules.app) else {
            return false;
        };
        let versions = owner.routing.entry(rules.environment).or_default();
        versions.push(rules);
        versions.drain(..versions.len().saturating_sub(ROUTING_VERSIONS));
        true
    }

    pub fn remove_key(&mut self, key: &Key) {
        self.keys.remove(&key.id);
        self.keys_by_hash.remove(&key.hash);
        if let Some(owner) = self.apps.get_mut(&key.app) {
            owner.keys.remove(&key.id);
        }
    }

    pub fn remove_webhook(&mut self, webhook: &Webhook) {
        self.webhooks.remove(&webhook.id);
        if let Some(owner) = self.apps.get_mut(&webhook.app) {
            owner.webhooks.remove(&webhook.id);
            owner.refresh();
        }
    }

    pub fn remove_connection(&mut self, connection: &Connection) {
        self.connections.remove(&connection.id);
        if let Some(owner) = self.apps.get_mut(&connection.app) {
            owner.connections.remove(&connection.id);
        }
    }
}

impl AppState {
    pub fn routing(&self, environment: Environment) -> &[Arc<RoutingRules>] {
        self.routing.get(&environment).map_or(&[], Vec::as_slice)
    }

    fn refresh(&mut self) {
        self.enabled_webhooks = self
            .webhooks
            .values()
            .filter(|webhook| webhook.is_enabled)
            .cloned()
            .collect();
    }
}
