//! Tokens, sessions, the audit log and personal data.

use std::time::Duration;

use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use switchyard_engine::testing::{TestEngineBuilder, customer};
use switchyard_gateway_host::Gateways;
use switchyard_users::{Action, Role, allows, requires_recent_authentication};

use super::{PASSWORD, Shown, World, operations, users_of};
use crate::privacy::tests::{REASONS, routed};

#[tokio::test(flavor = "multi_thread")]
async fn a_token_shrinks_with_the_role_of_its_user_and_ends_without_an_action() {
    let world = World::new().await;
    let roles = world.roles().await;
    let owner = &roles[0].1;
    let admin = &roles[1].1;
    let both = [Action::ViewPayments, Action::ManageKeys];
    let wide = world.token(admin, both).await;
    let keys_only = world.token(admin, [Action::ManageKeys]).await;
    let list = world.in_scope("transactions");
    let keys = world.in_scope("keys");
    let secret = json!({ "kind": "secret" });
    world.get(&list, &wide).await;
    let made = world.call("POST", &keys, &wide, secret.clone()).await;
    assert_eq!(made.0, 201, "{}", made.1);
    let user = world.users.user_by_email("admin@example.com").unwrap().id;
    let path = world.in_account(&format!("team/{user}"));
    let changed = world.call("PATCH", &path, owner, json!({ "role": "viewer" }));
    assert_eq!(changed.await.0, 200);
    world.get(&list, &wide).await;
    let refused = world.call("POST", &keys, &wide, secret.clone()).await;
    assert_eq!((refused.0, refused.code()), (403, "role_not_allowed"));
    // The role comes back, and the lost action does not.
    let changed = world.call("PATCH", &path, owner, json!({ "role": "admin" }));
    assert_eq!(changed.await.0, 200);
    let refused = world.call("POST", &keys, &wide, secret.clone()).await;
    assert_eq!((refused.0, refused.code()), (403, "action_not_in_token"));
    let gone = world.call("POST", &keys, &keys_only, secret).await;
    assert_eq!(gone.0, 401, "{}", gone.1);
    let removed = world.call("DELETE", &path, owner, Value::Null).await;
    assert_eq!(removed.0, 200, "{}", removed.1);
    let gone = world.call("GET", &list, &wide, Value::Null).await;
    assert_eq!(gone.0, 401, "{}", gone.1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_has_an_entry_of_the_audit_log_with_the_token_and_without_the_secret() {
    let world = World::new().await;
    let owner = world.roles().await[0].1.clone();
    let token = world.token(&owner, [Action::ManageKeys]).await;
    let keys = world.in_scope("keys");
    let made = world.call("POST", &keys, &token, json!({ "kind": "secret" }));
    let Shown(201, made) = made.await else {
        panic!("no key");
    };
    let id = made["data"]["id"].as_str().unwrap();
    let secret = made["data"]["key"].as_str().unwrap();
    let path = world.in_scope(&format!("keys/{id}/roll"));
    let rolled = world.call("POST", &path, &token, json!({ "grace": "1h" }));
    assert_eq!(rolled.await.0, 201);
    let list = world.in_scope("transactions");
    let refused = world.call("GET", &list, &token, Value::Null).await;
    assert_eq!(refused.0, 403);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let log = world
        .get(&world.in_account("audit?limit=200"), &owner)
        .await;
    let entries = log["entries"].as_array().unwrap();
    let about = |action: &str, result: &str| {
        let mut found = entries.iter().filter(|one| one["token"].is_string());
        found.find(|one| one["action"] == action && one["result"] == result)
    };
    let rolled = about("manage_keys", "succeeded").expect("the roll");
    assert_eq!(
        (&rolled["object"], &rolled["channel"]),
        (&json!(id), &json!("api"))
    );
    assert_eq!(rolled["after"]["grace_s"], 3_600);
    assert_eq!(rolled["actor"], "Ada Lovelace");
    about("view_payments", "refused").expect("the refusal");
    assert!(!log.to_string().contains(secret), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_not_changed_without_its_entry_of_the_audit_log() {
    let world = World::new().await;
    world.owner("owner@example.com", world.account()).await;
    let owner = world.session("owner@example.com").await;
    let keys = world.in_scope("keys");
    let list = world.get(&keys, &owner).await;
    let first = list[0]["id"].as_str().unwrap();
    let one = format!("{keys}/{first}");
    let roll = format!("{one}/roll");
    let changes = [
        ("POST", keys.as_str(), json!({ "kind": "secret" }), 201),
        ("POST", roll.as_str(), json!({ "grace": "1h" }), 201),
        ("DELETE", one.as_str(), Value::Null, 200),
    ];
    for (method, path, body, done) in changes {
        let before = world.get(&keys, &owner).await;
        // Another process has written an entry: the next one of this process is refused.
        let other = users_of(&world.test).await;
        let entry = switchyard_users::NewEntry::new(
            switchyard_users::Actor::System,
            &switchyard_users::Origin::default(),
            "test",
            "store",
        );
        let written = other.commit_audited(Default::default(), vec![entry]).await;
        written.unwrap();
        let refused = world.call(method, path, &owner, body.clone()).await;
        assert_eq!(
            (refused.0, refused.code()),
            (409, "resource_changed"),
            "{path}"
        );
        let after = world.get(&keys, &owner).await;
        assert_eq!(
            after, before,
            "{method} {path}: the key is not changed either"
        );
        let made = world.call(method, path, &owner, body).await;
        assert_eq!(made.0, done, "{}", made.1);
        assert_ne!(world.get(&keys, &owner).await, before);
    }
    let log = world.in_account("audit?action=manage_keys");
    let log = world.get(&log, &owner).await;
    assert_eq!(log["entries"].as_array().unwrap().len(), 3, "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_and_needs_fresh_factors_for_keys_and_people() {
    let world = World::new().await;
    world.owner("owner@example.com", world.account()).await;
    let wrong = json!({ "email": "owner@example.com", "password": "not this one at all" });
    let unknown = json!({ "email": "eve@example.com", "password": PASSWORD });
    for body in [wrong, unknown] {
        let shown = world.call("POST", "/sign-in", "", body).await;
        assert_eq!((shown.0, shown.code()), (401, "sign_in_refused"));
    }
    let right = json!({ "email": "owner@example.com", "password": PASSWORD });
    let signed_in = world.call("POST", "/sign-in", "", right).await;
    assert_eq!(signed_in.0, 201, "{}", signed_in.1);
    let session = signed_in.1["data"]["token"].as_str().unwrap();
    let me = world.get("/me", session).await;
    assert_eq!(
        (&me["email"], &me["token"]),
        (&json!("owner@example.com"), &Value::Null)
    );
    let new = json!({
        "name": "CI", "account": world.account(), "actions": ["view_payments", "manage_keys"],
        "days": 30,
    });
    let made = world.call("POST", "/tokens", session, new.clone()).await;
    assert_eq!(made.0, 201, "{}", made.1);
    let token = made.1["data"]["token"].as_str().unwrap();
    let apps = world.get("/apps", token).await;
    assert_eq!(apps[0]["actions"], json!(["view_payments", "manage_keys"]));
    for (field, value) in [
        ("days", json!(0)),
        ("days", json!(367)),
        ("actions", json!([])),
        ("actions", json!(["fly"])),
        ("name", json!("")),
    ] {
        let mut wrong = new.clone();
        wrong[field] = value;
        let shown = world.call("POST", "/tokens", session, wrong).await;
        assert_eq!(
            (shown.0, &shown.1["errors"][0]["field"]),
            (422, &json!(field)),
            "{}",
            shown.1
        );
    }
    let beyond = json!({
        "name": "CI", "account": world.account(), "actions": ["manage_team"], "days": 1,
    });
    let shown = world.call("POST", "/tokens", session, beyond).await;
    assert_eq!((shown.0, shown.code()), (403, "person_needed"));
    world.test.clock.advance(Duration::from_secs(11 * 60));
    let fresh = world.session("owner@example.com").await;
    let app = world.test.keys.app;
    let objects = world.objects(world.account(), app, &fresh).await;
    for one in operations() {
        let Some(action) = one.action else {
            continue;
        };
        let shown = world.ask(&one, &objects, session).await;
        let is_stale = shown.code() == "confirmation_needed";
        let what = format!("{} {}", one.path, shown.1);
        assert_eq!(is_stale, requires_recent_authentication(action), "{what}");
    }
    let sessions = world.get("/sessions", session).await;
    let mut own = sessions.as_array().unwrap().iter();
    let own = own.find(|one| one["is_own"] == true).expect("the session");
    let path = format!("/sessions/{}", own["id"].as_str().unwrap());
    assert_eq!(
        world.call("DELETE", &path, session, Value::Null).await.0,
        200
    );
    assert_eq!(world.call("GET", "/me", session, Value::Null).await.0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_without_personal_data_get_masked_customers() {
    let world = World::new().await;
    let roles = world.roles().await;
    let key = world.test.keys.sandbox_secret_key.expose();
    let id = world.payment(key).await;
    let email = customer().email;
    for (role, session) in &roles {
        let may_see = allows(*role, Action::ViewPersonalData);
        let search = format!("search?text={id}");
        let one = format!("transactions/{id}");
        for path in ["transactions", search.as_str(), one.as_str()] {
            let shown = world.get(&world.in_scope(path), session).await;
            let text = shown.to_string();
            assert!(text.contains(&id), "{role}: {text}");
            assert_eq!(text.contains(&email), may_see, "{role} {path}: {text}");
        }
        let other = world.in_scope(&one).replace("/sandbox/", "/live/");
        let missing = world.call("GET", &other, session, Value::Null).await;
        assert_eq!(
            missing.0, 404,
            "a payment of the sandbox does not exist in live"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_without_routing_get_no_reasons_for_the_choice_of_connections() {
    let world = World::new().await;
    let roles = world.roles().await;
    let id = routed(&world.test).await;
    let path = world.in_scope(&format!("transactions/{id}"));
    let owner = &roles[0].1;
    let payments = [Action::ViewPayments];
    let narrow = world.token(owner, payments).await;
    let wide = world.token(owner, [Action::ViewPayments, Action::ViewRouting]);
    let tokens = [(false, narrow), (true, wide.await)];
    let sessions = roles.into_iter();
    let sessions = sessions.map(|(role, token)| (allows(role, Action::ViewRouting), token));
    for (may_see, token) in sessions.chain(tokens) {
        let shown = world.get(&path, &token).await;
        assert_eq!(shown["attempts"][0]["decision"].is_object(), may_see);
        let text = shown.to_string();
        assert!(text.contains("attempt_started") && text.contains("stepped_over"));
        for word in REASONS {
            assert_eq!(text.contains(word), may_see, "{word}: {text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_sees_itself_no_session_and_no_role_elsewhere() {
    let world = World::new().await;
    world.owner("owner@example.com", world.account()).await;
    let other = world.test.engine.access().create_account("Other").await;
    let other = other.unwrap().id;
    world.owner("owner@example.com", other).await;
    let owner = world.session("owner@example.com").await;
    let token = world.token(&owner, [Action::ViewPayments]).await;
    world.token(&owner, [Action::ManageKeys]).await;
    let counts = |roles: &Value, tokens: &Value| {
        let count = |all: &Value| all.as_array().map(Vec::len);
        (count(roles), count(tokens))
    };
    let (me, tokens) = (world.get("/me", &owner), world.get("/tokens", &owner));
    assert_eq!(
        counts(&me.await["roles"], &tokens.await),
        (Some(2), Some(2))
    );
    let (me, tokens) = (
        world.get("/me", &token).await,
        world.get("/tokens", &token).await,
    );
    assert_eq!(counts(&me["roles"], &tokens), (Some(1), Some(1)), "{me}");
    assert_eq!(me["roles"][0]["account"], json!(world.account()));
    assert_eq!(me["token"]["id"], tokens[0]["id"]);
    let actions = world.get(&world.in_account("actions"), &token).await;
    let names: Vec<_> = actions.as_array().unwrap().iter().collect();
    assert_eq!(
        (names.len(), &names[0]["action"]),
        (1, &json!("view_payments"))
    );
    let refused = world.call("GET", "/sessions", &token, Value::Null).await;
    assert_eq!((refused.0, refused.code()), (403, "person_needed"));
    let elsewhere = format!("/accounts/{other}/team");
    let missing = world.call("GET", &elsewhere, &token, Value::Null).await;
    assert_eq!(missing.0, 404, "{}", missing.1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_has_the_rate_limit_of_a_secret_key() {
    let world = World::on(TestEngineBuilder {
        requests_per_minute: 5,
        ..TestEngineBuilder::with(Gateways::default())
    });
    let world = world.await;
    world.owner("owner@example.com", world.account()).await;
    let session = world.session("owner@example.com").await;
    let token = world.token(&session, [Action::ViewPayments]).await;
    for _ in 0..5 {
        world.get("/me", &token).await;
    }
    let refused = world.call("GET", "/me", &token, Value::Null).await;
    assert_eq!((refused.0, refused.code()), (429, "rate_limit_exceeded"));
    world.get("/me", &session).await;
    world.test.clock.advance(Duration::from_secs(61));
    world.get("/me", &token).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_keeps_the_settings_that_only_operators_change() {
    let world = World::new().await;
    let owner = world.roles().await[0].1.clone();
    let path = format!("/apps/{}", world.test.keys.app);
    for change in [
        json!({ "second_person": {} }),
        json!({ "payout_limits": {} }),
        json!({ "unsafe_payouts_with_public_key": true }),
        json!({ "is_enabled": false }),
    ] {
        let shown = world.call("PATCH", &path, &owner, change).await;
        assert_eq!(
            (shown.0, shown.code()),
            (422, "field_invalid"),
            "{}",
            shown.1
        );
    }
    let change = json!({ "name": "New shop", "support_email": "help@shop.example" });
    let shown = world.call("PATCH", &path, &owner, change).await;
    assert_eq!(shown.0, 200, "{}", shown.1);
    let app = world.get(&path, &owner).await;
    assert_eq!(app["settings"]["support_email"], "help@shop.example");
    let wrong = json!({ "support_email": "no address" });
    let shown = world.call("PATCH", &path, &owner, wrong).await;
    assert_eq!(shown.0, 422, "{}", shown.1);
    let log = world
        .get(
            &world.in_account("audit?action=manage_app_settings"),
            &owner,
        )
        .await;
    assert_eq!(log["entries"][0]["after"]["name"], "New shop");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_changes_the_logo_of_an_app_and_a_viewer_does_not() {
    let world = World::new().await;
    let roles = world.roles().await;
    let session = |wanted: Role| {
        let mut roles = roles.iter().filter(|(role, _)| *role == wanted);
        roles.next().unwrap().1.clone()
    };
    let (owner, viewer) = (session(Role::Owner), session(Role::Viewer));
    let app = format!("/apps/{}", world.test.keys.app);
    let path = format!("{app}/logo");
    let put = async |session: &str, file: Vec<u8>| {
        let body = ("application/octet-stream", Body::from(file));
        world.send(("PUT", &path), session, body).await
    };
    let png = png();
    let refused = put(&viewer, png.clone()).await;
    assert_eq!((refused.0, refused.code()), (403, "role_not_allowed"));
    let wrong = put(&owner, b"<svg/>".to_vec()).await;
    assert_eq!(
        (wrong.0, &wrong.1["errors"][0]["field"]),
        (422, &json!("logo"))
    );
    let stored = put(&owner, png).await;
    assert_eq!(stored.0, 200, "{}", stored.1);
    let logo = stored.1["data"]["settings"]["logo"].clone();
    assert!(logo.is_string(), "{}", stored.1);
    assert_eq!(world.get(&app, &owner).await["settings"]["logo"], logo);
    let removed = world.call("DELETE", &path, &owner, Value::Null).await;
    assert_eq!(removed.0, 200, "{}", removed.1);
    assert!(world.get(&app, &owner).await["settings"]["logo"].is_null());
    let changes = world.in_account("audit?action=manage_app_settings");
    let log = world.get(&changes, &owner).await;
    assert_eq!(log["entries"][0]["before"]["logo"], logo);
    assert_eq!(log["entries"][1]["after"]["logo"], logo);
}

/// A PNG of 2 by 2 pixels.
fn png() -> Vec<u8> {
    let file = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mPgjl8KRAwQCgAbSgQ9/meWtA\
                AAAABJRU5ErkJggg==";
    STANDARD.decode(file).unwrap()
}
