//! Account, app or environment that a request is about, with its sender.
//!
//! An account in which the sender has no role does not exist for them, and neither does anything in
//! it: the answer is 404, whatever the role would allow.

use std::str::FromStr;
use std::sync::Arc;

use axum::RequestPartsExt as _;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AccountId, AppId};
use switchyard_core::transaction::Operator;
use switchyard_engine::access::{App, Caller};
use switchyard_store::Batch;
use switchyard_users::{Action, Identity, NewEntry, Permit, Refusal, Users};

use super::auth::console_of;
use crate::operator::error::{Refused, not_found};
use crate::state::{ApiState, ConsoleAccess};

/// Sender of a request.
pub struct Sender {
    pub who: Identity,
    pub console: ConsoleAccess,
    /// Parts of the path, by their names.
    path: Vec<(String, String)>,
}

/// A request about an account in which the sender has a role.
pub struct InAccount {
    pub sender: Sender,
    pub account: AccountId,
}

/// A request about an app of such an account.
pub struct InApp {
    pub place: InAccount,
    pub app: Arc<App>,
}

/// A request about an environment of such an app.
pub struct InScope {
    pub place: InAccount,
    pub app: Arc<App>,
    pub environment: Environment,
}

impl FromRequestParts<ApiState> for Sender {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Refused> {
        let who = parts.extensions.get::<Identity>().cloned();
        let path = parts.extract::<Path<Vec<(String, String)>>>().await;
        Ok(Self {
            who: who.ok_or(Refusal::NotSignedIn)?,
            console: console_of(state)?.clone(),
            path: path.map(|Path(pairs)| pairs).unwrap_or_default(),
        })
    }
}

impl FromRequestParts<ApiState> for InAccount {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Refused> {
        let sender = Sender::from_request_parts(parts, state).await?;
        let account: AccountId = sender.id("account")?;
        let exists = state.engine().access().account(account).is_some();
        match exists && sender.enters(account) {
            true => Ok(Self { sender, account }),
            false => Err(not_found("account").into()),
        }
    }
}

impl FromRequestParts<ApiState> for InApp {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Refused> {
        let sender = Sender::from_request_parts(parts, state).await?;
        let app = state.engine().access().app(sender.id::<AppId>("app")?);
        let app = app.filter(|app| sender.enters(app.account));
        let app = app.ok_or_else(|| not_found("app"))?;
        let account = app.account;
        let place = InAccount { sender, account };
        Ok(Self { place, app })
    }
}

impl FromRequestParts<ApiState> for InScope {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Refused> {
        let InApp { place, app } = InApp::from_request_parts(parts, state).await?;
        let environment = place.sender.id("environment")?;
        Ok(Self {
            place,
            app,
            environment,
        })
    }
}

impl Sender {
    pub fn users(&self) -> &Users {
        &self.console.users
    }

    /// The part of the path with this name. A text that is no id of its kind is not found, without
    /// a lookup.
    pub fn id<T: FromStr>(&self, name: &'static str) -> Result<T, Refused> {
        let found = self.path.iter().find(|(given, _)| given == name);
        let id = found.and_then(|(_, value)| value.parse().ok());
        id.ok_or_else(|| not_found("thing with this id").into())
    }

    /// Whether the account exists for the sender: they have a role in it, and a token is not
    /// restricted to another one.
    pub fn enters(&self, account: AccountId) -> bool {
        let token = self.who.token().and_then(|token| token.account);
        let has_role = self.who.user.role_in(Some(account)).is_some();
        has_role && token.is_none_or(|only| only == account)
    }
}

impl InAccount {
    pub fn users(&self) -> &Users {
        self.sender.users()
    }

    /// Proof that the sender may do this in the account.
    pub fn permit(&self, action: Action) -> Result<Permit, Refused> {
        let permit = self
            .users()
            .authorize(&self.sender.who, action, Some(self.account));
        Ok(permit?)
    }

    /// Whether the sender's role and token include an action. A refusal is not recorded.
    pub fn may(&self, action: Action) -> bool {
        self.users()
            .may(&self.sender.who, action, Some(self.account))
    }

    /// Writes an entry of the audit log about an action that was carried out.
    pub async fn audit(&self, entry: NewEntry) -> Result<(), Refused> {
        let entries = vec![entry];
        Ok(self.users().commit_audited(Batch::new(), entries).await?)
    }
}

impl InScope {
    /// The app with the rights of its secret key.
    pub fn caller(&self, state: &ApiState) -> Result<Caller, Refused> {
        let access = state.engine().access();
        let caller = access.on_behalf_of(self.app.id, self.environment);
        caller.ok_or_else(|| not_found("app").into())
    }
}

/// The sender as the timeline names them.
pub fn author(permit: &Permit) -> Operator {
    Operator {
        name: permit.name.clone(),
        token: None,
    }
}
