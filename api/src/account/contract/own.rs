//! The sender: who they are, their apps, sessions and API tokens.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use switchyard_core::ids::{AccountId, AppId, SessionId, UserId, UserTokenId};
use switchyard_core::secret::Secret;
use switchyard_users::{Action, Role, Session, UserToken};
use utoipa::ToSchema;

use crate::iso_timestamp::IsoTimestamp;
use crate::operator::contract::users::UserRole;

/// Sender of the request.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Me {
    #[schema(value_type = String)]
    pub user: UserId,
    pub email: String,
    pub name: String,
    /// Language of their pages and mails: `en` or `fr`.
    pub language: String,
    pub roles: Vec<UserRole>,
    pub has_second_factor: bool,
    /// Token of the request; null: a session sent it.
    pub token: Option<Token>,
}

/// App that the sender may enter.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct OwnApp {
    #[schema(value_type = String)]
    pub id: AppId,
    pub name: String,
    #[schema(value_type = String)]
    pub account: AccountId,
    pub account_name: String,
    /// Role of the sender in the account.
    #[schema(value_type = String)]
    pub role: Role,
    /// Actions that the role and the token of the request include.
    #[schema(value_type = Vec<String>)]
    pub actions: Vec<Action>,
}

/// API token of the sender, without its secret.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Token {
    #[schema(value_type = String)]
    pub id: UserTokenId,
    pub name: String,
    /// Account to which the token is restricted; null: all that its user may enter.
    #[schema(value_type = Option<String>)]
    pub account: Option<AccountId>,
    #[schema(value_type = Vec<String>)]
    pub actions: BTreeSet<Action>,
    /// Prefix and last four characters.
    pub shown_as: String,
    pub created_at: IsoTimestamp,
    pub expires_at: IsoTimestamp,
    pub last_used_at: Option<IsoTimestamp>,
    /// The token itself, only in the response to the request that created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// New API token.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// Name for the list and the audit log.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// Account of the token. Users of accounts name one.
    #[schema(value_type = Option<String>)]
    pub account: Option<AccountId>,
    /// Actions that the token may perform: `listActions` has those of the sender's role.
    pub actions: BTreeSet<String>,
    /// Lifetime in days, 1 to 366.
    #[schema(minimum = 1, maximum = 366)]
    pub days: u32,
}

/// Action of the table of roles.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct ActionOfRole {
    #[schema(value_type = String)]
    pub action: Action,
    /// Whether only a person in a session performs it, and no token.
    pub needs_person: bool,
    /// Whether a session performs it only for 10 minutes after all factors were given.
    pub needs_recent_authentication: bool,
}

/// E-mail address and factors of a user.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    pub email: String,
    #[serde(serialize_with = "exposed")]
    #[schema(value_type = String, format = Password)]
    pub password: Secret<String>,
    /// Code of the authenticator, or a recovery code: for users with a second factor.
    #[serde(default, serialize_with = "exposed_option")]
    #[schema(value_type = Option<String>)]
    pub code: Option<Secret<String>>,
}

/// Change of the sender's profile.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 100)]
    pub name: Option<String>,
    /// `en` or `fr`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

/// New password of the sender.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPassword {
    #[serde(serialize_with = "exposed")]
    #[schema(value_type = String, format = Password, min_length = 12, max_length = 128)]
    pub password: Secret<String>,
}

/// API tokens of the sender that stay valid after a new password.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct TokensLeft {
    pub tokens: Vec<Token>,
}

/// Secret of a new authenticator.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct SecondFactorSetup {
    /// Secret in base32, to type.
    pub secret: String,
    /// `otpauth://` address, to show as a QR code.
    pub uri: String,
}

/// Code of the new authenticator.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Code {
    #[serde(serialize_with = "exposed")]
    #[schema(value_type = String)]
    pub code: Secret<String>,
}

/// Recovery codes of the sender, each for one sign-in.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Codes {
    pub codes: Vec<String>,
}

/// New session.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct SignedIn {
    #[schema(value_type = String)]
    pub session: SessionId,
    #[schema(value_type = String)]
    pub user: UserId,
    /// Token of the session, for `Authorization: Bearer`. Only this response shows it.
    pub token: String,
    /// End of the session. Without a request it ends after 30 minutes.
    pub expires_at: IsoTimestamp,
}

/// Session of the sender, in a browser or through this API.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct OwnSession {
    #[schema(value_type = String)]
    pub id: SessionId,
    pub created_at: IsoTimestamp,
    pub last_seen_at: IsoTimestamp,
    /// Time at which all factors were last given.
    pub authenticated_at: IsoTimestamp,
    pub address: Option<String>,
    pub user_agent: String,
    /// Whether it sent this request.
    pub is_own: bool,
}

/// Number of sessions that were ended.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Ended {
    pub ended: usize,
}

fn exposed<S: serde::Serializer>(secret: &Secret<String>, to: S) -> Result<S::Ok, S::Error> {
    secret.expose().serialize(to)
}

fn exposed_option<S: serde::Serializer>(
    secret: &Option<Secret<String>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(Secret::expose).serialize(to)
}

impl From<&UserToken> for Token {
    fn from(token: &UserToken) -> Self {
        Self {
            id: token.id,
            name: token.name.clone(),
            account: token.account,
            actions: token.actions.clone(),
            shown_as: format!("{}…{}", token.prefix, token.last_four),
            created_at: token.created_at.into(),
            expires_at: token.expires_at.into(),
            last_used_at: token.last_used_at.map(IsoTimestamp),
            token: None,
        }
    }
}

impl OwnSession {
    pub fn new(session: &Session, is_own: bool) -> Self {
        Self {
            id: session.id,
            created_at: session.created_at.into(),
            last_seen_at: session.last_seen_at.into(),
            authenticated_at: session.authenticated_at.into(),
            address: session.address.map(|address| address.to_string()),
            user_agent: session.user_agent.clone(),
            is_own,
        }
    }
}
