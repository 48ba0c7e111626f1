//! Operator tokens: created here, or listed by their hash in the settings.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::{AccessError, Unauthorized};
use super::rows::{self, Kind};
use super::set::Set;
use super::token::{self, TokenForm};
use super::{Access, text};
use switchyard_core::ids::OperatorTokenId;
use switchyard_core::limits::TOKEN_ANCESTORS;
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;
use switchyard_store::Batch;
use switchyard_system::ids::Ids;
use switchyard_system::secrets::Fingerprint;

/// Stored form of an operator token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorToken {
    pub id: OperatorTokenId,
    pub name: String,
    pub prefix: String,
    pub last_four: String,
    pub hash: Fingerprint,
    /// See [`Operator::origin`].
    pub origin: String,
    /// `None`: the engine made it, in development mode.
    #[serde(default)]
    pub made_by: Option<TokenMaker>,
    pub created_at: Timestamp,
}

/// Token with which another one was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenMaker {
    pub name: String,
    /// Tells it from a later token of the same name.
    pub hash: Fingerprint,
    /// Names of the tokens from which that one descends, the oldest first. They stay known when a
    /// token between was deleted.
    #[serde(default)]
    pub ancestors: Vec<String>,
}

/// New operator token with its plain text, which is not stored.
#[derive(Debug)]
pub struct NewOperatorToken {
    pub token: Arc<OperatorToken>,
    pub secret: Secret<String>,
}

/// Operator of a request, for the audit log and the timelines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    pub name: String,
    /// `None`: a token of the settings file.
    pub token: Option<OperatorTokenId>,
    /// Hash of the token from which this one descends: a token that the operator API made has the
    /// origin of the token that asked for it. Whoever has one token can make any number of the same
    /// origin, so only tokens of two origins prove that two people agree.
    pub origin: String,
}

/// A token that the settings name by its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsToken {
    pub name: String,
    pub hash: Fingerprint,
}

impl SettingsToken {
    /// Reads `name:sha256:<hash>`, or `sha256:<hash>`, whose name is `settings-` and the first
    /// characters of its hash. `None`: it is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let (named, hex) = text.rsplit_once("sha256:")?;
        let hash = Fingerprint::from_hex(hex)?;
        let name = match named {
            "" => format!("settings-{:.8}", hash.to_string()),
            _ => named.strip_suffix(':')?.trim().to_owned(),
        };
        text::name("name", &name).ok()?;
        Some(Self { name, hash })
    }
}

/// A token that the settings can name by its hash: the token, and `sha256:<hash>`.
pub fn make_for_settings(service_code: &str, ids: &Ids) -> (Secret<String>, String) {
    let made = token::make(TokenForm::Operator, service_code, ids);
    let setting = format!("sha256:{}", made.hash);
    (made.token, setting)
}

impl Access {
    /// Says who an operator's token is.
    pub fn authenticate_operator(&self, bearer: &str) -> Result<Operator, Unauthorized> {
        if token::parse(bearer, self.service_code()) != Some(TokenForm::Operator) {
            return Err(Unauthorized::Malformed);
        }
        let hash = Fingerprint::of(bearer);
        let mut of_settings = self.0.options.operator_tokens.iter();
        if let Some(found) = of_settings.find(|token| token.hash == hash) {
            return Ok(Operator {
                name: found.name.clone(),
                token: None,
                origin: hash.to_string(),
            });
        }
        let set = self.set();
        let found = set.tokens.values().find(|token| token.hash == hash);
        found.map_or(Err(Unauthorized::Unknown), |found| {
            Ok(Operator {
                name: found.name.clone(),
                token: Some(found.id),
                origin: self.live_origin(&set, &found.origin),
            })
        })
    }

    /// Whether this is a token for `/metrics`, which the settings name, or an operator's.
    pub fn may_read_metrics(&self, bearer: &str) -> bool {
        let hash = Fingerprint::of(bearer);
        let mut named = self.0.options.metrics_tokens.iter();
        named.any(|token| token.hash == hash) || self.authenticate_operator(bearer).is_ok()
    }

    /// An origin that was taken out of the settings, or deleted, proves nothing any more: empty.
    fn live_origin(&self, set: &Set, origin: &str) -> String {
        let hash = Fingerprint::from_hex(origin);
        let is_live = hash.is_some_and(|hash| self.is_token(set, hash));
        if is_live {
            origin.to_owned()
        } else {
            String::new()
        }
    }

    /// Whether the settings name a token with this hash, or the store has one.
    fn is_token(&self, set: &Set, hash: Fingerprint) -> bool {
        let mut of_settings = self.0.options.operator_tokens.iter();
        of_settings.any(|token| token.hash == hash)
            || set.tokens.values().any(|token| token.hash == hash)
    }

    /// Whether the token that created this one was deleted, or taken out of the settings.
    pub fn has_lost_its_maker(&self, token: &OperatorToken) -> bool {
        let maker = token.made_by.as_ref();
        maker.is_some_and(|maker| !self.is_token(&self.set(), maker.hash))
    }

    /// Hash of the token that `operator` showed.
    fn hash_of(&self, operator: &Operator) -> Option<Fingerprint> {
        match operator.token {
            Some(id) => self.set().tokens.get(&id).map(|token| token.hash),
            // A token of the settings is its own origin.
            None => Fingerprint::from_hex(&operator.origin),
        }
    }

    /// Whether this operator's token still opens anything: for what lasts longer than a request.
    pub fn is_operator(&self, operator: &Operator) -> bool {
        let tokens = &self.set().tokens;
        operator.token.is_none_or(|id| tokens.contains_key(&id))
    }

    pub fn operator_tokens(&self) -> Vec<Arc<OperatorToken>> {
        self.set().tokens.values().cloned().collect()
    }

    /// Creates a token. `by`: the operator who asks for it; `None`: the engine itself, in
    /// development mode.
    ///
    /// # Errors
    /// When the name is not one, or another token has it.
    pub async fn create_operator_token(
        &self,
        name: &str,
        by: Option<&Operator>,
    ) -> Result<NewOperatorToken, AccessError> {
        let name = name.trim();
        text::name("name", name)?;
        let gate = self.gate().await;
        self.check_token_name(name)?;
        let made_by = by.map(|by| self.maker(by)).transpose()?;
        let now = self.0.clock.now();
        let made = token::make(TokenForm::Operator, self.service_code(), &self.0.ids);
        let token = Arc::new(OperatorToken {
            id: OperatorTokenId::new(self.0.ids.ulid(now)),
            name: name.to_owned(),
            prefix: made.prefix,
            last_four: made.last_four,
            origin: by.map_or_else(|| made.hash.to_string(), |by| by.origin.clone()),
            hash: made.hash,
            made_by,
            created_at: now,
        });
        let mut batch = Batch::new();
        rows::put(&mut batch, Kind::OperatorToken, token.id, &*token)?;
        let row = token.clone();
        gate.commit(batch, move |set| {
            set.tokens.insert(row.id, row);
        })
        .await?;
        Ok(NewOperatorToken {
            token,
            secret: made.token,
        })
    }

    fn maker(&self, operator: &Operator) -> Result<TokenMaker, AccessError> {
        let gone = || AccessError::not_found("operator token", &operator.name);
        let ancestors = self.ancestors_of(operator);
        if ancestors.len() >= TOKEN_ANCESTORS {
            return Err(AccessError::invalid(
                "token",
                format!(
                    "has {TOKEN_ANCESTORS} ancestors, the most there may be: create this token \
                     with one of them, or with a token of the settings"
                ),
            ));
        }
        Ok(TokenMaker {
            name: operator.name.clone(),
            hash: self.hash_of(operator).ok_or_else(gone)?,
            ancestors,
        })
    }

    /// Names of the tokens from which the token that `operator` showed descends, the oldest first.
    fn ancestors_of(&self, operator: &Operator) -> Vec<String> {
        let set = self.set();
        let row = operator.token.and_then(|id| set.tokens.get(&id));
        let Some(maker) = row.and_then(|row| row.made_by.as_ref()) else {
            return Vec::new();
        };
        let names = maker.ancestors.iter().chain([&maker.name]);
        names.cloned().collect()
    }

    /// Refuses a name that another token or the engine has: the audit log could not distinguish
    /// them.
    fn check_token_name(&self, name: &str) -> Result<(), AccessError> {
        let name = name.to_lowercase();
        let of_settings = self.0.options.operator_tokens.iter();
        let in_settings = of_settings
            .map(|token| &token.name)
            .any(|known| known.to_lowercase() == name);
        let made = self
            .set()
            .tokens
            .values()
            .any(|token| token.name.to_lowercase() == name);
        match in_settings || made || name == ENGINE_NAME {
            true => Err(AccessError::invalid(
                "name",
                "is taken: each operator token needs a name of its own, which the audit log shows",
            )),
            false => Ok(()),
        }
    }

    /// Revokes a token.
    pub async fn delete_operator_token(&self, id: OperatorTokenId) -> Result<(), AccessError> {
        let gate = self.gate().await;
        if !self.set().tokens.contains_key(&id) {
            return Err(AccessError::not_found("operator token", id));
        }
        let mut batch = Batch::new();
        rows::delete(&mut batch, Kind::OperatorToken, id);
        gate.commit(batch, move |set| {
            set.tokens.remove(&id);
        })
        .await
    }

    /// Deletes the tokens that a token of this name created, and those that were created with them,
    /// in one commit, also when the token or one between no longer exists. Returns them. After a
    /// rotation under the same name this includes what the new token created.
    ///
    /// # Errors
    /// When there are none: the name may be mistyped.
    pub async fn revoke_tokens_made_by(
        &self,
        name: &str,
    ) -> Result<Vec<Arc<OperatorToken>>, AccessError> {
        let gate = self.gate().await;
        let revoked = descendants(self.operator_tokens(), name);
        if revoked.is_empty() {
            return Err(AccessError::not_found("operator token made by", name));
        }
        let ids: Vec<_> = revoked.iter().map(|token| token.id).collect();
        let mut batch = Batch::new();
        for id in &ids {
            rows::delete(&mut batch, Kind::OperatorToken, *id);
        }
        gate.commit(batch, move |set| {
            for id in ids {
                set.tokens.remove(&id);
            }
        })
        .await?;
        Ok(revoked)
    }
}

/// The tokens that `maker` created, those that these created, and so on. Rows without `ancestors`
/// are found through the tokens between, as long as these exist.
fn descendants(mut tokens: Vec<Arc<OperatorToken>>, maker: &str) -> Vec<Arc<OperatorToken>> {
    let mut makers = vec![maker.trim().to_lowercase()];
    let mut found = Vec::new();
    while let Some(maker) = makers.pop() {
        let descends = |token: &Arc<OperatorToken>| {
            let by = token.made_by.iter();
            let mut names = by.flat_map(|by| by.ancestors.iter().chain([&by.name]));
            names.any(|name| name.to_lowercase() == maker)
        };
        let (children, rest): (Vec<_>, Vec<_>) = tokens.into_iter().partition(descends);
        tokens = rest;
        makers.extend(children.iter().map(|token| token.name.to_lowercase()));
        found.extend(children);
    }
    found.sort_by_key(|token| token.id);
    found
}

/// The author of changes that the engine makes itself.
const ENGINE_NAME: &str = "engine";
