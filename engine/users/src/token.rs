//! API tokens of a user: a name, a set of actions, an expiry.
//!
//! `{code}_ut_` + 32 random base62 characters + 6 of checksum: the form of the API keys, so that
//! secret scanners find them and a typing error needs no look-up. 190 random bits are stored by
//! their SHA-256. A token may do what its list says and the role of its user still allows.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchyard_core::ids::{AccountId, UserId, UserTokenId};
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;
use switchyard_system::ids::Ids;
use zeroize::Zeroize as _;

use crate::fingerprint::Fingerprint;
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
    let mut token = prefix(service_code);
    // The whole length at once: growth would leave copies of a part of the token in memory.
    token.reserve_exact(RANDOM_CHARACTERS + CHECKSUM_CHARACTERS);
    push_random(&mut token, ids);
    let checksum = checksum(&token);
    token.extend(checksum.map(char::from));
    Secret::new(token)
}

/// Whether the text has the form of a token of this service, with a correct checksum.
pub(crate) fn is_well_formed(token: &str, service_code: &str) -> bool {
    let Some(body) = token.strip_prefix(&prefix(service_code)) else {
        return false;
    };
    if body.len() != RANDOM_CHARACTERS + CHECKSUM_CHARACTERS
        || !body.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        return false;
    }
    let (covered, given) = token.split_at(token.len() - CHECKSUM_CHARACTERS);
    checksum(covered) == given.as_bytes()
}

fn push_random(text: &mut String, ids: &Ids) {
    let mut left = RANDOM_CHARACTERS;
    while left > 0 {
        let mut bytes = [0_u8; 64];
        ids.fill(&mut bytes);
        // 248 is the largest multiple of 62 in a byte: larger values would make the first
        // characters more frequent.
        for byte in bytes.into_iter().filter(|byte| *byte < 248).take(left) {
            text.push(char::from(BASE62[usize::from(byte % 62)]));
            left -= 1;
        }
        bytes.zeroize();
    }
}

fn checksum(covered: &str) -> [u8; CHECKSUM_CHARACTERS] {
    let mut rest = crc32fast::hash(covered.as_bytes());
    let mut digits = [b'0'; CHECKSUM_CHARACTERS];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(rest % 62) as usize];
        rest /= 62;
    }
    digits
}

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// 32 base62 characters: 190 bits.
const RANDOM_CHARACTERS: usize = 32;
/// 62^6 is just above 2^32: a CRC32 always fits.
const CHECKSUM_CHARACTERS: usize = 6;

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
