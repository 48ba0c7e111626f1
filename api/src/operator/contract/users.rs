//! Users of the console.

use serde::{Deserialize, Serialize};
use switchyard_core::ids::{AccountId, UserId};
use switchyard_users::{Membership, NewLink, Role, UserState};
use utoipa::ToSchema;

use crate::iso_timestamp::IsoTimestamp;

/// User of the console.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct User {
    #[schema(value_type = String)]
    pub id: UserId,
    pub email: String,
    pub name: String,
    /// `invited`, `active` or `disabled`.
    #[schema(value_type = String)]
    pub state: UserState,
    pub roles: Vec<UserRole>,
    pub has_second_factor: bool,
    pub created_at: IsoTimestamp,
    pub last_sign_in_at: Option<IsoTimestamp>,
}

/// Role of a user.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct UserRole {
    /// Account of the role; null: the installation.
    #[schema(value_type = Option<String>)]
    pub account: Option<AccountId>,
    #[schema(value_type = String)]
    pub role: Role,
}

/// First owner of an account, or first operator.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FirstUser {
    pub email: String,
    pub name: String,
    /// Account whose owner the user becomes. Default: the user becomes an operator of the
    /// installation.
    #[schema(value_type = Option<String>)]
    pub account: Option<AccountId>,
    /// Language of the console for the user: `en` (default) or `fr`.
    pub language: Option<String>,
}

/// User who gets a link to set a new password.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordReset {
    pub email: String,
}

/// Link for a user.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct UserLink {
    #[schema(value_type = String)]
    pub user: UserId,
    pub email: String,
    pub expires_at: IsoTimestamp,
    /// Link for the user alone. It sets their password, and works once.
    pub url: String,
    /// Whether the link was mailed to the user, too.
    pub is_mailed: bool,
}

impl From<&switchyard_users::User> for User {
    fn from(user: &switchyard_users::User) -> Self {
        let role = |account, role| UserRole { account, role };
        Self {
            id: user.id,
            email: user.email.clone(),
            name: user.name.clone(),
            state: user.state,
            roles: match &user.membership {
                Membership::Accounts(roles) => roles
                    .iter()
                    .map(|(account, of)| role(Some(*account), *of))
                    .collect(),
                Membership::Installation(of) => vec![role(None, *of)],
            },
            has_second_factor: user.has_totp(),
            created_at: IsoTimestamp(user.created_at),
            last_sign_in_at: user.last_sign_in_at.map(IsoTimestamp),
        }
    }
}

impl UserLink {
    pub fn new(made: &NewLink, url: String, is_mailed: bool) -> Self {
        Self {
            user: made.user.id,
            email: made.user.email.clone(),
            expires_at: IsoTimestamp(made.link.expires_at),
            url,
            is_mailed,
        }
    }
}
