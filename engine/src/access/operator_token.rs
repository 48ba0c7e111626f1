//! What an operator shows to the operator API: a token of this service, made here or named by its hash in the settings.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::{AccessError, Unauthorized};
use super::rows::{self, Kind};
use super::token::{self, Fingerprint, TokenForm};
use super::{Access, text};
use crate::clock::Timestamp;
use crate::ids::{Ids, OperatorTokenId};
use crate::secret::Secret;
use crate::store::Batch;

/// What is kept of an operator's token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorToken {
    pub id: OperatorTokenId,
    pub name: String,
    pub prefix: String,
    pub last_four: String,
    pub hash: Fingerprint,
    pub created_at: Timestamp,
}

/// An operator's token that was just made, with the one look at it that there is.
#[derive(Debug)]
pub struct NewOperatorToken {
    pub token: Arc<OperatorToken>,
    pub secret: Secret<String>,
}

/// Who asks the operator API, for its log and for the timelines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    pub name: String,
    /// `None`: a token of the settings file.
    pub token: Option<OperatorTokenId>,
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
        if self.0.options.operator_tokens.contains(&hash) {
            let name = "settings".to_owned();
            return Ok(Operator { name, token: None });
        }
        let set = self.set();
        let found = set.tokens.values().find(|token| token.hash == hash);
        found.map_or(Err(Unauthorized::Unknown), |found| {
            Ok(Operator {
                name: found.name.clone(),
                token: Some(found.id),
            })
        })
    }

    /// Whether this operator's token still opens anything: for what lasts longer than a request.
    pub fn is_operator(&self, operator: &Operator) -> bool {
        let tokens = &self.set().tokens;
        operator.token.is_none_or(|id| tokens.contains_key(&id))
    }

    pub fn operator_tokens(&self) -> Vec<Arc<OperatorToken>> {
        self.set().tokens.values().cloned().collect()
    }

    pub async fn create_operator_token(&self, name: &str) -> Result<NewOperatorToken, AccessError> {
        text::name("name", name)?;
        let gate = self.gate().await;
        let now = self.0.clock.now();
        let made = token::make(TokenForm::Operator, self.service_code(), &self.0.ids);
        let token = Arc::new(OperatorToken {
            id: OperatorTokenId::new(self.0.ids.ulid(now)),
            name: name.to_owned(),
            prefix: made.prefix,
            last_four: made.last_four,
            hash: made.hash,
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

    /// Deletes a token: from now on it opens nothing.
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
}
