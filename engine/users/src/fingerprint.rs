//! SHA-256 of secrets that are stored by their hash, and the making of random secrets.

use std::fmt;

use base16ct::HexDisplay;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use switchyard_core::secret::Secret;
use switchyard_system::ids::Ids;
use zeroize::Zeroize as _;

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
        let mut bytes = [0; 32];
        let length = base16ct::mixed::decode(text, &mut bytes).ok()?.len();
        (length == 32).then_some(Self(bytes))
    }
}

impl PartialEq for Fingerprint {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Fingerprint {}

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
pub(crate) fn random_secret(ids: &Ids) -> Secret<String> {
    let mut bytes = [0; 32];
    ids.fill(&mut bytes);
    let secret = Secret::new(base16ct::lower::encode_string(&bytes));
    bytes.zeroize();
    secret
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
