//! pawaPay's public keys: fetched from pawaPay, kept in the connection's cache.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use spki::der::Decode as _;
use spki::der::pem::{Decoder, PemLabel as _};
use spki::{ObjectIdentifier, SubjectPublicKeyInfoRef};

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
    /// Reads a key between `-----BEGIN PUBLIC KEY-----` and its end, with lines of any one width.
    pub fn from_pem(pem: &str) -> Option<Self> {
        let mut decoder = Decoder::new_detect_wrap(pem.as_bytes()).ok()?;
        SubjectPublicKeyInfoRef::validate_pem_label(decoder.type_label()).ok()?;
        let mut der = Vec::new();
        decoder.decode_to_end(&mut der).ok()?;
        Self::from_info(&SubjectPublicKeyInfoRef::from_der(&der).ok()?)
    }

    fn from_info(info: &SubjectPublicKeyInfoRef<'_>) -> Option<Self> {
        let kind = match info.algorithm.oid {
            RSA => KeyType::Rsa,
            EC => match info.algorithm.parameters_oid().ok()? {
                P256 => KeyType::P256,
                P384 => KeyType::P384,
                _ => return None,
            },
            _ => return None,
        };
        let bytes = info.subject_public_key.as_bytes()?.to_vec();
        Some(Self { kind, bytes })
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Listed {
    id: String,
    key: String,
}

/// List of keys in the cache.
#[derive(Serialize, Deserialize)]
struct CachedKeys {
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
        let kept = kept.and_then(|text| serde_json::from_str::<CachedKeys>(&text).ok());
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
        let kept = CachedKeys { at: now, keys };
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

const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
