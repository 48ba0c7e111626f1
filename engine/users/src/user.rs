//! Users: people with a sign-in.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use switchyard_core::ids::{AccountId, UserId};
use switchyard_core::language::Language;
use switchyard_core::time::Timestamp;

use crate::error::UsersError;
use crate::identity::BoundIdentity;
use crate::password::PasswordHash;
use crate::role::{Role, requires_totp};
use crate::totp::StoredTotp;

/// A person with a sign-in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct User {
    pub id: UserId,
    /// Address as it was entered. Addresses that differ in case only are one.
    pub email: String,
    pub name: String,
    pub language: Language,
    pub membership: Membership,
    pub state: UserState,
    pub created_at: Timestamp,
    pub last_sign_in_at: Option<Timestamp>,
    pub(crate) credentials: Credentials,
}

/// Roles of a user: in accounts, or one for the installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Membership {
    Accounts(BTreeMap<AccountId, Role>),
    Installation(Role),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserState {
    /// Has not set a password yet.
    Invited,
    Active,
    /// Cannot sign in, and has no sessions, links or tokens.
    Disabled,
}

impl UserState {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Invited => "invited",
            Self::Active => "active",
            Self::Disabled => "disabled",
        }
    }
}

/// Factors of a user. Their debug form shows nothing.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Credentials {
    pub password: Option<PasswordHash>,
    pub totp: Option<StoredTotp>,
    /// Identity at the OpenID Connect provider by which the user has signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<BoundIdentity>,
    /// Raised when the password, the second factor, a role or the state changes. A sign-in that
    /// began under an earlier value fails.
    pub version: u64,
}

impl Credentials {
    /// Removes the identity, and with it the password of a user whose only second factor was the
    /// provider's: the password alone would lead to the set-up of an authenticator. A reset by mail
    /// or a sign-in at the provider gives access again.
    pub fn unbind(&mut self) {
        let removed = self.identity.take();
        let had_second_factor = removed.is_some_and(|removed| removed.has_second_factor);
        if had_second_factor && self.totp.is_none() {
            self.password = None;
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl User {
    /// Role in an account, or the role for the installation, which covers every account.
    pub fn role_in(&self, account: Option<AccountId>) -> Option<Role> {
        match (&self.membership, account) {
            (Membership::Installation(role), _) => Some(*role),
            (Membership::Accounts(roles), Some(account)) => roles.get(&account).copied(),
            (Membership::Accounts(_), None) => None,
        }
    }

    pub fn roles(&self) -> Vec<Role> {
        match &self.membership {
            Membership::Installation(role) => vec![*role],
            Membership::Accounts(roles) => roles.values().copied().collect(),
        }
    }

    /// Accounts in which the user has a role.
    pub fn accounts(&self) -> Vec<AccountId> {
        match &self.membership {
            Membership::Installation(_) => Vec::new(),
            Membership::Accounts(roles) => roles.keys().copied().collect(),
        }
    }

    pub fn has_totp(&self) -> bool {
        self.credentials.totp.is_some()
    }

    /// Whether the user has signed in by the OpenID Connect provider.
    pub fn has_identity(&self) -> bool {
        self.credentials.identity.is_some()
    }

    pub(crate) fn bound_identity(&self) -> Option<&BoundIdentity> {
        self.credentials.identity.as_ref()
    }

    /// Recovery codes that were not used yet.
    pub fn recovery_codes_left(&self) -> usize {
        let totp = self.credentials.totp.as_ref();
        totp.map_or(0, |totp| totp.recovery.len())
    }

    pub fn is_active(&self) -> bool {
        self.state == UserState::Active
    }

    pub(crate) fn requires_totp(&self) -> bool {
        self.roles().into_iter().any(requires_totp)
    }

    pub(crate) fn has_role(&self, role: Role, account: Option<AccountId>) -> bool {
        match (&self.membership, account) {
            (Membership::Installation(own), None) => *own == role,
            (Membership::Accounts(roles), Some(account)) => roles.get(&account) == Some(&role),
            _ => false,
        }
    }
}

/// Form under which an e-mail address is looked up.
pub(crate) fn email_key(email: &str) -> String {
    email.trim().to_lowercase()
}

/// Checks a name for people to read: 1 to 100 characters, none of them a control character.
pub(crate) fn checked_name(field: &'static str, name: &str) -> Result<String, UsersError> {
    let name = name.trim();
    let characters = name.chars().count();
    if characters == 0 || characters > NAME_CHARACTERS || name.chars().any(char::is_control) {
        let problem = format!("is a text of 1 to {NAME_CHARACTERS} characters on one line");
        return Err(UsersError::invalid(field, problem));
    }
    Ok(name.to_owned())
}

/// Checks an e-mail address, and returns it without surrounding spaces.
pub(crate) fn checked_email(email: &str) -> Result<String, UsersError> {
    let email = email.trim();
    match switchyard_core::email::is_valid(email) {
        true => Ok(email.to_owned()),
        false => Err(UsersError::invalid("email", "is not an e-mail address")),
    }
}

const NAME_CHARACTERS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_of_1_to_100_characters() {
        assert_eq!(checked_name("name", " Ada ").unwrap(), "Ada");
        assert!(checked_name("name", &"é".repeat(100)).is_ok());
        for bad in ["", "  ", "a\nb", &"é".repeat(101)] {
            assert!(checked_name("name", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn addresses_that_differ_in_case_only_are_one() {
        assert_eq!(email_key(" Ada@Example.com"), email_key("ada@example.COM"));
        assert!(checked_email("ada@host").is_err());
        assert_eq!(
            checked_email(" Ada@example.com ").unwrap(),
            "Ada@example.com"
        );
    }
}
