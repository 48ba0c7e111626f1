//! HTTP message signatures (RFC 9421) with content digests (RFC 9530), as pawaPay uses them.
//!
//! Promises: a message passes only when the signature covers the method, our own host and path, and
//! the digest of the received body, and is fresh. Signatures of ECDSA come from pawaPay in ASN.1
//! DER, where the RFC has two bare numbers: both are taken.

mod keys;
mod parse;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::digest::{SHA256, SHA512, digest};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_ASN1,
    ECDSA_P384_SHA384_FIXED, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA512,
    UnparsedPublicKey, VerificationAlgorithm,
};
use switchyard_gateway::Callback;

pub use self::keys::{KeyType, PublicKey, PublicKeys};
use self::parse::Input;

/// Reason why a message is not trusted. The outcome is queried instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Untrusted(pub &'static str);

/// A signed message, taken apart. Nothing about it is verified yet.
#[derive(Debug)]
pub struct Signed {
    pub key_id: String,
    algorithm: String,
    created: i64,
    expires: i64,
    signature: Vec<u8>,
    /// Text that was signed.
    base: String,
    digests: String,
}

impl Signed {
    /// `url` is our address as the sender knows it.
    pub fn read(news: &Callback, url: &str) -> Result<Self, Untrusted> {
        let header = |name: &str| joined(news, name);
        let inputs = header("signature-input").ok_or(Untrusted("it has no Signature-Input"))?;
        let input = Input::read(&inputs).ok_or(Untrusted("its Signature-Input cannot be read"))?;
        let signatures = header("signature").ok_or(Untrusted("it has no Signature"))?;
        let signature = parse::bytes_of(&signatures, &input.label).ok_or(Untrusted(
            "it has no signature of the name in Signature-Input",
        ))?;
        for needed in COVERED {
            if !input.components.iter().any(|component| component == needed) {
                return Err(Untrusted("the signature does not cover enough of it"));
            }
        }
        let target = Target::of(url).ok_or(Untrusted("our own address cannot be read"))?;
        let mut base = String::new();
        for component in &input.components {
            let value = match component.strip_prefix('@') {
                Some(derived) => target.derived(derived, news),
                None => header(component),
            };
            let value = value.ok_or(Untrusted(
                "the signature covers something that is not there",
            ))?;
            base += &format!("\"{component}\": {value}\n");
        }
        base += &format!("\"@signature-params\": {}", input.raw);
        Ok(Self {
            key_id: input.text("keyid").ok_or(Untrusted("it names no key"))?,
            algorithm: input.text("alg").unwrap_or_default(),
            created: input.number("created").ok_or(Untrusted("it has no date"))?,
            expires: input
                .number("expires")
                .ok_or(Untrusted("it never expires"))?,
            signature,
            base,
            digests: header("content-digest").ok_or(Untrusted("it has no Content-Digest"))?,
        })
    }

    /// Signed text, for comparison by a reader.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Checks that need no key: the body is the signed one, and the signature is recent.
    pub fn check(&self, body: &[u8], now: i64) -> Result<(), Untrusted> {
        if now + SKEW_S < self.created || now - SKEW_S > self.expires {
            return Err(Untrusted("it is too old, or from the future"));
        }
        let mut known = 0;
        for (name, algorithm) in [("sha-256", &SHA256), ("sha-512", &SHA512)] {
            if let Some(told) = parse::bytes_of(&self.digests, name) {
                known += 1;
                let of_body = digest(algorithm, body);
                if told != of_body.as_ref() {
                    return Err(Untrusted("the body is not the one that was signed"));
                }
            }
        }
        match known {
            0 => Err(Untrusted(
                "its Content-Digest is neither SHA-256 nor SHA-512",
            )),
            _ => Ok(()),
        }
    }

    pub fn verify(&self, key: &PublicKey) -> Result<(), Untrusted> {
        let algorithm = self.algorithm(key.kind)?;
        UnparsedPublicKey::new(algorithm, &key.bytes)
            .verify(self.base.as_bytes(), &self.signature)
            .map_err(|_| Untrusted("the signature is not pawaPay's"))
    }

    /// The key decides; the algorithm of the message must fit it.
    fn algorithm(&self, key: KeyType) -> Result<&'static dyn VerificationAlgorithm, Untrusted> {
        let length = self.signature.len();
        Ok(match (key, self.algorithm.as_str()) {
            (KeyType::P256, "ecdsa-p256-sha256" | "") if length == 64 => &ECDSA_P256_SHA256_FIXED,
            (KeyType::P256, "ecdsa-p256-sha256" | "") => &ECDSA_P256_SHA256_ASN1,
            (KeyType::P384, "ecdsa-p384-sha384" | "") if length == 96 => &ECDSA_P384_SHA384_FIXED,
            (KeyType::P384, "ecdsa-p384-sha384" | "") => &ECDSA_P384_SHA384_ASN1,
            (KeyType::Rsa, "rsa-v1_5-sha256") => &RSA_PKCS1_2048_8192_SHA256,
            (KeyType::Rsa, "rsa-pss-sha512") => &RSA_PSS_2048_8192_SHA512,
            _ => return Err(Untrusted("its algorithm does not fit the key")),
        })
    }
}

/// The parts of our own address that a signature covers.
struct Target<'u> {
    scheme: &'u str,
    authority: String,
    path: &'u str,
    url: &'u str,
}

impl<'u> Target<'u> {
    fn of(url: &'u str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let rest = rest.split(['?', '#']).next()?;
        let (host, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let default_port = match scheme {
            "https" => ":443",
            _ => ":80",
        };
        let authority = host.strip_suffix(default_port).unwrap_or(host);
        (!authority.is_empty()).then(|| Self {
            scheme,
            authority: authority.to_ascii_lowercase(),
            path,
            url,
        })
    }

    fn derived(&self, name: &str, news: &Callback) -> Option<String> {
        Some(match name {
            "method" => news.method.to_ascii_uppercase(),
            "authority" => self.authority.clone(),
            "path" => self.path.to_owned(),
            "scheme" => self.scheme.to_owned(),
            "query" => format!("?{}", news.query),
            "target-uri" => self.url.to_owned(),
            _ => return None,
        })
    }
}

/// All values of a header, as one.
fn joined(news: &Callback, name: &str) -> Option<String> {
    let values = news
        .headers
        .iter()
        .filter(|(header, _)| header.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim());
    let values: Vec<&str> = values.collect();
    (!values.is_empty()).then(|| values.join(", "))
}

/// `Content-Digest` of a body.
pub fn content_digest(body: &[u8]) -> String {
    let digest = BASE64.encode(digest(&SHA512, body));
    format!("sha-512=:{digest}:")
}

/// Without these a signature for one message would do for another.
const COVERED: [&str; 4] = ["@method", "@authority", "@path", "content-digest"];
/// Permitted difference between pawaPay's clock and ours.
const SKEW_S: i64 = 60;
