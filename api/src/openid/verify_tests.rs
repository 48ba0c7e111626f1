use std::str::FromStr as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::*;

const NOW: i64 = 1_800_000_000;
const ISSUER: &str = "https://id.example";

fn key(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
}

/// Public keys of the provider: one of them, with this id.
fn keys(kid: &str, seed: u8) -> CoreJsonWebKeySet {
    let x = URL_SAFE_NO_PAD.encode(key(seed).public_key());
    let key = json!({ "kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": kid, "x": x });
    serde_json::from_value(json!({ "keys": [key] })).unwrap()
}

fn claims() -> Value {
    json!({
        "iss": ISSUER,
        "sub": "ada",
        "aud": "switchyard",
        "exp": NOW + 300,
        "iat": NOW,
        "nonce": "nonce",
        "email": "ada@example.com",
        "email_verified": true,
        "amr": ["pwd", "mfa"],
        "acr": "2",
    })
}

/// The claims with changed ones; `null`: without it.
fn with(changes: Value) -> Value {
    let mut all = claims();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(all.as_object_mut().unwrap().remove(name)),
            value => all[name] = value.clone(),
        }
    }
    all
}

fn signed(header: &Value, claims: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> CoreIdToken {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", part(header), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(sign(message.as_bytes()));
    CoreIdToken::from_str(&format!("{message}.{signature}")).unwrap()
}

fn by_key(seed: u8, kid: &str, claims: &Value) -> CoreIdToken {
    let header = json!({ "alg": "EdDSA", "kid": kid });
    signed(&header, claims, |message| {
        key(seed).sign(message).as_ref().to_vec()
    })
}

fn verified(token: &CoreIdToken, since: Option<i64>) -> Result<Claims, TokenFault> {
    let issuer = IssuerUrl::new(ISSUER.to_owned()).unwrap();
    let expected = Expected {
        issuer: &issuer,
        client_id: &ClientId::new("switchyard".to_owned()),
        nonce: "nonce",
        now: Timestamp::from_seconds(NOW),
        authenticated_since: since.map(Timestamp::from_seconds),
    };
    verify(token, &keys("one", 1), &expected)
}

fn fault_of(token: &CoreIdToken) -> String {
    verified(token, None).unwrap_err().to_string()
}

#[test]
fn a_token_of_the_provider_for_this_sign_in_proves_its_claims() {
    let token = by_key(1, "one", &claims());
    let expected = Claims {
        subject: "ada".to_owned(),
        email: Some(Email {
            address: "ada@example.com".to_owned(),
            is_verified: Some(true),
        }),
        amr: vec!["pwd".to_owned(), "mfa".to_owned()],
        acr: Some("2".to_owned()),
    };
    assert_eq!(verified(&token, None), Ok(expected));
}

#[test]
fn each_claim_that_is_not_for_this_sign_in_is_refused() {
    for (changes, why) in [
        (json!({ "nonce": "other" }), "nonce"),
        (json!({ "nonce": null }), "nonce"),
        (json!({ "aud": "other" }), "audience"),
        (json!({ "aud": ["switchyard", "other"] }), "audience"),
        (json!({ "azp": "other" }), "authorized party"),
        (json!({ "iss": "https://evil.example" }), "issuer"),
        (json!({ "iss": "https://id.example/" }), "issuer"),
        (json!({ "exp": NOW }), "Expired"),
        (json!({ "exp": NOW - 60 }), "Expired"),
    ] {
        let why_not = fault_of(&by_key(1, "one", &with(changes.clone())));
        assert!(why_not.contains(why), "{changes}: {why_not}");
    }
}

#[test]
fn a_token_without_a_signature_of_the_providers_key_is_refused() {
    let unsigned = json!({ "alg": "none" });
    let none = signed(&unsigned, &claims(), |_| Vec::new());
    assert!(fault_of(&none).contains("invalid"), "{}", fault_of(&none));
    let forged = by_key(2, "one", &claims());
    assert!(
        fault_of(&forged).contains("Crypto"),
        "{}",
        fault_of(&forged)
    );
    // A signature with the public key as a shared secret, or with the secret of the client.
    let public = key(1).public_key().as_ref().to_vec();
    for secret in [public, b"client secret".to_vec()] {
        let header = json!({ "alg": "HS256", "kid": "one" });
        let token = signed(&header, &claims(), |message| {
            let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
            hmac::sign(&key, message).as_ref().to_vec()
        });
        let why = fault_of(&token);
        assert!(why.contains("algorithm"), "{why}");
    }
}

#[test]
fn a_token_of_an_unknown_key_asks_for_the_keys_again() {
    let token = by_key(2, "two", &claims());
    assert_eq!(verified(&token, None), Err(TokenFault::UnknownKey));
}

#[test]
fn an_email_address_is_verified_as_the_provider_says() {
    for (claim, is_verified) in [
        (json!(true), Some(true)),
        (json!("true"), Some(true)),
        (json!(false), Some(false)),
        (json!("false"), Some(false)),
        (Value::Null, None),
    ] {
        let claims = with(json!({ "email_verified": claim }));
        let proven = verified(&by_key(1, "one", &claims), None).unwrap();
        assert_eq!(proven.email.unwrap().is_verified, is_verified, "{claim}");
    }
}

#[test]
fn a_new_authentication_needs_its_time_at_the_provider() {
    for (time, is_recent) in [
        (json!(NOW), true),
        (json!(NOW - 90), true),
        (json!(NOW - 91), false),
        (Value::Null, false),
    ] {
        let token = by_key(1, "one", &with(json!({ "auth_time": time })));
        let result = verified(&token, Some(NOW - 60));
        assert_eq!(result.is_ok(), is_recent, "{time}");
        if !is_recent {
            assert_eq!(result, Err(TokenFault::NotRecent));
        }
    }
}
