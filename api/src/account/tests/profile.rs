//! Profile, password and second factor of the sender.

use std::time::Duration;

use ring::hmac;
use serde_json::{Value, json};
use switchyard_engine::testing::TestEngine;
use switchyard_users::Action;

use super::{PASSWORD, World};

const NEW: &str = "another set of quiet words";

/// Code of an authenticator (RFC 6238) with this secret in base32.
fn code(test: &TestEngine, secret: &str) -> String {
    let (mut bits, mut count, mut key) = (0_u64, 0, Vec::new());
    for letter in secret.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            other => other - b'2' + 26,
        };
        bits = bits << 5 | u64::from(value);
        count += 5;
        if count >= 8 {
            count -= 8;
            key.push((bits >> count & 0xff) as u8);
        }
    }
    let period = u64::try_from(test.clock.now().as_seconds()).unwrap() / 30;
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &key);
    let tag = hmac::sign(&key, &period.to_be_bytes());
    let tag = tag.as_ref();
    let offset = usize::from(tag[19] & 0xf);
    let word = u32::from_be_bytes(tag[offset..offset + 4].try_into().unwrap());
    format!("{:06}", (word & 0x7fff_ffff) % 1_000_000)
}

impl World {
    /// Status of a sign-in with these factors.
    async fn sign_in_with(&self, password: &str, code: Option<&str>) -> u16 {
        let factors = json!({
            "email": "owner@example.com", "password": password, "code": code,
        });
        self.call("POST", "/sign-in", "", factors).await.0
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_changes_their_profile_and_their_password_and_a_token_changes_neither() {
    let world = World::new().await;
    world.owner("owner@example.com", world.account()).await;
    let owner = world.session("owner@example.com").await;
    let other = world.session("owner@example.com").await;
    let token = world.token(&owner, [Action::ViewPayments]).await;
    let named = json!({ "name": "Ada Byron", "language": "fr" });
    assert_eq!(world.call("PATCH", "/me", &owner, named).await.0, 200);
    let me = world.get("/me", &owner).await;
    assert_eq!(
        (&me["name"], &me["language"]),
        (&json!("Ada Byron"), &json!("fr"))
    );
    let english = json!({ "language": "en" });
    assert_eq!(world.call("PATCH", "/me", &owner, english).await.0, 200);
    let me = world.get("/me", &owner).await;
    assert_eq!(
        (&me["name"], &me["language"]),
        (&json!("Ada Byron"), &json!("en"))
    );
    for wrong in [
        json!({ "language": "de" }),
        json!({ "name": "" }),
        json!({ "e": 1 }),
    ] {
        let refused = world.call("PATCH", "/me", &owner, wrong.clone()).await;
        assert_eq!(refused.0, 422, "{wrong}: {}", refused.1);
    }

    let password = json!({ "password": NEW });
    let short = world
        .call(
            "POST",
            "/me/password",
            &owner,
            json!({ "password": "short" }),
        )
        .await;
    assert_eq!(
        (short.0, &short.1["errors"][0]["field"]),
        (422, &json!("password"))
    );
    for (method, path, body) in [
        ("PATCH", "/me", json!({ "name": "Eve" })),
        ("POST", "/me/password", password.clone()),
    ] {
        let refused = world.call(method, path, &token, body).await;
        assert_eq!(
            (refused.0, refused.code()),
            (403, "person_needed"),
            "{path}"
        );
    }
    world.test.clock.advance(Duration::from_secs(601));
    let stale = world
        .call("POST", "/me/password", &owner, password.clone())
        .await;
    assert_eq!((stale.0, stale.code()), (403, "confirmation_needed"));
    let owner = world.session("owner@example.com").await;
    let changed = world.call("POST", "/me/password", &owner, password).await;
    assert_eq!(changed.0, 200, "{}", changed.1);
    let left = changed.1["data"]["tokens"].as_array().unwrap();
    assert_eq!(left.len(), 1, "API tokens stay valid");
    world.get("/me", &owner).await;
    world.get("/me", &token).await;
    assert_eq!(world.call("GET", "/me", &other, Value::Null).await.0, 401);
    assert_ne!(world.sign_in_with(PASSWORD, None).await, 201);
    assert_eq!(world.sign_in_with(NEW, None).await, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_factor_is_set_up_replaced_and_removed_by_a_person() {
    let world = World::new().await;
    world.owner("owner@example.com", world.account()).await;
    let owner = world.session("owner@example.com").await;
    let post = async |path: &str, body| world.call("POST", path, &owner, body).await;
    let confirm = "/me/second-factor/confirm";
    let early = post(confirm, json!({ "code": "123456" })).await;
    assert_eq!(
        (early.0, early.code()),
        (409, "transition_refused"),
        "{}",
        early.1
    );
    let none = post("/me/recovery-codes", json!({})).await;
    assert_eq!((none.0, none.code()), (409, "transition_refused"));
    let begun = post("/me/second-factor", json!({})).await;
    assert_eq!(begun.0, 200, "{}", begun.1);
    let secret = begun.1["data"]["secret"].as_str().unwrap();
    let uri = begun.1["data"]["uri"].as_str().unwrap();
    assert!(uri.starts_with("otpauth://totp/") && uri.contains(secret));
    let wrong = post(confirm, json!({ "code": "no code" })).await;
    assert_eq!(
        (wrong.0, &wrong.1["errors"][0]["field"]),
        (422, &json!("code"))
    );
    let right = code(&world.test, secret);
    let made = post(confirm, json!({ "code": right })).await;
    assert_eq!(made.0, 200, "{}", made.1);
    let first = made.1["data"]["codes"].as_array().unwrap().clone();
    assert!(first.len() > 5 && made.1["data"].to_string().len() > 100);
    assert_eq!(world.get("/me", &owner).await["has_second_factor"], true);

    let renewed = post("/me/recovery-codes", json!({})).await;
    let renewed = renewed.1["data"]["codes"].as_array().unwrap().clone();
    assert_eq!(renewed.len(), first.len());
    world.test.clock.advance(Duration::from_secs(60));
    assert_ne!(world.sign_in_with(PASSWORD, None).await, 201);
    assert_ne!(world.sign_in_with(PASSWORD, first[0].as_str()).await, 201);
    assert_eq!(world.sign_in_with(PASSWORD, renewed[0].as_str()).await, 201);
    let by_code = code(&world.test, secret);
    assert_eq!(world.sign_in_with(PASSWORD, Some(&by_code)).await, 201);
    let removed = world
        .call("DELETE", "/me/second-factor", &owner, Value::Null)
        .await;
    assert_eq!(removed.0, 200, "{}", removed.1);
    assert_eq!(world.sign_in_with(PASSWORD, None).await, 201);
    let log = world
        .get(&world.in_account("audit?limit=200"), &owner)
        .await;
    assert!(!log.to_string().contains(secret), "no secret in the log");
}
