//! The door before every operator route, and what answers behind it show of keys and tokens.

use axum::http::StatusCode;
use axum::http::header::WWW_AUTHENTICATE;
use serde_json::{Value, json};
use switchyard_engine::access::make_for_settings;
use switchyard_system::ids::Ids;

use super::tests::World;

const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/// Every path with something in the place of its parameters: what exists where `known` names it,
/// else what never was.
fn paths(known: &[(&str, String)]) -> Vec<String> {
    let fill = |path: &str| {
        let known = known.iter().fold(path.to_owned(), |path, (name, id)| {
            path.replace(&format!("{{{name}}}"), id)
        });
        let steps = known.split('/').map(|step| match step.starts_with('{') {
            true => "nothing",
            false => step,
        });
        steps.collect::<Vec<_>>().join("/")
    };
    let document = super::document();
    let paths = document.paths.paths.keys();
    let below = paths.filter_map(|path| path.strip_prefix(super::PREFIX));
    below.map(fill).collect()
}

/// Tokens that open nothing here, each with what is wrong with it.
async fn intruders(world: &World) -> Vec<(&'static str, String)> {
    let keys = &world.keys;
    let right = keys.operator_token.expose().as_str();
    let made = world
        .done("POST", "/tokens", json!({ "name": "gone" }))
        .await;
    let gone = format!("/tokens/{}", made["id"].as_str().unwrap());
    world.done("DELETE", &gone, Value::Null).await;
    let (stranger, _) = make_for_settings("switchyard", &Ids::seeded(99));
    let (of_another_service, _) = make_for_settings("other", &Ids::seeded(98));
    let last = if right.ends_with('a') { "b" } else { "a" };
    let mistyped = format!("{}{last}", &right[..right.len() - 1]);
    vec![
        ("none", String::new()),
        ("no token", "nonsense".to_owned()),
        ("mistyped", mistyped),
        ("never made", stranger.expose().clone()),
        ("of another service", of_another_service.expose().clone()),
        ("for metrics", world.metrics_token.expose().clone()),
        ("deleted", made["token"].as_str().unwrap().to_owned()),
        ("half of one", right[..right.len() / 2].to_owned()),
        (
            "sandbox secret key",
            keys.sandbox_secret_key.expose().clone(),
        ),
        ("live secret key", keys.live_secret_key.expose().clone()),
        (
            "sandbox public key",
            keys.sandbox_public_key.expose().clone(),
        ),
        ("live public key", keys.live_public_key.expose().clone()),
    ]
}

/// The refusal is the same whatever is asked for, and however: so it was not looked at.
#[tokio::test]
async fn whoever_has_no_operator_token_is_refused_in_the_same_words_at_every_route() {
    let world = World::new().await;
    let app = world.app();
    let intruders = intruders(&world).await;
    let paths: Vec<String> = [paths(&[("app", app)]), paths(&[])].concat();
    let before = everything(&world);
    let mut refused = 0;
    for (what, token) in &intruders {
        let mut words: Option<Value> = None;
        for path in &paths {
            let mut guarded = 0;
            for method in METHODS {
                // Good for some routes, and wrong for all others.
                let good = json!({ "name": "x", "environment": "live", "kind": "secret", "event": "payment.initiated" });
                let answer = world.ask(method, path, token, Some(&good)).await;
                if answer.status() == StatusCode::METHOD_NOT_ALLOWED {
                    continue;
                }
                assert_eq!(answer.status(), 401, "{what}: {method} {path}");
                assert_eq!(
                    answer.headers()[WWW_AUTHENTICATE],
                    "Bearer",
                    "{method} {path}"
                );
                guarded += 1;
                if method == "HEAD" {
                    continue;
                }
                let body = super::tests::read(answer).await;
                let first = words.get_or_insert_with(|| body.clone());
                assert_eq!(&body, first, "{what}: {method} {path}");
            }
            assert!(guarded > 0, "{path} has no method that is guarded");
            refused += guarded;
        }
        let words = words.unwrap();
        assert_eq!(
            words["errors"][0]["code"], "operator_token_invalid",
            "{what}"
        );
        assert_eq!(words["message"], "Unauthorized: invalid operator token");
        assert_eq!(words["data"], json!({}));
        assert!(token.is_empty() || !words.to_string().contains(token.as_str()));
    }
    assert!(refused >= 60 * intruders.len(), "{refused}");
    assert_eq!(everything(&world), before, "nothing happened");
}

/// Number of objects of each kind that an operator can change.
fn everything(world: &World) -> [usize; 6] {
    let access = world.engine.access();
    let app = world.keys.app;
    [
        access.accounts().len(),
        access.apps(None).len(),
        access.keys(app).unwrap().len(),
        access.webhooks(app).unwrap().len(),
        access.operator_tokens().len(),
        world.engine.exchange_rates().entries().len(),
    ]
}

/// Secrets that were made by now, each with the one path that may show it.
async fn made(world: &World) -> (Vec<(String, String)>, Vec<(&'static str, String)>) {
    let app = world.app();
    let text = |value: &Value, name: &str| value[name].as_str().unwrap().to_owned();
    let keys = format!("/apps/{app}/keys");
    let new = json!({ "environment": "live", "kind": "secret" });
    let key = world.done("POST", &keys, new).await;
    let roll = format!("/keys/{}/roll", text(&key, "id"));
    let rolled = world.done("POST", &roll, json!({ "grace": "1h" })).await;
    let token = json!({ "name": "night shift" });
    let token = world.done("POST", "/tokens", token).await;
    let hook = json!({ "url": "https://shop.example/hook", "secret": "whsec_c0nfidential" });
    let webhook = world
        .done("POST", &format!("/apps/{app}/webhooks"), hook)
        .await;
    assert!(!webhook.to_string().contains("c0nfidential"), "{webhook}");
    let trigger = json!({ "event": "payment.cancelled" });
    let paid = world
        .done("POST", &format!("/apps/{app}/trigger"), trigger)
        .await;
    let webhook = text(&webhook, "id");
    let nowhere = String::new;
    let mut secrets = vec![
        (text(&key, "key"), nowhere()),
        (text(&rolled, "key"), nowhere()),
        (text(&token, "token"), nowhere()),
        (
            "c0nfidential".to_owned(),
            format!("/webhooks/{webhook}/secret"),
        ),
    ];
    let seeded = [
        &world.keys.sandbox_secret_key,
        &world.keys.sandbox_public_key,
        &world.keys.live_secret_key,
        &world.keys.live_public_key,
        &world.keys.operator_token,
    ];
    secrets.extend(seeded.map(|secret| (secret.expose().clone(), nowhere())));
    let known = vec![
        ("app", app),
        ("webhook", webhook),
        ("key", text(&rolled, "id")),
        ("transaction", text(&paid, "id")),
        (
            "account",
            world.engine.access().accounts()[0].id.to_string(),
        ),
    ];
    (secrets, known)
}

#[tokio::test]
async fn keys_and_tokens_stand_in_the_answer_that_makes_them_and_in_no_other() {
    let world = World::new().await;
    let (secrets, known) = made(&world).await;
    let mut looked = 0;
    for path in paths(&known) {
        if path.ends_with("/events") {
            continue; // a stream, which has no end
        }
        for method in ["GET", "POST", "PATCH", "PUT"] {
            // A request without a body, or with an invalid one, changes nothing and is refused with
            // the reason.
            let body = json!({ "nonsense": true });
            let body = (method != "GET").then_some(&body);
            let token = world.keys.operator_token.expose();
            let answer = world.ask(method, &path, token, body).await;
            let headers = format!("{:?}", answer.headers());
            let bytes = axum::body::to_bytes(answer.into_body(), 1 << 20).await;
            let text = String::from_utf8_lossy(&bytes.unwrap()).into_owned();
            looked += usize::from(text.contains("\"success\":true"));
            for (secret, may) in &secrets {
                let shows = text.contains(secret.as_str()) || headers.contains(secret.as_str());
                assert!(!shows || path == *may, "{method} {path} shows {secret}");
            }
        }
    }
    assert!(looked >= 15, "only {looked} answers were good ones");
}

/// A stream of events may be open for days: its token is checked again with each event.
#[tokio::test]
async fn whose_token_is_deleted_hears_no_more_events() {
    let world = World::new().await;
    let new = json!({ "name": "gone soon" });
    let made = world.done("POST", "/tokens", new).await;
    let events = format!("/apps/{}/events", world.app());
    let token = made["token"].as_str().unwrap();
    let stream = world.ask("GET", &events, token, None).await;
    assert_eq!(stream.status(), 200);
    let gone = format!("/tokens/{}", made["id"].as_str().unwrap());
    world.done("DELETE", &gone, Value::Null).await;
    let trigger = json!({ "event": "payment.cancelled" });
    let trigger_path = format!("/apps/{}/trigger", world.app());
    world.done("POST", &trigger_path, trigger).await;
    let heard = axum::body::to_bytes(stream.into_body(), 1 << 20);
    let heard = tokio::time::timeout(std::time::Duration::from_secs(20), heard).await;
    let heard = heard.expect("the stream ends").unwrap();
    assert_eq!(String::from_utf8_lossy(&heard), "");
}
