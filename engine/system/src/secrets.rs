//! Secrets that are made here and stored by their hash: API keys, tokens, sessions, links.
//!
//! The text of a token is its prefix, 32 random base62 characters and 6 of checksum. 190 random
//! bits are enough for a plain SHA-256, and looking a token up by that hash leaks nothing through
//! time. The checksum (CRC32 of all characters before it) distinguishes a typing error from a wrong
//! token without a look-up.

use std::fmt;
use std::hash::{Hash, Hasher};

use base16ct::HexDisplay;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use switchyard_core::secret::Secret;
use zeroize::Zeroize as _;

use crate::ids::Ids;

/// SHA-256 that is stored in place of a secret with at least 112 random bits, or of an entry of the
/// audit log. Compared in constant time.
#[derive(Clone, Copy, Default, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Hash before the first entry of a chain.
    pub const ZERO: Self = Self([0; 32]);

    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(bytes.as_ref()).into())
    }

    /// Reads 64 hexadecimal characters.
    pub fn from_hex(text: &str) -> Option<Self> {
        hex_32(text).map(Self)
    }
}

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

/// 256 random bits as 64 hexadecimal characters.
pub fn random_secret(ids: &Ids) -> Secret<String> {
    let mut bytes = [0; 32];
    ids.fill(&mut bytes);
    let secret = Secret::new(base16ct::lower::encode_string(&bytes));
    bytes.zeroize();
    secret
}

/// 32 bytes from 64 hexadecimal characters.
pub fn hex_32(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let decoded = base16ct::mixed::decode(text, &mut bytes).ok()?;
    (decoded.len() == 32).then_some(bytes)
}

/// Makes the text of a token.
pub fn make_token(prefix: &str, ids: &Ids) -> Secret<String> {
    // The whole length at once: growth would leave copies of a part of the token in memory.
    let length = prefix.len() + RANDOM_CHARACTERS + CHECKSUM_CHARACTERS;
    let mut token = String::with_capacity(length);
    token.push_str(prefix);
    push_random(&mut token, ids);
    let checksum = checksum(&token);
    token.extend(checksum.map(char::from));
    Secret::new(token)
}

/// Whether the text is a token with this prefix and a correct checksum.
pub fn is_token(text: &str, prefix: &str) -> bool {
    let Some(body) = text.strip_prefix(prefix) else {
        return false;
    };
    if body.len() != RANDOM_CHARACTERS + CHECKSUM_CHARACTERS
        || !body.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        return false;
    }
    let (covered, given) = text.split_at(text.len() - CHECKSUM_CHARACTERS);
    checksum(covered) == given.as_bytes()
}

/// Appends random base62 characters, each equally likely.
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
        let source = include_str!("secrets.rs");
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

    #[test]
    fn a_fingerprint_reads_back_from_its_hexadecimal_form() {
        let hash = Fingerprint::of("abc");
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), text);
        assert_eq!(Fingerprint::from_hex(text), Some(hash));
        assert_eq!(Fingerprint::from_hex(&text[2..]), None);
        let json = serde_json::to_string(&hash).unwrap();
        assert_eq!(serde_json::from_str::<Fingerprint>(&json).unwrap(), hash);
    }

    #[test]
    fn each_random_secret_has_256_bits_of_its_own() {
        let ids = Ids::seeded(1);
        let [one, other] = [random_secret(&ids), random_secret(&ids)];
        assert_eq!(one.expose().len(), 64);
        assert_ne!(one.expose(), other.expose());
    }
    #[test]
    fn a_token_has_its_prefix_and_a_checksum() {
        let token = make_token("switchyard_ut_", &Ids::seeded(3));
        let text = token.expose();
        assert_eq!(text.len(), "switchyard_ut_".len() + 38);
        assert!(is_token(text, "switchyard_ut_"));
        assert!(!is_token(text, "other_ut_"));
        assert!(!is_token(&text[..text.len() - 1], "switchyard_ut_"));
    }
}
