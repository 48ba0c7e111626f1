//! Operator's view of routing over HTTP, for traffic that really ran.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::{Value, json};
use switchyard::operations::Draining;
use switchyard::state::{ApiState, HttpSettings};
use switchyard::{operator, routes};
use switchyard_core::ids::{AppId, TransactionId};
use switchyard_core::transaction::{ClientContext, Status};
use switchyard_engine::engine::NewPayout;
use switchyard_engine::testing::{amount, customer};
use tower::ServiceExt as _;

use crate::road::{METHOD, Road};

struct Operator {
    router: Router,
    token: String,
}

impl Operator {
    fn of(road: &Road) -> Self {
        let state = ApiState::new(road.bench.engine.clone(), HttpSettings::default());
        Self {
            router: operator::routes(state.clone(), Draining::default()).with_state(state),
            token: road.bench.keys.operator_token.expose().clone(),
        }
    }

    /// The data of an answer that has to be good.
    async fn ask(&self, method: &str, path: &str, body: Value) -> Value {
        ask(&self.router, &self.token, method, path, body).await
    }
}

pub async fn ask(router: &Router, token: &str, method: &str, path: &str, body: Value) -> Value {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {token}"))
        .body(Body::from(body.to_string()))
        .unwrap();
    let answer = router.clone().oneshot(request).await.unwrap();
    let status = answer.status();
    let bytes = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
    let body: Value = serde_json::from_slice(&bytes).unwrap();
    assert!(status.is_success(), "{path}: {body}");
    body["data"].clone()
}

/// Five payments that failed at the first connection by its provider's fault, and went through the
/// second.
struct Scene {
    operator: Operator,
    app: AppId,
    ids: Vec<String>,
    first: TransactionId,
    /// The engine and the provider live as long.
    _road: Road,
}

async fn scene() -> Scene {
    let road = Road::new(2).await;
    let operator = Operator::of(&road);
    let app = road.caller.app.id;
    let ids: Vec<String> = road.connections.iter().map(ToString::to_string).collect();
    let fees = json!([
        { "connection": ids[0], "percent": "2" },
        { "connection": ids[1], "currency": "USD", "percent": "1", "fixed": "0.05" },
    ]);
    let home = json!({ "name": "home", "match": { "methods": [METHOD] }, "strategy": { "type": "priority", "connections": [ids[0]] } });
    let body = json!({ "environment": "sandbox", "rules": [home], "fees": fees, "replaces": 1 });
    let set = operator
        .ask("PUT", &format!("/apps/{app}/routing"), body)
        .await;
    assert_eq!(set["version"], 2);

    let first = road.pay("sick ok").await.id;
    for _ in 0..4 {
        road.bench.clock.advance(Duration::from_millis(50));
        road.pay("sick ok").await;
    }
    Scene {
        operator,
        app,
        ids,
        first,
        _road: road,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_reads_the_decision_on_the_timeline_and_the_health() {
    let scene = scene().await;
    let (operator, app, ids, first) = (&scene.operator, scene.app, &scene.ids, scene.first);
    let shown = operator
        .ask("GET", &format!("/transactions/{first}"), Value::Null)
        .await;
    let decisions = [
        &shown["attempts"][0]["decision"],
        &shown["attempts"][1]["decision"],
    ];
    assert_eq!(
        decisions[0]["rule"],
        json!({ "version": 2, "number": 1, "name": "home", "strategy": "priority" })
    );
    assert_eq!(
        decisions[0]["considered"][1]["why"],
        "not named by the rule"
    );
    assert_eq!(
        decisions[1]["chosen_because"],
        "programmable could not take it"
    );
    let timeline = shown["timeline"].as_array().unwrap();
    let started = timeline
        .iter()
        .find(|step| step["event"]["type"] == "attempt_started")
        .unwrap();
    assert_eq!(&started["event"]["attempt"]["decision"], decisions[0]);

    let health = operator
        .ask("GET", &format!("/routing/health?app={app}"), Value::Null)
        .await;
    assert_eq!(health[0]["connection"], ids[0].as_str());
    assert_eq!(
        (&health[0]["breaker"], &health[0]["faults"]),
        (&json!("open"), &json!(5))
    );
    assert_eq!(
        (&health[1]["breaker"], &health[1]["succeeded"]),
        (&json!("closed"), &json!(5))
    );
    let fault = &health[0]["last_fault"];
    assert!(fault["at"].as_str().is_some_and(|at| at.ends_with('Z')));
    assert!(fault["message"].as_str().is_some_and(|why| !why.is_empty()));
    assert_eq!(health[1]["last_fault"], Value::Null);
    let live = operator
        .ask("GET", "/routing/health?environment=live", Value::Null)
        .await;
    assert_eq!(live, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_simulates_a_request_and_stored_traffic_under_other_rules() {
    let scene = scene().await;
    let (operator, app, ids) = (&scene.operator, scene.app, &scene.ids);
    // The breaker of the first is open: the second takes it, and the decision says why.
    let request = json!({ "kind": "payment", "method": METHOD, "amount": 25, "currency": "USD" });
    let base = json!({ "app": app, "environment": "sandbox", "request": request });
    let decided = operator
        .ask("POST", "/routing/simulate", base.clone())
        .await;
    assert_eq!(decided["chosen"]["connection"], ids[1].as_str());
    assert!(
        decided["because"]
            .as_str()
            .unwrap()
            .contains("would come first"),
        "{decided}"
    );
    assert_eq!(decided["considered"][0]["fee_formatted"], "$ 0.30");
    let mut only = base;
    only["rules"] =
        json!([{ "only": true, "strategy": { "type": "cheapest", "connections": [ids[0]] } }]);
    let decided = operator.ask("POST", "/routing/simulate", only).await;
    assert_eq!(decided["chosen"]["connection"], ids[0].as_str());
    assert_eq!(decided["rule"]["version"], 0);
    assert!(
        decided["skipped"][0]["because"]
            .as_str()
            .unwrap()
            .contains("only"),
        "{decided}"
    );

    let traffic = json!({
        "app": app, "environment": "sandbox", "rules": [{ "strategy": { "type": "cheapest" } }],
        "traffic": { "from": "2026-11-20", "to": "2026-11-21" },
    });
    let replayed = operator.ask("POST", "/routing/simulate", traffic).await;
    assert_eq!(
        (&replayed["total"], &replayed["without_method"]),
        (&json!(5), &json!(0))
    );
    let row = &replayed["connections"][0];
    assert_eq!(
        (&row["in_force"]["count"], &row["tried"]["count"]),
        (&json!(5), &json!(0))
    );
    assert_eq!(replayed["moved"][0]["count"], 5);
    assert_eq!(replayed["fees"]["in_force"]["sums"]["USD"], "$ 2.50");
    assert_eq!(replayed["fees"]["tried"]["sums"]["USD"], "$ 1.50");
}

#[tokio::test(flavor = "multi_thread")]
async fn why_nothing_was_sent_is_read_by_operators_and_not_by_merchants() {
    let road = Road::new(1).await;
    let new = NewPayout {
        amount: amount(2_500, "USD"),
        description: "refused".into(),
        method: "switchyard_payout_demo".into(),
        recipient: BTreeMap::from([("account_number".to_owned(), "4149518161".to_owned())]),
        customer: customer(),
        metadata: BTreeMap::new(),
        context: ClientContext::default(),
    };
    let payout = road.bench.engine.initialize_payout(&road.caller, new, None);
    let id = payout.await.unwrap().id;
    assert_eq!(road.end(id).await.status(), Status::Failed);

    let operator = Operator::of(&road);
    let path = format!("/transactions/{id}");
    let shown = operator.ask("GET", &path, Value::Null).await;
    let why = shown["attempts"][0]["why"].as_str().unwrap();
    assert!(why.contains("gateway programmable, payout"), "{why}");

    let state = ApiState::new(road.bench.engine.clone(), HttpSettings::default());
    let (router, key) = (routes::router(state), &road.bench.keys.sandbox_secret_key);
    let path = format!("/v1/payouts/{id}/verify");
    let told = ask(&router, key.expose(), "GET", &path, Value::Null).await;
    let disburse = &told["disburse"];
    assert_eq!(disburse["failure_error_code"], "provider_unavailable");
    assert_eq!(
        disburse["failure_message"],
        "The payment provider could not be reached; nothing was sent."
    );
    assert!(!told.to_string().contains("gateway programmable"), "{told}");
}
