//! Callbacks signed as pawaPay signs them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::digest::{SHA512, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED_SIGNING,
    ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair as _,
    RSA_PKCS1_SHA256, RSA_PSS_SHA512, RsaKeyPair,
};
use serde_json::{Value, json};
use switchyard_testkit::ProviderCallback;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// The form that pawaPay sends.
    EcdsaP256,
    /// The form of the RFC: two bare numbers.
    EcdsaP256Bare,
    EcdsaP384,
    RsaPkcs1,
    RsaPss,
}

pub struct Signer {
    scheme: Scheme,
    pub key_id: String,
    public_pem: String,
    key: Key,
}

enum Key {
    Ecdsa(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl Signer {
    pub fn new(scheme: Scheme) -> Self {
        let curve = |algorithm: &'static EcdsaSigningAlgorithm, prefix: &[u8]| {
            let random = SystemRandom::new();
            let made = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
            let pair = EcdsaKeyPair::from_pkcs8(algorithm, made.as_ref(), &random).unwrap();
            let spki = [prefix, pair.public_key().as_ref()].concat();
            let pem = format!(
                "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
                BASE64.encode(spki)
            );
            (Key::Ecdsa(pair), pem)
        };
        let rsa = || {
            let pem = include_str!("rsa_test_key.pem");
            let text: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
            let pair = RsaKeyPair::from_pkcs8(&BASE64.decode(text).unwrap()).unwrap();
            let public = include_str!("rsa_test_key.pub.pem").to_owned();
            (Key::Rsa(pair), public)
        };
        let (key_id, (key, public_pem)) = match scheme {
            Scheme::EcdsaP256 => (
                "HTTP_EC_P256_KEY:1",
                curve(&ECDSA_P256_SHA256_ASN1_SIGNING, P256),
            ),
            Scheme::EcdsaP256Bare => (
                "HTTP_EC_P256_KEY:2",
                curve(&ECDSA_P256_SHA256_FIXED_SIGNING, P256),
            ),
            Scheme::EcdsaP384 => (
                "HTTP_EC_P384_KEY:1",
                curve(&ECDSA_P384_SHA384_ASN1_SIGNING, P384),
            ),
            Scheme::RsaPkcs1 | Scheme::RsaPss => ("HTTP_RSA_KEY:1", rsa()),
        };
        Self {
            scheme,
            key_id: key_id.to_owned(),
            public_pem,
            key,
        }
    }

    pub fn public(&self) -> Value {
        json!({ "id": self.key_id, "key": self.public_pem })
    }

    /// `url`: where it is sent to. `date`: any text, it is only signed.
    pub fn sign(&self, url: &str, date: &str, created: i64, body: String) -> ProviderCallback {
        let (_, rest) = url.split_once("://").unwrap();
        let (authority, path) = rest.split_at(rest.find('/').unwrap());
        let content_type = "application/json; charset=UTF-8";
        let content_digest = format!(
            "sha-512=:{}:",
            BASE64.encode(digest(&SHA512, body.as_bytes()))
        );
        let parameters = format!(
            "(\"@method\" \"@authority\" \"@path\" \"signature-date\" \"content-digest\" \"content-type\");\
             alg=\"{}\";keyid=\"{}\";created={created};expires={}",
            self.algorithm(),
            self.key_id,
            created + 60
        );
        let base = format!(
            "\"@method\": POST\n\"@authority\": {authority}\n\"@path\": {path}\n\"signature-date\": {date}\n\
             \"content-digest\": {content_digest}\n\"content-type\": {content_type}\n\"@signature-params\": {parameters}"
        );
        let signature = BASE64.encode(self.signature(base.as_bytes()));
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        ProviderCallback {
            method: "POST".into(),
            headers: vec![
                header("Content-Type", content_type),
                header("Content-Digest", &content_digest),
                header("Signature-Date", date),
                header("Signature-Input", &format!("sig-pp={parameters}")),
                header("Signature", &format!("sig-pp=:{signature}:")),
            ],
            body,
        }
    }

    fn signature(&self, base: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.key {
            Key::Ecdsa(pair) => pair.sign(&random, base).unwrap().as_ref().to_vec(),
            Key::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let signed = match self.scheme {
                    Scheme::RsaPss => pair.sign(&RSA_PSS_SHA512, &random, base, &mut signature),
                    _ => pair.sign(&RSA_PKCS1_SHA256, &random, base, &mut signature),
                };
                signed.unwrap();
                signature
            }
        }
    }

    fn algorithm(&self) -> &'static str {
        match self.scheme {
            Scheme::EcdsaP256 | Scheme::EcdsaP256Bare => "ecdsa-p256-sha256",
            Scheme::EcdsaP384 => "ecdsa-p384-sha384",
            Scheme::RsaPkcs1 => "rsa-v1_5-sha256",
            Scheme::RsaPss => "rsa-pss-sha512",
        }
    }
}

/// SubjectPublicKeyInfo before the point, for each curve.
const P256: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
const P384: &[u8] = &[
    0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x05, 0x2b,
    0x81, 0x04, 0x00, 0x22, 0x03, 0x62, 0x00,
];
