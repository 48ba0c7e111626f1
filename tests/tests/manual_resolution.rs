//! Manual resolution by an operator, through the operator API, with the test gateway behind it.

use std::time::Duration;

use anyhow::Context;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use switchyard::operations::Draining;
use switchyard::operator;
use switchyard_core::environment::Environment;
use switchyard_engine::access::NewConnection;
use switchyard_tests::eventually;
use switchyard_tests::merchant::{Merchant, Reply, payment};

/// Stays pending, as a payment and as a payout.
const PAYMENT_STAYS: &str = "4149518162";
const PAYOUT_STAYS: &str = "4149518163";

struct World {
    merchant: Merchant,
}

impl World {
    async fn open() -> anyhow::Result<Self> {
        let mut merchant = Merchant::with(|_| {}).await?;
        let routes = operator::routes(merchant.state.clone(), Draining::default());
        let routes = axum::Router::new()
            .nest("/operator/v1", routes)
            .with_state(merchant.state.clone());
        merchant.router = merchant.router.merge(routes);
        Ok(Self { merchant })
    }

    async fn ask(&self, method: &str, path: &str, body: &Value) -> anyhow::Result<Reply> {
        let token = self.merchant.bench.keys.operator_token.expose();
        let request = Request::builder()
            .method(method)
            .uri(format!("/operator/v1{path}"))
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json");
        let body = match body {
            Value::Null => Body::empty(),
            body => Body::from(body.to_string()),
        };
        self.merchant.ask(request.body(body)?).await
    }

    /// `data` of a good answer.
    async fn done(&self, method: &str, path: &str, body: Value) -> anyhow::Result<Value> {
        let reply = self.ask(method, path, &body).await?;
        anyhow::ensure!(reply.status == 200, "{method} {path}: {}", reply.text);
        Ok(reply.body["data"].clone())
    }

    async fn refused(&self, path: &str, body: Value) -> anyhow::Result<(u16, Vec<String>)> {
        Ok(self.ask("POST", path, &body).await?.refusal())
    }

    async fn pending_payment(&self) -> anyhow::Result<String> {
        let id = self.merchant.payment().await?;
        self.merchant.pay(&id, PAYMENT_STAYS).await?;
        self.comes_to(&id, "pending").await?;
        Ok(id)
    }

    /// Reason for the payout's manual review, wherever its merchant reads it.
    async fn merchant_sees(&self, id: &str, attention: &Value) -> anyhow::Result<()> {
        let path = format!("/v1/payouts/{id}");
        let verify = format!("{path}/verify");
        for (path, pointer) in [
            (path.as_str(), "/data"),
            (&verify, "/data"),
            ("/v1/payouts", "/data/0"),
        ] {
            let reply = self.merchant.get(path).await?;
            let shown = reply.body.pointer(pointer).context("a payout")?;
            assert_eq!(&shown["id"], id);
            assert_eq!(&shown["attention"], attention, "{path}");
        }
        Ok(())
    }

    async fn comes_to(&self, id: &str, status: &str) -> anyhow::Result<Value> {
        let path = format!("/transactions/{id}");
        eventually(status, Duration::from_secs(20), async || {
            let shown = self.done("GET", &path, Value::Null).await?;
            let there = shown["status"] == status && shown["state"] != "awaiting_gateway";
            Ok(there.then_some(shown))
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_says_its_environment_and_shows_live_once_there_is_something_live()
-> anyhow::Result<()> {
    let world = World::open().await?;
    let path = format!("/apps/{}/transactions", world.merchant.bench.keys.app);
    world.merchant.payment().await?;
    let listed = async |query: &str| {
        let reply = world
            .ask("GET", &format!("{path}{query}"), &Value::Null)
            .await?;
        let meta = &reply.body["meta"];
        anyhow::Ok((meta["environment"].clone(), meta["total"].clone()))
    };
    assert_eq!(listed("").await?, (json!("sandbox"), json!(1)));
    let new = NewConnection {
        app: world.merchant.bench.keys.app,
        environment: Environment::Live,
        gateway: "switchyard_demo".to_owned(),
        account_name: "Main".to_owned(),
        methods: None,
        config: json!({}),
    };
    let access = world.merchant.bench.engine.access();
    access.create_connection(new).await?;
    let key = format!("Bearer {}", world.merchant.live());
    let headers = [("authorization", key.as_str())];
    let path = "/v1/payments/initialize";
    let made = world.merchant.post_with(path, &payment(), &headers).await?;
    anyhow::ensure!(made.status == 201, "{}", made.text);
    assert_eq!(listed("").await?, (json!("live"), json!(1)));
    assert_eq!(listed("?environment=sandbox").await?.0, "sandbox");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_asks_the_provider_at_once_and_says_what_came() -> anyhow::Result<()> {
    let world = World::open().await?;
    let id = world.pending_payment().await?;
    world.merchant.bench.clock.advance(Duration::from_secs(3));
    let path = format!("/transactions/{id}/check");
    let checked = world.done("POST", &path, json!({})).await?;
    assert_eq!(
        (&checked["asked"], &checked["answered"], &checked["status"]),
        (&json!(true), &json!(true), &json!("pending"))
    );
    let acts = checked["timeline"].as_array().context("a timeline")?;
    let act = acts.iter().find(|step| step["event"]["act"] == "checked");
    let act = act.context("the check is on the timeline")?;
    assert_eq!(act["event"]["operator"]["name"], "development");
    let again = world.done("POST", &path, json!({})).await?;
    assert_eq!(again["asked"], false, "a second press asks nobody");
    let nobody = world.merchant.payment().await?;
    let refused = world
        .refused(&format!("/transactions/{nobody}/check"), json!({}))
        .await?;
    assert_eq!(refused, (409, vec!["transition_refused -".to_owned()]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_payment_is_settled_once_and_its_end_never_changes() -> anyhow::Result<()> {
    let world = World::open().await?;
    let id = world.pending_payment().await?;
    let path = format!("/transactions/{id}/resolve");
    let unfit = |field: &str| (422, vec![format!("field_invalid {field}")]);
    for (body, refused) in [
        (json!({"outcome": "failed", "note": " "}), unfit("note")),
        (
            json!({"outcome": "failed", "note": "x", "amount": 25}),
            unfit("amount"),
        ),
        (
            json!({"outcome": "succeeded", "note": "x", "amount": "25.001"}),
            unfit("amount"),
        ),
        (json!({"outcome": "perhaps", "note": "x"}), unfit("-")),
        (
            json!({"outcome": "never_sent", "note": "x"}),
            (409, vec!["transition_refused -".to_owned()]),
        ),
        (
            json!({"outcome": "succeeded", "note": "x", "amount": 24.99}),
            (409, vec!["transition_refused -".to_owned()]),
        ),
        (
            json!({"outcome": "succeeded", "note": "x", "amount": "99999999999.00"}),
            (409, vec!["transition_refused amount".to_owned()]),
        ),
        (
            json!({"outcome": "succeeded", "note": "x", "surplus": true}),
            unfit("surplus"),
        ),
    ] {
        assert_eq!(world.refused(&path, body.clone()).await?, refused, "{body}");
    }
    let note = "in the provider's books";
    let settled = json!({"outcome": "succeeded", "note": note, "provider_id": "P-9"});
    let settled = world.done("POST", &path, settled).await?;
    assert_eq!(settled["status"], "success");
    assert_eq!(settled["attempts"][0]["provider_id"], "P-9");
    assert!(settled["timeline"].to_string().contains(note));
    let seen = world
        .merchant
        .get(&format!("/v1/payments/{id}/verify"))
        .await?;
    assert_eq!(seen.body["data"]["status"], "success");
    let twice = world
        .refused(&path, json!({"outcome": "failed", "note": "x"}))
        .await?;
    assert_eq!(twice, (409, vec!["transition_refused -".to_owned()]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_after_a_persons_failed_shows_that_the_provider_still_has_the_attempt()
-> anyhow::Result<()> {
    let world = World::open().await?;
    let id = world.pending_payment().await?;
    let failed = json!({"outcome": "failed", "note": "the provider's support said so"});
    let path = format!("/transactions/{id}/resolve");
    let failed = world.done("POST", &path, failed).await?;
    assert_eq!(
        (&failed["status"], &failed["open_cases"]),
        (&json!("failed"), &json!(0))
    );
    world.merchant.bench.clock.advance(Duration::from_secs(3));
    let path = format!("/transactions/{id}/check");
    let checked = world.done("POST", &path, json!({})).await?;
    assert_eq!(
        (&checked["asked"], &checked["answered"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(
        (&checked["status"], &checked["cases"][0]["reason"]),
        (&json!("failed"), &json!("found_after_not_sent"))
    );
    Ok(())
}

/// The end of the submission is no answer to a query that began while it was ending.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_submission_is_not_counted_as_the_end_of_a_query() -> anyhow::Result<()> {
    let world = World::open().await?;
    let id = world.merchant.payment().await?;
    let live = world.merchant.bench.engine.watch(id.parse()?);
    world.merchant.pay(&id, PAYMENT_STAYS).await?;
    world.comes_to(&id, "pending").await?;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(live.borrow().answers, 0);
    world.merchant.bench.clock.advance(Duration::from_secs(3));
    let path = format!("/transactions/{id}/check");
    let checked = world.done("POST", &path, json!({})).await?;
    assert_eq!(checked["answered"], true);
    assert_eq!(live.borrow().answers, 1);
    Ok(())
}

/// The filters of the list, with one open case, opened after the 20th and before the 23rd.
async fn cases_are_found(world: &World, case_id: &str) -> anyhow::Result<()> {
    for (query, count) in [
        ("reason=amount_differs", 0),
        ("environment=live", 0),
        ("environment=sandbox", 1),
        ("opened_before=2026-11-20", 0),
        ("opened_before=2026-11-23", 1),
        ("state=closed", 0),
        ("limit=1", 1),
        (&format!("before={case_id}"), 0),
    ] {
        let found = world
            .done("GET", &format!("/cases?{query}"), Value::Null)
            .await?;
        let found = found["cases"].as_array().map_or(0, Vec::len);
        assert_eq!(found, count, "{query}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn after_three_days_a_case_waits_for_a_person_who_settles_it() -> anyhow::Result<()> {
    let world = World::open().await?;
    let id = world.merchant.payout(PAYOUT_STAYS).await?;
    world.comes_to(&id, "pending").await?;
    let open = |query: &str| format!("/cases?{query}");
    assert_eq!(
        world.done("GET", &open(""), Value::Null).await?["cases"],
        json!([])
    );
    let days = Duration::from_secs(3 * 24 * 3_600 + 1);
    world.merchant.bench.clock.advance(days);
    let case = eventually("a case", Duration::from_secs(20), async || {
        let cases = world.done("GET", &open(""), Value::Null).await?;
        Ok(cases["cases"].get(0).cloned())
    })
    .await?;
    assert_eq!(
        (&case["reason"], &case["state"], &case["transaction"]["id"]),
        (&json!("no_final_answer"), &json!("open"), &json!(id))
    );
    let case_id = case["id"].as_str().context("an id")?;
    world.merchant_sees(&id, &case["reason"]).await?;
    cases_are_found(&world, case_id).await?;
    let note = json!({"note": "looked into the books"});
    let close = format!("/cases/{case_id}/close");
    assert_eq!(world.refused(&close, note.clone()).await?.0, 409);
    let resolve = format!("/transactions/{id}/resolve");
    let failed = json!({"outcome": "failed", "note": "gone", "message": "The account is closed."});
    let failed = world.done("POST", &resolve, failed).await?;
    assert_eq!(
        (
            &failed["status"],
            &failed["failure_message"],
            &failed["open_cases"]
        ),
        (
            &json!("failed"),
            &json!("The account is closed."),
            &json!(0)
        )
    );
    world.merchant_sees(&id, &Value::Null).await?;
    let shown = world
        .done("GET", &format!("/cases/{case_id}"), Value::Null)
        .await?;
    assert_eq!(shown["closed"]["note"], "gone");
    assert_eq!(shown["closed"]["by"]["name"], "development");
    assert_eq!(shown["transaction"]["id"], json!(id));
    let closed = world
        .done("GET", &open("state=closed"), Value::Null)
        .await?;
    assert_eq!(closed["cases"][0]["id"], case_id);
    assert_eq!(
        world.done("GET", &open(""), Value::Null).await?["cases"],
        json!([])
    );
    assert_eq!(world.refused(&close, note).await?.0, 409, "closed before");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_cancels_a_payment_that_no_provider_has() -> anyhow::Result<()> {
    let world = World::open().await?;
    let id = world.merchant.payment().await?;
    let path = format!("/transactions/{id}/cancel");
    let note = json!({"note": "ordered twice"});
    let cancelled = world.done("POST", &path, note.clone()).await?;
    assert_eq!(cancelled["status"], "cancelled");
    assert!(cancelled["timeline"].to_string().contains("ordered twice"));
    let pending = world.pending_payment().await?;
    let path = format!("/transactions/{pending}/cancel");
    assert_eq!(world.refused(&path, note).await?.0, 409);
    Ok(())
}
