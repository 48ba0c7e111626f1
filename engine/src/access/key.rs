//! API keys: their rows, and how they are created, rolled and deleted.
//!
//! The key itself is shown once, when it is made; [`super::token`] says how it looks. Rolling makes
//! a second key like the first, which stays valid for a grace period, so that a merchant can switch
//! without a failed request.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::AccessError;
use super::rows::{self, Kind};
use super::token::{self, TokenForm};
use super::{Access, text};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, KeyId};
use switchyard_core::limits::{KEY_GRACE, KEYS_PER_APP};
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;
use switchyard_store::Batch;
use switchyard_system::secrets::Fingerprint;

/// Secret keys do everything and stay on the merchant's server; public keys only initialize.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyKind {
    Secret,
    Public,
}

impl KeyKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Public => "public",
        }
    }

    pub(super) const fn in_key(self) -> &'static str {
        match self {
            Self::Secret => "sk",
            Self::Public => "pk",
        }
    }
}

/// Stored form of an API key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    pub id: KeyId,
    pub app: AppId,
    pub environment: Environment,
    pub kind: KeyKind,
    pub name: Option<String>,
    /// Prefix of the random part: `switchyard_sk_test_`.
    pub prefix: String,
    pub last_four: String,
    pub hash: Fingerprint,
    pub created_at: Timestamp,
    /// Set when the key was rolled: the end of its grace period.
    pub expires_at: Option<Timestamp>,
}

impl Key {
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// New key with its plain text, which is not stored.
#[derive(Debug)]
pub struct NewKey {
    pub key: Arc<Key>,
    pub secret: Secret<String>,
}

/// Key to make.
#[derive(Clone, Debug)]
pub struct KeyRequest {
    pub app: AppId,
    pub environment: Environment,
    pub kind: KeyKind,
    pub name: Option<String>,
}

/// A key as a list shows it.
#[derive(Clone, Debug)]
pub struct ListedKey {
    pub key: Arc<Key>,
    pub last_used_at: Option<Timestamp>,
}

impl Access {
    /// Keys of an app, oldest first, without expired ones.
    pub fn keys(&self, app: AppId) -> Result<Vec<ListedKey>, AccessError> {
        let now = self.0.clock.now();
        let set = self.set();
        let owner = set
            .app(app)
            .ok_or_else(|| AccessError::not_found("app", app))?;
        let valid = owner.keys.values().filter(|live| !live.key.is_expired(now));
        Ok(valid.map(|live| live.listed()).collect())
    }

    pub fn key(&self, id: KeyId) -> Option<ListedKey> {
        self.set().key(id).map(|live| live.listed())
    }

    pub async fn create_key(
        &self,
        app: AppId,
        environment: Environment,
        kind: KeyKind,
        name: Option<String>,
    ) -> Result<NewKey, AccessError> {
        let new = KeyRequest {
            app,
            environment,
            kind,
            name,
        };
        self.create_key_with(self.new_key_id(), new, Batch::new())
            .await
    }

    /// An id for a key that is not made yet.
    pub fn new_key_id(&self) -> KeyId {
        KeyId::new(self.0.ids.ulid(self.0.clock.now()))
    }

    /// Makes a key with an id of [`Self::new_key_id`]. `also`: rows of the caller in the same
    /// commit.
    pub async fn create_key_with(
        &self,
        id: KeyId,
        request: KeyRequest,
        also: Batch,
    ) -> Result<NewKey, AccessError> {
        let KeyRequest {
            app,
            environment,
            kind,
            name,
        } = request;
        if let Some(name) = &name {
            text::name("name", name)?;
        }
        let gate = self.gate().await;
        if self.keys(app)?.len() >= KEYS_PER_APP {
            return Err(AccessError::TooManyKeys(KEYS_PER_APP));
        }
        let new = self.make_key(id, app, environment, kind, name);
        let mut batch = also;
        rows::put(&mut batch, Kind::Key, new.key.id, &*new.key)?;
        let row = new.key.clone();
        gate.commit(batch, move |set| {
            set.put_key(row);
        })
        .await?;
        Ok(new)
    }

    /// Makes a key like this one. The old one stays valid for `grace` (at most [`KEY_GRACE`]); for
    /// zero it is deleted at once.
    pub async fn roll_key(&self, id: KeyId, grace: Duration) -> Result<NewKey, AccessError> {
        self.roll_key_with(id, self.new_key_id(), grace, Batch::new())
            .await
    }

    /// The same. `new`: id of the new key, of [`Self::new_key_id`]. `also`: rows of the caller that
    /// are committed with it.
    pub async fn roll_key_with(
        &self,
        id: KeyId,
        new: KeyId,
        grace: Duration,
        also: Batch,
    ) -> Result<NewKey, AccessError> {
        if grace > KEY_GRACE {
            return Err(AccessError::invalid(
                "grace",
                format!("is at most {} days", KEY_GRACE.as_secs() / 86_400),
            ));
        }
        let gate = self.gate().await;
        let now = self.0.clock.now();
        let old = self.valid_key(id, now)?;
        let new = self.make_key(new, old.app, old.environment, old.kind, old.name.clone());
        let end = old
            .expires_at
            .map_or(now.plus(grace), |end| end.min(now.plus(grace)));
        let old = Arc::new(Key {
            expires_at: Some(end),
            ..(*old).clone()
        });
        let over = self.expired_keys(old.app, now);

        let mut batch = also;
        rows::put(&mut batch, Kind::Key, new.key.id, &*new.key)?;
        rows::put(&mut batch, Kind::Key, old.id, &*old)?;
        for key in &over {
            rows::delete(&mut batch, Kind::Key, key.id);
        }
        if grace.is_zero() {
            rows::delete(&mut batch, Kind::Key, old.id);
        }
        let row = new.key.clone();
        gate.commit(batch, move |set| {
            set.put_key(row);
            if grace.is_zero() {
                set.remove_key(&old);
            } else {
                set.put_key(old);
            }
            over.iter().for_each(|key| set.remove_key(key));
        })
        .await?;
        Ok(new)
    }

    /// Revokes a key.
    pub async fn delete_key(&self, id: KeyId) -> Result<(), AccessError> {
        self.delete_key_with(id, Batch::new()).await
    }

    /// The same. `also`: rows of the caller that are committed with it.
    pub async fn delete_key_with(&self, id: KeyId, also: Batch) -> Result<(), AccessError> {
        let gate = self.gate().await;
        let key = self
            .key(id)
            .ok_or_else(|| AccessError::not_found("key", id))?
            .key;
        let mut batch = also;
        rows::delete(&mut batch, Kind::Key, id);
        gate.commit(batch, move |set| set.remove_key(&key)).await?;
        self.0.limiter.forget(id);
        Ok(())
    }

    fn make_key(
        &self,
        id: KeyId,
        app: AppId,
        environment: Environment,
        kind: KeyKind,
        name: Option<String>,
    ) -> NewKey {
        let now = self.0.clock.now();
        let made = token::make(
            TokenForm::Key(kind, environment),
            self.service_code(),
            &self.0.ids,
        );
        let key = Arc::new(Key {
            id,
            app,
            environment,
            kind,
            name,
            prefix: made.prefix,
            last_four: made.last_four,
            hash: made.hash,
            created_at: now,
            expires_at: None,
        });
        NewKey {
            key,
            secret: made.token,
        }
    }

    fn valid_key(&self, id: KeyId, now: Timestamp) -> Result<Arc<Key>, AccessError> {
        let key = self
            .key(id)
            .map(|listed| listed.key)
            .filter(|key| !key.is_expired(now));
        key.ok_or_else(|| AccessError::not_found("key", id))
    }

    fn expired_keys(&self, app: AppId, now: Timestamp) -> Vec<Arc<Key>> {
        let set = self.set();
        let keys = set
            .app(app)
            .into_iter()
            .flat_map(|owner| owner.keys.values());
        keys.map(|live| live.key.clone())
            .filter(|key| key.is_expired(now))
            .collect()
    }
}
