//! Single-use links: invitations, resets of a password, sign-in links of development mode.
//!
//! A link's token has 256 random bits, is shown once and stored by its SHA-256. Its use deletes it
//! in the commit of the change. No link replaces the second factor.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use switchyard_core::ids::{AccountId, LinkId, UserId};
use switchyard_core::limits::{INVITATION_LIFETIME, RESET_LIFETIME, SIGN_IN_LINK_LIFETIME};
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;

use crate::role::Role;
use crate::user::User;
use switchyard_system::secrets::Fingerprint;

/// A link that was not used yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Link {
    pub id: LinkId,
    pub user: UserId,
    pub purpose: Purpose,
    pub(crate) hash: Fingerprint,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Effect of the use of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The user gets a role; a new user sets a password. No account: a role of the installation.
    Invitation {
        account: Option<AccountId>,
        role: Role,
    },
    /// The user sets a new password.
    Reset,
    /// The user signs in without a password, in development mode.
    SignIn,
}

/// New link with its token, which is not stored.
#[derive(Debug)]
pub struct NewLink {
    pub link: Arc<Link>,
    pub user: Arc<User>,
    pub token: Secret<String>,
}

impl Purpose {
    pub(crate) const fn lifetime(self) -> Duration {
        match self {
            Self::Invitation { .. } => INVITATION_LIFETIME,
            Self::Reset => RESET_LIFETIME,
            Self::SignIn => SIGN_IN_LINK_LIFETIME,
        }
    }

    /// Whether a new link of this purpose replaces an earlier one of `other`: of the same kind, and
    /// for the same account.
    pub(crate) fn replaces(self, other: Self) -> bool {
        match (self, other) {
            (
                Self::Invitation { account, .. },
                Self::Invitation {
                    account: earlier, ..
                },
            ) => account == earlier,
            (one, other) => one == other,
        }
    }
}

impl Link {
    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        now >= self.expires_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_invitation_replaces_one_into_the_same_account_only() {
        let into = |account: u128, role| Purpose::Invitation {
            account: Some(AccountId::new(account.into())),
            role,
        };
        let viewer = into(1, Role::Viewer);
        assert!(viewer.replaces(into(1, Role::Admin)));
        assert!(!viewer.replaces(into(2, Role::Viewer)));
        assert!(!viewer.replaces(Purpose::Reset));
        assert!(Purpose::Reset.replaces(Purpose::Reset));
        assert!(!Purpose::SignIn.replaces(Purpose::Reset));
    }

    #[test]
    fn links_live_7_days_an_hour_and_10_minutes() {
        let invitation = Purpose::Invitation {
            account: None,
            role: Role::Operator,
        };
        let minutes = |purpose: Purpose| purpose.lifetime().as_secs() / 60;
        assert_eq!(minutes(invitation), 7 * 24 * 60);
        assert_eq!(minutes(Purpose::Reset), 60);
        assert_eq!(minutes(Purpose::SignIn), 10);
    }
}
