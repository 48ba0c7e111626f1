//! Prefixes of keys and operator tokens: creation, and parsing without a look-up.
//!
//! The prefix, such as `{code}_sk_test_`, names service, kind and environment for people and secret
//! scanners. [`switchyard_system::secrets`] describes the rest.

use super::key::KeyKind;
use switchyard_core::environment::Environment;
use switchyard_core::secret::Secret;
use switchyard_system::ids::Ids;
use switchyard_system::secrets::{Fingerprint, is_token, make_token};

/// Parts of a token, parsed without a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenForm {
    Key(KeyKind, Environment),
    Operator,
}

impl TokenForm {
    fn prefix(self, service_code: &str) -> String {
        match self {
            Self::Key(kind, environment) => {
                format!("{service_code}_{}_{}_", kind.in_key(), environment.in_key())
            }
            Self::Operator => format!("{service_code}_op_"),
        }
    }

    fn from_middle(middle: &str) -> Option<Self> {
        Some(match middle {
            "sk_test" => Self::Key(KeyKind::Secret, Environment::Sandbox),
            "sk_live" => Self::Key(KeyKind::Secret, Environment::Live),
            "pk_test" => Self::Key(KeyKind::Public, Environment::Sandbox),
            "pk_live" => Self::Key(KeyKind::Public, Environment::Live),
            "op" => Self::Operator,
            _ => return None,
        })
    }
}

/// A token that was just made: prefix, the whole of it, and its last four characters.
pub(super) struct NewToken {
    pub prefix: String,
    pub token: Secret<String>,
    pub last_four: String,
    pub hash: Fingerprint,
}

pub(super) fn make(form: TokenForm, service_code: &str, ids: &Ids) -> NewToken {
    let prefix = form.prefix(service_code);
    let token = make_token(&prefix, ids);
    let text = token.expose();
    NewToken {
        last_four: text[text.len() - 4..].to_owned(),
        hash: Fingerprint::of(text),
        prefix,
        token,
    }
}

/// Reads the form of a token of this service. `None` when the prefix, the length, a character or
/// the checksum is wrong.
pub(super) fn parse(token: &str, service_code: &str) -> Option<TokenForm> {
    let rest = token.strip_prefix(service_code)?.strip_prefix('_')?;
    let (middle, _) = rest.rsplit_once('_')?;
    let form = TokenForm::from_middle(middle)?;
    is_token(token, &form.prefix(service_code)).then_some(form)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const FORMS: [(TokenForm, &str); 5] = [
        (
            TokenForm::Key(KeyKind::Secret, Environment::Sandbox),
            "switchyard_sk_test_",
        ),
        (
            TokenForm::Key(KeyKind::Secret, Environment::Live),
            "switchyard_sk_live_",
        ),
        (
            TokenForm::Key(KeyKind::Public, Environment::Sandbox),
            "switchyard_pk_test_",
        ),
        (
            TokenForm::Key(KeyKind::Public, Environment::Live),
            "switchyard_pk_live_",
        ),
        (TokenForm::Operator, "switchyard_op_"),
    ];

    #[test]
    fn a_key_names_its_service_kind_and_environment_and_ends_in_38_characters() {
        for (form, prefix) in FORMS {
            let made = make(form, "switchyard", &Ids::system());
            let token = made.token.expose();
            assert_eq!(made.prefix, prefix);
            assert!(token.starts_with(prefix));
            assert_eq!(token.len(), prefix.len() + 38);
            assert!(token.ends_with(&made.last_four));
            assert_eq!(parse(token, "switchyard"), Some(form));
            assert_eq!(parse(token, "other"), None);
        }
    }

    proptest! {
        #[test]
        fn one_wrong_character_is_always_noticed_without_a_look_up(seed: u64, place in 0_usize..38, other in 0_usize..62) {
            let token = make(FORMS[0].0, "switchyard", &Ids::seeded(seed)).token;
            let mut bytes = token.expose().clone().into_bytes();
            let at = bytes.len() - 38 + place;
            prop_assume!(bytes[at] != LETTERS[other]);
            bytes[at] = LETTERS[other];
            prop_assert_eq!(parse(std::str::from_utf8(&bytes).unwrap(), "switchyard"), None);
        }

        #[test]
        fn two_swapped_neighbours_are_always_noticed(seed: u64, place in 0_usize..31) {
            let token = make(FORMS[1].0, "switchyard", &Ids::seeded(seed)).token;
            let mut bytes = token.expose().clone().into_bytes();
            let at = bytes.len() - 38 + place;
            prop_assume!(bytes[at] != bytes[at + 1]);
            bytes.swap(at, at + 1);
            prop_assert_eq!(parse(std::str::from_utf8(&bytes).unwrap(), "switchyard"), None);
        }

        #[test]
        fn no_text_whatever_makes_parsing_panic(text in ".{0,120}") {
            prop_assert_eq!(parse(&text, "switchyard"), None);
        }
    }
}
