//! The operator API through its routes, on a memory store.

mod logo;
mod webhooks;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body as HttpBody;
use axum::http::{Request, StatusCode};
use axum::response::Response;
use serde_json::{Value, json};
use switchyard_core::directory::Directory;
use switchyard_core::secret::Secret;
use switchyard_engine::access::{
    Access, DevelopmentKeys, MasterKey, Options, SettingsToken, Vault, make_for_settings,
};
use switchyard_engine::engine::{Dependencies, Engine, EngineSettings};
use switchyard_engine::exchange_rates::{ExchangeRates, FeedSettings};
use switchyard_engine::hold::{Hold, Reasons};
use switchyard_engine::testing::START;
use switchyard_gateway_host::Gateways;
use switchyard_store::Store;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use tower::ServiceExt as _;

use super::routes;
use crate::operations::Draining;
use crate::state::{ApiState, HttpSettings};

pub(super) struct World {
    router: Router,
    pub(super) keys: DevelopmentKeys,
    /// Token of the settings that reads metrics only.
    pub(super) metrics_token: Secret<String>,
    pub(super) engine: Engine,
    draining: Draining,
}

impl World {
    pub(super) async fn new() -> Self {
        Self::with_feed(None).await
    }

    /// A world whose exchange rates are fetched from `url`.
    pub(super) async fn with_feed(url: Option<url::Url>) -> Self {
        Self::with(url, Clock::wall(), HttpSettings::default()).await
    }

    pub(super) async fn with(url: Option<url::Url>, clock: Clock, settings: HttpSettings) -> Self {
        let ids = Ids::seeded(21);
        let vault = Vault::new(&MasterKey::random(&ids), ids.clone());
        let store = Store::memory();
        let (metrics_token, named) = make_for_settings("switchyard", &Ids::seeded(22));
        let metrics = SettingsToken::parse(&named).unwrap();
        let access = Access::load(
            store.clone(),
            vault,
            clock.clone(),
            ids.clone(),
            Options {
                metrics_tokens: vec![metrics],
                ..Options::default()
            },
        )
        .await
        .unwrap();
        let keys = access.seed_development(None).await.unwrap().keys;
        let feed = FeedSettings {
            url,
            ..FeedSettings::default()
        };
        let hold = Hold::open(store.clone(), clock.clone(), Reasons::default())
            .await
            .unwrap();
        let exchange_rates = ExchangeRates::load(store.clone(), clock.clone(), feed, true)
            .await
            .unwrap();
        let engine = Engine::start(Dependencies {
            store,
            access,
            gateways: Gateways::default(),
            exchange_rates,
            directory: Arc::new(Directory::new("switchyard")),
            clock,
            ids,
            hold,
            settings: EngineSettings::default(),
        })
        .unwrap();
        let state = ApiState::new(engine.clone(), settings);
        let draining = Draining::default();
        let router = routes(state.clone(), draining.clone()).with_state(state);
        Self {
            router,
            keys,
            metrics_token,
            engine,
            draining,
        }
    }

    pub(super) async fn ask(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: Option<&Value>,
    ) -> Response {
        let mut request = Request::builder().method(method).uri(path);
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = body.map_or_else(HttpBody::empty, |body| HttpBody::from(body.to_string()));
        self.router
            .clone()
            .oneshot(request.body(body).unwrap())
            .await
            .unwrap()
    }

    pub(super) async fn call(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let body = (!body.is_null()).then_some(&body);
        let answer = self
            .ask(method, path, self.keys.operator_token.expose(), body)
            .await;
        let status = answer.status().as_u16();
        (status, read(answer).await)
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.call("GET", path, Value::Null).await;
        assert_eq!(status, 200, "{path}: {answer}");
        assert_eq!(
            (&answer["success"], &answer["errors"]),
            (&json!(true), &Value::Null)
        );
        answer["data"].clone()
    }

    /// The data of an answer that has to be good.
    pub(super) async fn done(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, answer) = self.call(method, path, body).await;
        assert!(matches!(status, 200 | 201), "{method} {path}: {answer}");
        answer["data"].clone()
    }

    pub(super) async fn refused(&self, method: &str, path: &str, body: Value) -> (u16, String) {
        let (status, answer) = self.call(method, path, body).await;
        assert_eq!(answer["data"], json!({}), "{answer}");
        (
            status,
            answer["errors"][0]["code"].as_str().unwrap().to_owned(),
        )
    }

    pub(super) fn app(&self) -> String {
        self.keys.app.to_string()
    }
}

pub(super) async fn read(answer: Response) -> Value {
    let bytes = axum::body::to_bytes(answer.into_body(), 1 << 20)
        .await
        .unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn id(value: &Value) -> &str {
    value["id"].as_str().unwrap()
}

#[tokio::test]
async fn a_key_is_made_shown_once_rolled_and_deleted() {
    let world = World::new().await;
    let account = world
        .done("POST", "/accounts", json!({ "name": "Acme" }))
        .await;
    let app = world
        .done(
            "POST",
            "/apps",
            json!({ "account": id(&account), "name": "Shop" }),
        )
        .await;
    let path = format!("/apps/{}/keys", id(&app));
    let made = world
        .done(
            "POST",
            &path,
            json!({ "environment": "live", "kind": "public" }),
        )
        .await;
    let key = made["key"].as_str().unwrap().to_owned();
    let caller = world.engine.access().authenticate(&key).unwrap();
    assert_eq!(caller.app.id.to_string(), id(&app));
    assert!(!world.get(&path).await.to_string().contains(&key));

    let rolled = world
        .done(
            "POST",
            &format!("/keys/{}/roll", id(&made)),
            json!({ "grace": "1h" }),
        )
        .await;
    assert_eq!(world.get(&path).await.as_array().unwrap().len(), 2);
    assert!(world.engine.access().authenticate(&key).is_ok());
    world
        .done("DELETE", &format!("/keys/{}", id(&made)), Value::Null)
        .await;
    assert!(world.engine.access().authenticate(&key).is_err());
    assert!(
        world
            .engine
            .access()
            .authenticate(rolled["key"].as_str().unwrap())
            .is_ok()
    );
    let twice = world
        .refused("DELETE", &format!("/keys/{}", id(&made)), Value::Null)
        .await;
    assert_eq!(twice, (404, "resource_not_found".to_owned()));
}

#[tokio::test]
async fn a_rolled_key_stays_valid_for_a_day_unless_it_is_ended_at_once() {
    let clock = Clock::manual(START);
    let world = World::with(None, clock.clone(), HttpSettings::default()).await;
    let path = format!("/apps/{}/keys", world.app());
    let new = json!({ "environment": "sandbox", "kind": "secret" });
    let roll = async |how: Value| {
        let made = world.done("POST", &path, new.clone()).await;
        let roll_path = format!("/keys/{}/roll", id(&made));
        world.done("POST", &roll_path, how).await;
        made["key"].as_str().unwrap().to_owned()
    };
    let opens = |key: &str| world.engine.access().authenticate(key).is_ok();
    let ended = roll(json!({ "grace": "0s" })).await;
    assert!(!opens(&ended));
    let rolled = roll(json!({})).await;
    assert!(opens(&rolled));
    let second = Duration::from_secs(1);
    clock.advance(24 * 3_600 * second - second);
    assert!(opens(&rolled), "a second before the day is over");
    clock.advance(second);
    assert!(!opens(&rolled), "a day after it was rolled");
}

#[tokio::test]
async fn in_a_change_what_is_left_out_stays_and_null_takes_away() {
    let world = World::new().await;
    let path = format!("/apps/{}", world.app());
    world.done("PATCH", &path, json!({ "website_url": "https://shop.example", "settings": { "checkout_attempts": 3 } })).await;
    let app = world
        .done(
            "PATCH",
            &path,
            json!({ "name": "Renamed", "settings": { "merchant_email": null } }),
        )
        .await;
    assert_eq!(app["website_url"], "https://shop.example");
    assert_eq!(app["settings"]["checkout_attempts"], 3);
    assert_eq!(app["settings"]["merchant_email"], Value::Null);
    let app = world
        .done("PATCH", &path, json!({ "website_url": null }))
        .await;
    assert_eq!(
        (&app["website_url"], &app["name"]),
        (&Value::Null, &json!("Renamed"))
    );
}

#[tokio::test]
async fn a_change_that_does_not_fit_is_refused_and_changes_nothing() {
    let world = World::new().await;
    let app = format!("/apps/{}", world.app());
    let before = world.get(&app).await;
    for body in [
        json!({ "settings": { "checkout_attempts": 9 } }),
        json!({ "colour": "blue" }),
        json!({ "website_url": "javascript:alert(1)" }),
        json!({ "name": "" }),
    ] {
        let refused = world.refused("PATCH", &app, body.clone()).await;
        assert_eq!(refused, (422, "field_invalid".to_owned()), "{body}");
    }
    assert_eq!(world.get(&app).await, before);
}

#[tokio::test]
async fn what_cannot_be_made_is_refused_by_name() {
    let world = World::new().await;
    let app = format!("/apps/{}", world.app());
    let connection = json!({ "environment": "live", "gateway": "none", "account_name": "x" });
    for (path, body) in [
        ("keys", json!({ "environment": "moon", "kind": "secret" })),
        ("webhooks", json!({ "url": "not a url" })),
        ("webhooks", json!({ "url": "http://127.0.0.1/hooks" })),
        ("webhooks", json!({ "url": "https://shop.example:8443/" })),
        (
            "webhooks",
            json!({ "url": "https://shop.example/", "secret": "whsec_of_the_shop" }),
        ),
        ("connections", connection),
        ("trigger", json!({ "event": "payment.exploded" })),
    ] {
        let refused = world
            .refused("POST", &format!("{app}/{path}"), body.clone())
            .await;
        assert_eq!(refused, (422, "field_invalid".to_owned()), "{path} {body}");
    }
    let token = world.keys.operator_token.expose();
    let malformed = Request::post("/accounts").header("authorization", format!("Bearer {token}"));
    let malformed = malformed.body(HttpBody::from("{nonsense")).unwrap();
    let answer = world.router.clone().oneshot(malformed).await.unwrap();
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_filter_that_does_not_exist_is_refused_by_name() {
    let world = World::new().await;
    let app = world.app();
    for path in [
        "/apps?email=a".to_owned(),
        "/cases?email=a".to_owned(),
        format!("/apps/{app}/transactions?email=a"),
    ] {
        let refused = world.refused("GET", &path, Value::Null).await;
        assert_eq!(refused, (422, "parameter_invalid".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn what_cannot_be_looked_up_is_refused_by_name() {
    let world = World::new().await;
    let app = format!("/apps/{}", world.app());
    for (path, status, code) in [
        ("/apps/app_nothing".to_owned(), 404, "resource_not_found"),
        (
            "/transactions/py_nothing".to_owned(),
            404,
            "resource_not_found",
        ),
        (
            "/webhooks/whk_nothing/attempts".to_owned(),
            404,
            "resource_not_found",
        ),
        (
            format!("{app}/transactions?status=lost"),
            422,
            "field_invalid",
        ),
        (
            format!("{app}/transactions?limit=many"),
            422,
            "parameter_invalid",
        ),
    ] {
        let refused = world.refused("GET", &path, Value::Null).await;
        assert_eq!(refused, (status, code.to_owned()), "{path}");
    }
}

#[tokio::test]
async fn the_sixteenth_webhook_is_refused_and_a_secret_is_shown_on_request_only() {
    let world = World::new().await;
    let path = format!("/apps/{}/webhooks", world.app());
    let secret = "a-secret-of-my-own";
    let first = world
        .done(
            "POST",
            &path,
            json!({ "url": "https://shop.example/hooks", "secret": secret }),
        )
        .await;
    for _ in 1..15 {
        world
            .done(
                "POST",
                &path,
                json!({ "url": "https://shop.example/hooks" }),
            )
            .await;
    }
    let refused = world
        .refused(
            "POST",
            &path,
            json!({ "url": "https://shop.example/hooks" }),
        )
        .await;
    assert_eq!(refused, (422, "limit_reached".to_owned()));
    assert!(!world.get(&path).await.to_string().contains(secret));
    let one = format!("/webhooks/{}", id(&first));
    assert!(!world.get(&one).await.to_string().contains(secret));
    assert_eq!(world.get(&format!("{one}/secret")).await["secret"], secret);
    let inside = json!({ "url": "http://169.254.169.254/latest" });
    let refused = world.refused("PATCH", &one, inside).await;
    assert_eq!(refused, (422, "field_invalid".to_owned()));
    assert_eq!(
        world
            .done("PATCH", &one, json!({ "is_enabled": false }))
            .await["is_enabled"],
        false
    );
    assert_eq!(
        world.engine.access().enabled_webhooks(world.keys.app).len(),
        14
    );
    world.done("DELETE", &one, Value::Null).await;
    assert_eq!(world.get(&path).await.as_array().unwrap().len(), 14);
}

#[tokio::test]
async fn a_token_that_was_made_opens_the_api_until_it_is_deleted() {
    let world = World::new().await;
    let made = world
        .done("POST", "/tokens", json!({ "name": "night shift" }))
        .await;
    let token = made["token"].as_str().unwrap();
    assert_eq!(
        world.ask("GET", "/tokens", token, None).await.status(),
        StatusCode::OK
    );
    assert!(!world.get("/tokens").await.to_string().contains(token));
    world
        .done("DELETE", &format!("/tokens/{}", id(&made)), Value::Null)
        .await;
    assert_eq!(
        world.ask("GET", "/tokens", token, None).await.status(),
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn tokens_show_their_maker_and_are_revoked_by_its_name() {
    let world = World::new().await;
    let bo = world.done("POST", "/tokens", json!({ "name": "bo" })).await;
    let token = bo["token"].as_str().unwrap();
    let cy = json!({ "name": "cy" });
    let cy = read(world.ask("POST", "/tokens", token, Some(&cy)).await).await;
    world
        .done("DELETE", &format!("/tokens/{}", id(&bo)), Value::Null)
        .await;
    let listed = world.get("/tokens").await;
    let shown = listed.as_array().unwrap().iter();
    let mut shown: Vec<_> = shown
        .map(|token| (&token["name"], &token["made_by"], &token["maker_exists"]))
        .collect();
    shown.retain(|(name, ..)| *name != "development");
    assert_eq!(shown, [(&json!("cy"), &json!("bo"), &json!(false))]);

    let path = "/tokens/revoke";
    let mistyped = world
        .refused("POST", path, json!({ "made_by": "boo" }))
        .await;
    assert_eq!(mistyped, (404, "resource_not_found".to_owned()));
    let revoked = world.done("POST", path, json!({ "made_by": "bo" })).await;
    assert_eq!(revoked[0]["name"], "cy");
    let token = cy["data"]["token"].as_str().unwrap();
    assert_eq!(
        world.ask("GET", "/tokens", token, None).await.status(),
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn a_triggered_event_is_a_real_transaction_with_a_timeline() {
    let world = World::new().await;
    let path = format!("/apps/{}/trigger", world.app());
    let made = world
        .done("POST", &path, json!({ "event": "payment.cancelled" }))
        .await;
    assert_eq!(
        (&made["status"], &made["environment"]),
        (&json!("cancelled"), &json!("sandbox"))
    );
    let whole = world.get(&format!("/transactions/{}", id(&made))).await;
    let steps: Vec<&str> = whole["timeline"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["event"]["type"].as_str().unwrap())
        .collect();
    assert_eq!(steps, ["initiated", "cancelled"]);
    assert!(whole["timeline"][0]["at"].as_str().unwrap().ends_with('Z'));
    let day = &made["created_at"].as_str().unwrap()[..10];
    for query in [
        "status=cancelled",
        &format!("from_date={day}&to_date={day}"),
    ] {
        let path = format!("/apps/{}/transactions?{query}", world.app());
        assert_eq!(id(&world.get(&path).await[0]), id(&made), "{query}");
    }
    let live = world
        .get(&format!(
            "/apps/{}/transactions?environment=live",
            world.app()
        ))
        .await;
    assert_eq!(live, json!([]));
}

#[tokio::test]
async fn events_are_streamed_as_they_happen_until_the_server_ends() {
    let world = World::new().await;
    let stream = world
        .ask(
            "GET",
            &format!("/apps/{}/events", world.app()),
            world.keys.operator_token.expose(),
            None,
        )
        .await;
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let made = world
        .done(
            "POST",
            &format!("/apps/{}/trigger", world.app()),
            json!({ "event": "payment.cancelled" }),
        )
        .await;
    world.draining.begin();
    let bytes = axum::body::to_bytes(stream.into_body(), 1 << 20)
        .await
        .unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let names: Vec<&str> = events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["payment.initiated", "payment.cancelled"]);
    assert_eq!(events[0]["transaction"], made["id"]);
    let body: Value = serde_json::from_str(events[1]["body"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&body["event"], &body["data"]["status"]),
        (&json!("payment.cancelled"), &json!("cancelled"))
    );
}

#[tokio::test]
async fn a_rate_is_set_quoted_over_the_pegs_and_removed() {
    let world = World::new().await;
    let rate = json!({"from": "EUR", "to": "USD", "rate": "1.25"});
    let set = world.done("PUT", "/rates", rate).await;
    assert_eq!(
        (&set["rate"], &set["source"]),
        (&json!("1.25"), &json!("table"))
    );
    let quote = world
        .get("/rates/quote?from=USD&to=XOF&amount=10&correction=2")
        .await;
    assert_eq!(quote["price"], "XOF 5 353");
    assert_eq!(quote["way"], "USD > EUR > XOF");
    let sources = world.get("/rates").await;
    assert_eq!(sources.as_array().unwrap().len(), 4, "{sources}");
    for (rate, field) in [
        (json!({"from": "EUR", "to": "EUR", "rate": "1"}), "to"),
        (json!({"from": "EUR", "to": "USD", "rate": "0"}), "rate"),
        (json!({"from": "EUR", "to": "U", "rate": "1"}), "to"),
        (
            json!({"from": "EUR", "to": "USD", "rate": "1", "valid_until": "2020-01-01"}),
            "valid_until",
        ),
    ] {
        let (status, answer) = world.call("PUT", "/rates", rate).await;
        assert_eq!(
            (status, &answer["errors"][0]["field"]),
            (422, &json!(field))
        );
    }
    let fetched = world.refused("POST", "/rates/fetch", json!({})).await;
    assert_eq!(fetched, (404, "resource_not_found".to_owned()));
    world.done("DELETE", "/rates/EUR/USD", Value::Null).await;
    let gone = world.refused("DELETE", "/rates/EUR/USD", Value::Null).await;
    assert_eq!(gone, (404, "resource_not_found".to_owned()));
    let quoted = world
        .refused("GET", "/rates/quote?from=USD&to=XOF", Value::Null)
        .await;
    assert_eq!(quoted, (404, "resource_not_found".to_owned()));
}
