//! Creation, list and deletion of a user's API tokens.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use switchyard_core::ids::{AccountId, UserId, UserTokenId};
use switchyard_core::limits::{TOKENS_PER_USER, USER_TOKEN_LIFETIME};
use switchyard_core::time::Timestamp;
use switchyard_store::Batch;

use crate::audit::NewEntry;
use crate::authorize::Identity;
use crate::error::UsersError;
use crate::refusal::Refusal;
use crate::role::{Action, allowed_roles, allows};
use crate::rows::{self, Kind};
use crate::token::{self, NewUserToken, UserToken};
use crate::user::{User, checked_name};
use crate::users::Users;
use switchyard_system::secrets::Fingerprint;

/// Token that a user asks for.
#[derive(Clone, Debug)]
pub struct TokenRequest {
    pub name: String,
    /// Account to which the token is restricted. A user of accounts names one.
    pub account: Option<AccountId>,
    pub actions: BTreeSet<Action>,
    pub expires_at: Timestamp,
}

impl Users {
    /// Creates a token of the sender, who signed in recently. The role must allow each action.
    pub async fn create_token(
        &self,
        who: &Identity,
        request: TokenRequest,
    ) -> Result<NewUserToken, UsersError> {
        let gate = self.gate().await;
        let user = self.live_user(who)?;
        self.check_recently_authenticated(who)?;
        let now = gate.now();
        self.check_request(who, &user, &request, now)?;
        let secret = token::make(&self.0.options.service_code, &self.0.ids);
        let text = secret.expose();
        let token = Arc::new(UserToken {
            id: UserTokenId::new(self.0.ids.ulid(now)),
            user: user.id,
            name: checked_name("name", &request.name)?,
            account: request.account,
            actions: request.actions,
            prefix: token::prefix(&self.0.options.service_code),
            last_four: text[text.len() - 4..].to_owned(),
            hash: Fingerprint::of(text),
            created_at: now,
            expires_at: request.expires_at,
            last_used_at: None,
        });
        let mut batch = Batch::new();
        rows::put(&mut batch, Kind::Token, token.id, &*token)?;
        let after = json!({
            "name": token.name,
            "actions": token.actions,
            "expires_at": token.expires_at.to_string(),
        });
        let entry = NewEntry::new(who.actor(), &who.origin, "create_token", token.id)
            .about(token.account)
            .changing(serde_json::Value::Null, after);
        let stored = token.clone();
        gate.commit(batch, vec![entry], move |set| set.put_token(stored))
            .await?;
        Ok(NewUserToken { token, secret })
    }

    /// Tokens of a user, oldest first, with the time of their last use.
    pub fn tokens(&self, user: UserId) -> Vec<UserToken> {
        let set = self.set();
        set.tokens_of(user).map(|live| live.current()).collect()
    }

    /// Deletes one of the sender's own tokens.
    pub async fn delete_token(&self, who: &Identity, id: UserTokenId) -> Result<(), UsersError> {
        let gate = self.gate().await;
        let user = self.live_user(who)?;
        let is_own = self.tokens(user.id).iter().any(|token| token.id == id);
        if !is_own {
            return Err(UsersError::not_found("token", id));
        }
        if who.session().is_none() {
            return Err(Refusal::NeedsPerson.into());
        }
        let mut batch = Batch::new();
        rows::delete(&mut batch, Kind::Token, id);
        let entry = NewEntry::new(who.actor(), &who.origin, "delete_token", id);
        gate.commit(batch, vec![entry], move |set| set.remove_token(id))
            .await
    }

    fn check_request(
        &self,
        who: &Identity,
        user: &User,
        request: &TokenRequest,
        now: Timestamp,
    ) -> Result<(), UsersError> {
        if self.set().tokens_of(user.id).count() >= TOKENS_PER_USER {
            let problem = format!("are at most {TOKENS_PER_USER}: delete one first");
            return Err(UsersError::invalid("tokens of a user", problem));
        }
        if request.expires_at <= now || request.expires_at.since(now) > USER_TOKEN_LIFETIME {
            let problem = "is in the future, at most 366 days from now";
            return Err(UsersError::invalid("expires_at", problem));
        }
        if request.actions.is_empty() {
            return Err(UsersError::invalid("actions", "names no action"));
        }
        let role = user.role_in(request.account);
        let Some(role) = role else {
            return Err(Refusal::NotFound.into());
        };
        for action in &request.actions {
            let refusal = match allows(role, *action) {
                _ if action.needs_person() => Refusal::NeedsPerson,
                true => continue,
                false => Refusal::Forbidden {
                    action: *action,
                    roles: allowed_roles(*action),
                },
            };
            let noted = self.noted(who, *action, request.account, refusal);
            return Err(noted.into());
        }
        Ok(())
    }
}
