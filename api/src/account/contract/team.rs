//! Team of an account: members and invitations.

use serde::{Deserialize, Serialize};
use switchyard_core::ids::{LinkId, UserId};
use switchyard_users::{Link, Purpose, Role, User};
use utoipa::ToSchema;

use crate::iso_timestamp::IsoTimestamp;

/// Team of an account.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Team {
    /// Oldest first.
    pub members: Vec<Member>,
    /// Only with the action `manage_team`.
    pub invitations: Vec<Invitation>,
}

/// User with a role in the account.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Member {
    #[schema(value_type = String)]
    pub user: UserId,
    pub email: String,
    pub name: String,
    #[schema(value_type = String)]
    pub role: Role,
    pub has_second_factor: bool,
    pub last_sign_in_at: Option<IsoTimestamp>,
}

/// Invitation that nobody has accepted yet.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Invitation {
    #[schema(value_type = String)]
    pub id: LinkId,
    pub email: String,
    #[schema(value_type = Option<String>)]
    pub role: Option<Role>,
    pub expires_at: IsoTimestamp,
}

/// New member.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMember {
    pub email: String,
    pub name: String,
    /// `owner`, `admin`, `developer`, `finance`, `support` or `viewer`.
    pub role: String,
    /// Language of the invitation and of the console for the user: `en` (default) or `fr`.
    pub language: Option<String>,
}

/// Another role of a member.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleChange {
    /// `owner`, `admin`, `developer`, `finance`, `support` or `viewer`.
    pub role: String,
}

impl Member {
    pub fn new(user: &User, role: Role) -> Self {
        Self {
            user: user.id,
            email: user.email.clone(),
            name: user.name.clone(),
            role,
            has_second_factor: user.has_totp(),
            last_sign_in_at: user.last_sign_in_at.map(IsoTimestamp),
        }
    }
}

impl Invitation {
    pub fn new(link: &Link, user: &User) -> Self {
        Self {
            id: link.id,
            email: user.email.clone(),
            role: match link.purpose {
                Purpose::Invitation { role, .. } => Some(role),
                Purpose::Reset | Purpose::SignIn => None,
            },
            expires_at: link.expires_at.into(),
        }
    }
}
