//! pawaPay's public keys: fetched from pawaPay, kept in the connection's cache.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::Untrusted;
use crate::api::{Api, read};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyType {
    P256,
    P384,
    Rsa,
}

/// A key as the verification takes it: the point of an elliptic curve, or modulus and exponent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    pub kind: KeyType,
    pub bytes: Vec<u8>,
}

impl PublicKey {
    /// From `-----BEGIN PUBLIC KEY-----`.
    pub fn from_pem(pem: &str) -> Option<Self> {
        let (_, rest) = pem.split_once("-----BEGIN PUBLIC KEY-----")?;
        let (text, _) = rest.split_once("-----END PUBLIC KEY-----")?;
        let text: String = text.split_ascii_whitespace().collect();
        Self::from_der(&BASE64.decode(text).ok()?)
    }

    /// SubjectPublicKeyInfo: `SEQUENCE { SEQUENCE { OID, parameters }, BIT STRING }`.
    fn from_der(der: &[u8]) -> Option<Self> {
        let (info, _) = element(der, SEQUENCE)?;
        let (algorithm, key) = element(info, SEQUENCE)?;
        let (oid, parameters) = element(algorithm, OID)?;
        let kind = match oid {
            RSA => KeyType::Rsa,
            EC => match element(parameters, OID)?.0 {
                P256 => KeyType::P256,
                P384 => KeyType::P384,
                _ => return None,
            },
            _ => return None,
        };
        let (bits, _) = element(key, BIT_STRING)?;
        // The first byte counts unused bits, of which a key has none.
        let bytes = bits.strip_prefix(&[0])?.to_vec();
        Some(Self { kind, bytes })
    }
}

/// Content of the first element, which has to have this tag, and the bytes after it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&first, rest) = der.split_first()?;
    let (&short, rest) = rest.split_first()?;
    let (length, rest) = match short {
        0..=0x7f => (usize::from(short), rest),
        0x81 => (usize::from(*rest.first()?), rest.get(1..)?),
        0x82 => {
            let (high, low) = (*rest.first()?, *rest.get(1)?);
            (usize::from(u16::from_be_bytes([high, low])), rest.get(2..)?)
        }
        _ => return None,
    };
    (first == tag && rest.len() >= length).then(|| rest.split_at(length))
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Listed {
    id: String,
    key: String,
}

/// The list as the cache keeps it.
#[derive(Serialize, Deserialize)]
struct Kept {
    at: i64,
    keys: Vec<Listed>,
}

/// Source of keys.
pub struct PublicKeys<'a, 'c>(&'a Api<'c>);

impl<'a, 'c> PublicKeys<'a, 'c> {
    pub fn new(api: &'a Api<'c>) -> Self {
        Self(api)
    }

    /// The key of this id. An unknown id may be new: the list is fetched again, though not for
    /// every forger.
    pub async fn find(&self, id: &str) -> Result<PublicKey, Untrusted> {
        let now = self.0.cx.now().unix_seconds();
        let kept = self.0.cx.cached(CACHE_KEY).await;
        let kept = kept.and_then(|text| serde_json::from_str::<Kept>(&text).ok());
        if let Some(kept) = kept {
            if let Some(key) = pick(&kept.keys, id) {
                return key;
            }
            if now - kept.at < FETCHED_AGAIN_S {
                return Err(NO_SUCH_KEY);
            }
        }
        let keys = self.fetch(now).await?;
        pick(&keys, id).unwrap_or(Err(NO_SUCH_KEY))
    }

    async fn fetch(&self, now: i64) -> Result<Vec<Listed>, Untrusted> {
        const NOT_THERE: Untrusted = Untrusted("pawaPay's public keys cannot be fetched");
        let request = self.0.get("/v2/public-key/http").timeout(FETCH);
        let answer = request.send().await.map_err(|_| NOT_THERE)?;
        let keys: Vec<Listed> = read(&answer).map_err(|_| NOT_THERE)?;
        let kept = Kept { at: now, keys };
        if let Ok(text) = serde_json::to_string(&kept) {
            self.0.cx.cache(CACHE_KEY, text, KEPT).await;
        }
        Ok(kept.keys)
    }
}

fn pick(keys: &[Listed], id: &str) -> Option<Result<PublicKey, Untrusted>> {
    let listed = keys.iter().find(|key| key.id == id)?;
    Some(PublicKey::from_pem(&listed.key).ok_or(Untrusted("pawaPay's public key cannot be read")))
}

const NO_SUCH_KEY: Untrusted = Untrusted("pawaPay has no key of that name");
const CACHE_KEY: &str = "public keys";
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
const FETCH: Duration = Duration::from_secs(10);
/// Interval of fetches, however many callbacks name keys that do not exist.
const FETCHED_AGAIN_S: i64 = 60;

const SEQUENCE: u8 = 0x30;
const OID: u8 = 0x06;
const BIT_STRING: u8 = 0x03;
/// 1.2.840.113549.1.1.1, 1.2.840.10045.2.1, 1.2.840.10045.3.1.7 and 1.3.132.0.34.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const P384: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
