//! API tokens of a user: a name, a set of actions, an expiry.
//!
//! `{code}_ut_` + 32 random base62 characters + 6 of checksum: the form of the API keys, so that
//! secret scanners find them and a typing error needs no look-up. 190 random bits are stored by
//! their SHA-256. A token may do what its list says and the role of its user still allows. When the
//! user loses a role, the list loses the actions of it for good, and a token with an empty list
//! ends. A new password of its user leaves it valid: programs use it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchyard_core::ids::{AccountId, UserId, UserTokenId};
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;
use switchyard_system::ids::Ids;
use switchyard_system::secrets::{Fingerprint, is_token, make_token};

use crate::role::Action;

/// API token of a user.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserToken {
    pub id: UserTokenId,
    pub user: UserId,
    pub name: String,
    /// Account to which the token is restricted; `None`: all that its user may enter.
    pub account: Option<AccountId>,
    pub actions: BTreeSet<Action>,
    pub prefix: String,
    pub last_four: String,
    pub(crate) hash: Fingerprint,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// Up to a minute earlier after a restart.
    pub last_used_at: Option<Timestamp>,
}

/// New token with its plain text, which is not stored.
#[derive(Debug)]
pub struct NewUserToken {
    pub token: Arc<UserToken>,
    pub secret: Secret<String>,
}

/// Prefix of the tokens of a service.
pub(crate) fn prefix(service_code: &str) -> String {
    format!("{service_code}_ut_")
}

/// Makes the plain text of a token.
pub(crate) fn make(service_code: &str, ids: &Ids) -> Secret<String> {
    make_token(&prefix(service_code), ids)
}

/// Whether the text has the form of a token of this service, with a correct checksum.
pub(crate) fn is_well_formed(token: &str, service_code: &str) -> bool {
    is_token(token, &prefix(service_code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_token_has_the_form_of_its_service_and_a_checksum() {
        let token = make("switchyard", &Ids::seeded(3));
        let text = token.expose();
        assert!(text.starts_with("switchyard_ut_"));
        assert_eq!(text.len(), "switchyard_ut_".len() + 38);
        assert!(is_well_formed(text, "switchyard"));
        assert!(!is_well_formed(text, "other"));
        assert!(!is_well_formed(&text[..text.len() - 1], "switchyard"));
    }

    proptest! {
        #[test]
        fn a_changed_character_breaks_the_checksum(seed: u64, at in 14_usize..52) {
            let token = make("switchyard", &Ids::seeded(seed));
            let mut bytes = token.expose().clone().into_bytes();
            bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(bytes).unwrap();
            prop_assert!(!is_well_formed(&changed, "switchyard"));
        }

        #[test]
        fn any_text_is_parsed_without_a_panic(text in ".{0,80}") {
            prop_assert!(!is_well_formed(&text, "switchyard"));
        }
    }
}
