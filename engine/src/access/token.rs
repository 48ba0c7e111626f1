//! Format of keys and operator tokens: creation, and parsing without a look-up.
//!
//! `{code}_sk_test_` + 32 random base62 characters + 6 of checksum. The prefix names service, kind
//! and environment for people and secret scanners; the checksum (CRC32 of all characters before it)
//! distinguishes a typing error from a wrong key without a look-up. 32 base62 characters are 190
//! random bits: a plain SHA-256 is enough to keep, and looking a key up by that hash leaks nothing
//! through time.

use std::fmt;
use std::hash::{Hash, Hasher};

use base16ct::HexDisplay;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::key::KeyKind;
use switchyard_core::environment::Environment;
use switchyard_core::secret::Secret;
use switchyard_system::ids::Ids;

/// SHA-256 of a key, which is stored and looked up instead of it. Compared in constant time.
#[derive(Clone, Copy)]
pub struct Fingerprint([u8; 32]);

impl PartialEq for Fingerprint {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Fingerprint {}

impl Hash for Fingerprint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Fingerprint {
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// Reads 64 hexadecimal characters.
    pub fn from_hex(text: &str) -> Option<Self> {
        hex_32(text).map(Self)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", HexDisplay(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::from_hex(&text)
            .ok_or_else(|| serde::de::Error::custom("not 64 hexadecimal characters"))
    }
}

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
    let mut token = prefix.clone();
    // The whole length at once: growing would leave copies of a half-made key in memory.
    token.reserve_exact(RANDOM_CHARACTERS + CHECKSUM_CHARACTERS);
    push_random(&mut token, RANDOM_CHARACTERS, ids);
    let checksum = checksum(&token);
    token.extend(checksum.map(char::from));
    NewToken {
        prefix,
        last_four: token[token.len() - 4..].to_owned(),
        hash: Fingerprint::of(&token),
        token: Secret::new(token),
    }
}

/// Reads the form of a token of this service. `None` when the prefix, the length, a character or
/// the checksum is wrong.
pub(super) fn parse(token: &str, service_code: &str) -> Option<TokenForm> {
    let rest = token.strip_prefix(service_code)?.strip_prefix('_')?;
    let (middle, body) = rest.rsplit_once('_')?;
    let form = TokenForm::from_middle(middle)?;
    if body.len() != RANDOM_CHARACTERS + CHECKSUM_CHARACTERS
        || !body.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        return None;
    }
    let (covered, given) = token.split_at(token.len() - CHECKSUM_CHARACTERS);
    (checksum(covered) == given.as_bytes()).then_some(form)
}

/// Appends `count` base62 characters, each equally likely.
pub(super) fn push_random(text: &mut String, count: usize, ids: &Ids) {
    let mut left = count;
    while left > 0 {
        let mut chance = [0; 64];
        ids.fill(&mut chance);
        // 248 is the largest multiple of 62 in a byte: larger values would make the first
        // characters more frequent.
        for byte in chance.into_iter().filter(|byte| *byte < 248).take(left) {
            text.push(char::from(BASE62[usize::from(byte % 62)]));
            left -= 1;
        }
    }
}

/// 32 bytes from 64 hexadecimal characters.
pub(super) fn hex_32(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let decoded = base16ct::mixed::decode(text, &mut bytes).ok()?;
    (decoded.len() == 32).then_some(bytes)
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
    use proptest::prelude::*;

    use super::*;

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

    #[test]
    fn the_checksum_is_the_crc32_in_six_base62_digits() {
        // CRC32 of "123456789" is 0xCBF43926 by definition.
        let mut value = 0_u64;
        for digit in checksum("123456789") {
            let place = BASE62.iter().position(|known| *known == digit).unwrap();
            value = value * 62 + place as u64;
        }
        assert_eq!(value, 0xCBF4_3926);
    }

    /// A derived `PartialEq` would end at the first byte that differs. Nothing that a test can
    /// measure shows the difference on a busy machine, so this holds the code to it.
    #[test]
    fn fingerprints_are_compared_in_constant_time() {
        let source = include_str!("token.rs");
        let (derived, _) = source.split_once("pub struct Fingerprint").unwrap();
        let derived = derived.rsplit("#[derive(").next().unwrap();
        assert!(!derived.contains("PartialEq"), "{derived}");
        let own = "impl PartialEq for Fingerprint {\n    fn eq(&self, other: &Self) -> bool {\n        self.0.ct_eq(&other.0).into()";
        assert!(source.contains(own));
        let (one, other) = (Fingerprint::of("a"), Fingerprint::of("b"));
        assert!(one == Fingerprint::of("a") && one != other);
    }

    #[test]
    fn a_fingerprint_reads_back_as_it_was_written() {
        let hash = Fingerprint::of("abc");
        assert_eq!(
            hash.to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(Fingerprint::from_hex(&hash.to_string()), Some(hash));
        assert_eq!(Fingerprint::from_hex("ba"), None);
        assert_eq!(Fingerprint::from_hex(&"zz".repeat(32)), None);
    }

    proptest! {
        #[test]
        fn one_wrong_character_is_always_noticed_without_a_look_up(seed: u64, place in 0_usize..38, other in 0_usize..62) {
            let token = make(FORMS[0].0, "switchyard", &Ids::seeded(seed)).token;
            let mut bytes = token.expose().clone().into_bytes();
            let at = bytes.len() - 38 + place;
            prop_assume!(bytes[at] != BASE62[other]);
            bytes[at] = BASE62[other];
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
