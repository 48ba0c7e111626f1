//! Access: accounts, apps, keys, webhooks, connections, rate limits, and the vault that encrypts
//! secrets.
//!
//! The whole set is in memory, loaded at the start: a request is authenticated without a read of
//! the store. Changes are written to the store first and made in memory after, one at a time; a
//! change is finished even if its caller has disconnected. So memory and store always agree, except
//! for the times at which keys were last used, which are not stored.

mod account;
mod app;
mod branding;
mod callback;
mod connection;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod installation;
mod key;
mod limits;
mod logo;
mod master_key;
mod operator_token;
mod rate_limit;
mod reseal;
mod routing;
mod rows;
mod second_person;
mod seed;
mod set;
#[cfg(test)]
mod tests;
mod text;
mod token;
mod vault;
mod webhook;
mod webhook_options;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::{Mutex, OwnedMutexGuard};
use ulid::Ulid;

pub use self::account::Account;
pub use self::app::{App, AppChange, AppSettings, NewApp};
pub use self::branding::Picture;
pub use self::connection::{Connection, ConnectionChange, Deletion, NewConnection};
pub use self::error::{AccessError, Unauthorized};
pub use self::installation::{InstallationVault, UserSecret};
pub use self::key::{Key, KeyKind, KeyRequest, ListedKey, NewKey};
pub use self::limits::{AmountLimit, ConnectionLimits};
pub use self::logo::{Logo, LogoError};
pub use self::master_key::{MasterKey, MasterKeyError};
pub use self::operator_token::{
    NewOperatorToken, Operator, OperatorToken, SettingsToken, TokenMaker, make_for_settings,
};
pub use self::rate_limit::{Rate, Scope as RateScope, WINDOW as RATE_LIMIT_WINDOW};
pub use self::reseal::{Resealed, reseal};
pub use self::routing::RoutingRules;
pub use self::second_person::SecondPerson;
pub use self::seed::{Development, DevelopmentKeys};
pub use self::vault::{Sealed, Vault, VaultError};
pub use self::webhook::{
    Disabled, NewWebhook, Webhook, WebhookChange, checked_webhook_secret, new_webhook_secret,
};
pub use self::webhook_options::{EventFilter, RetryProfile, WebhookOptions};
pub use switchyard_core::environment::{Environment, ParseEnvironmentError};

use self::rate_limit::{RateLimiter, RateLimits};
use self::rows::Kind;
use self::set::Set;
use self::token::TokenForm;
use switchyard_core::ids::{AppId, ConnectionId, KeyId, PaymentId};
use switchyard_store::{Batch, CommitError, Store};
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use switchyard_system::secrets::Fingerprint;

/// Handle of the access data. Clones share it.
#[derive(Clone)]
pub struct Access(Arc<Inner>);

struct Inner {
    store: Store,
    vault: Vault,
    clock: Clock,
    ids: Ids,
    options: Options,
    limiter: RateLimiter,
    set: RwLock<Set>,
    /// Connections through which nothing is submitted while it is decided whether they are deleted.
    closing: parking_lot::Mutex<BTreeSet<ConnectionId>>,
    /// Held from reading what a change depends on until it is made: changes happen one at a time.
    gate: Arc<Mutex<()>>,
}

/// Settings of access.
#[derive(Clone, Debug)]
pub struct Options {
    /// Prefix of keys: 1 to 20 lower-case letters and digits.
    pub service_code: String,
    /// Requests in any 60 s for each secret key, and for each public key and client address; 0: no
    /// limit.
    pub requests_per_minute: u32,
    /// Requests in any 60 s for each public key, from all addresses together; not looked at when
    /// there is no limit.
    pub public_key_requests_per_minute: u32,
    /// Requests in any 60 s without a key, for each client address; 0: any number, as when there is
    /// no limit.
    pub requests_without_key_per_minute: u32,
    /// Operator tokens that the settings name, besides those in the store.
    pub operator_tokens: Vec<SettingsToken>,
    /// Tokens that read `/metrics` and do nothing else.
    pub metrics_tokens: Vec<SettingsToken>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            service_code: "switchyard".to_owned(),
            requests_per_minute: 120,
            public_key_requests_per_minute: 6_000,
            requests_without_key_per_minute: 1_200,
            operator_tokens: Vec::new(),
            metrics_tokens: Vec::new(),
        }
    }
}

/// Sender of a request, by its key.
#[derive(Clone, Debug)]
pub struct Caller {
    pub app: Arc<App>,
    pub environment: Environment,
    pub kind: KeyKind,
    pub key: KeyId,
}

impl Access {
    /// Loads everything from the store. Fails when a row cannot be read or the vault's master key
    /// is not the one that sealed it.
    pub async fn load(
        store: Store,
        vault: Vault,
        clock: Clock,
        ids: Ids,
        options: Options,
    ) -> Result<Self, AccessError> {
        let mut set = Set::default();
        for row in rows::all(&store, Kind::DataKey).await? {
            vault.adopt(&row)?;
        }
        for account in rows::all::<Account>(&store, Kind::Account).await? {
            set.accounts.insert(account.id, Arc::new(account));
        }
        for app in rows::all(&store, Kind::App).await? {
            set.put_app(Arc::new(app));
        }
        for key in rows::all::<Key>(&store, Kind::Key).await? {
            let (id, app) = (key.id, key.app);
            owned(set.put_key(Arc::new(key)), id, app)?;
        }
        for webhook in rows::all::<Webhook>(&store, Kind::Webhook).await? {
            let (id, app) = (webhook.id, webhook.app);
            owned(set.put_webhook(Arc::new(webhook)), id, app)?;
        }
        for connection in rows::all::<Connection>(&store, Kind::Connection).await? {
            let (id, app) = (connection.id, connection.app);
            owned(set.put_connection(Arc::new(connection)), id, app)?;
        }
        for rules in rows::all::<RoutingRules>(&store, Kind::Routing).await? {
            let (version, app) = (rules.version, rules.app);
            owned(set.put_routing(Arc::new(rules)), version, app)?;
        }
        for token in rows::all::<OperatorToken>(&store, Kind::OperatorToken).await? {
            let name = token.name.to_lowercase();
            let mut of_settings = options.operator_tokens.iter();
            if of_settings.any(|named| named.name.to_lowercase() == name) {
                let problem = format!(
                    "names `{}`, which is the name of a token that the operator API made: choose \
                     another name",
                    token.name
                );
                return Err(AccessError::invalid("operator.tokens", problem));
            }
            set.tokens.insert(token.id, Arc::new(token));
        }
        Ok(Self(Arc::new(Inner {
            limiter: RateLimiter::new(RateLimits {
                per_key: options.requests_per_minute,
                public_key_total: options.public_key_requests_per_minute,
                without_key: options.requests_without_key_per_minute,
            }),
            store,
            vault,
            clock,
            ids,
            options,
            set: RwLock::new(set),
            closing: parking_lot::Mutex::default(),
            gate: Arc::default(),
        })))
    }

    /// Says who a bearer token is. A token of the wrong form, or with a wrong checksum, is refused
    /// before anything is looked up.
    pub fn authenticate(&self, bearer: &str) -> Result<Caller, Unauthorized> {
        let caller = self.look_up(bearer);
        if let Err(why) = &caller {
            metrics::counter!("switchyard_keys_refused_total", "why" => why.word()).increment(1);
        }
        caller
    }

    fn look_up(&self, bearer: &str) -> Result<Caller, Unauthorized> {
        match token::parse(bearer, &self.0.options.service_code) {
            Some(TokenForm::Key(..)) => {}
            Some(TokenForm::Operator) | None => return Err(Unauthorized::Malformed),
        }
        let hash = Fingerprint::of(bearer);
        let now = self.0.clock.now();
        let set = self.set();
        let live = set.by_hash(&hash).ok_or(Unauthorized::Unknown)?;
        if live.key.is_expired(now) {
            return Err(Unauthorized::Expired);
        }
        let app = &set.app(live.key.app).ok_or(Unauthorized::Unknown)?.app;
        if !app.is_enabled {
            return Err(Unauthorized::AppDisabled);
        }
        live.last_used.store(now.as_micros(), Ordering::Relaxed);
        Ok(Caller {
            app: app.clone(),
            environment: live.key.environment,
            kind: live.key.kind,
            key: live.key.id,
        })
    }

    /// A caller that is the app itself, for what an operator does in its place. It belongs to no
    /// key and to no rate limit.
    pub fn on_behalf_of(&self, app: AppId, environment: Environment) -> Option<Caller> {
        Some(Caller {
            app: self.app(app)?,
            environment,
            kind: KeyKind::Secret,
            key: KeyId::new(app.ulid()),
        })
    }

    /// Counts one request of a caller at `address`, and says whether it is within the limits.
    pub fn allow(&self, caller: &Caller, address: Option<IpAddr>) -> Rate {
        let now = self.0.clock.now();
        self.0.limiter.allow(caller.key, caller.kind, address, now)
    }

    /// Counts one request with a user's API token or session, which has this ULID. It has the limit
    /// of a secret key.
    pub fn allow_user(&self, id: Ulid, address: Option<IpAddr>) -> Rate {
        let (key, now) = (KeyId::new(id), self.0.clock.now());
        self.0.limiter.allow(key, KeyKind::Secret, address, now)
    }

    /// Counts one request without a key, or with one that opens nothing, of a client at `address`.
    pub fn allow_without_key(&self, address: IpAddr) -> Rate {
        let now = self.0.clock.now();
        self.0.limiter.allow_without_key(address, now)
    }

    /// Counts one request for pages of payments from an address over its limit, before the payment
    /// is looked for.
    pub fn allow_payers(&self, address: IpAddr) -> Rate {
        self.0.limiter.allow_payers(address, self.0.clock.now())
    }

    /// Counts one request for the pages of a payment, which exists, from an address over its limit.
    pub fn allow_payer(&self, payment: PaymentId) -> Rate {
        self.0.limiter.allow_payer(payment, self.0.clock.now())
    }

    /// Vault, for other modules' secrets.
    pub fn vault(&self) -> &Vault {
        &self.0.vault
    }

    /// Prefix of keys.
    pub fn service_code(&self) -> &str {
        &self.0.options.service_code
    }

    fn set(&self) -> RwLockReadGuard<'_, Set> {
        self.0.set.read()
    }

    async fn gate(&self) -> WriteGuard {
        WriteGuard {
            access: self.clone(),
            _held: self.0.gate.clone().lock_owned().await,
        }
    }
}

/// Exclusive right to change the data. Values that were read through it stay valid while it is
/// held.
struct WriteGuard {
    access: Access,
    _held: OwnedMutexGuard<()>,
}

impl WriteGuard {
    /// Commits `batch`, then makes the same change in memory. Runs in a task of its own: a caller
    /// that goes away (a client that hangs up) cannot leave the store and the memory apart.
    async fn commit(
        self,
        batch: Batch,
        change: impl FnOnce(&mut Set) + Send + 'static,
    ) -> Result<(), AccessError> {
        let task = tokio::spawn(async move {
            // All of it: a block that named only the access would leave the lock behind with the
            // caller.
            let Self { access, _held } = self;
            let inner = &access.0;
            inner.store.commit(batch).await.map_err(|why| match why {
                CommitError::Conflict => AccessError::Conflict,
                why => AccessError::Write(why),
            })?;
            let mut set: RwLockWriteGuard<'_, Set> = inner.set.write();
            change(&mut set);
            Ok(())
        });
        task.await.unwrap_or_else(|why| match why.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only a shutdown of the runtime cancels it.
            Err(_) => Err(AccessError::Conflict),
        })
    }
}

fn owned(found: bool, id: impl ToString, owner: impl ToString) -> Result<(), AccessError> {
    if found {
        return Ok(());
    }
    Err(AccessError::Orphan {
        key: id.to_string(),
        owner: owner.to_string(),
    })
}
