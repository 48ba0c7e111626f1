//! Connections: environments that never meet (P9), and what an operator lets through.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use std::sync::Arc;
use switchyard::operations::Draining;
use switchyard::operator;
use switchyard_core::environment::Environment;
use switchyard_core::transaction::{
    AttemptState, Kind, Operator, Resolution, Status, Transaction, Verdict,
};
use switchyard_engine::access::{
    AccessError, AmountLimit, Connection, ConnectionChange, ConnectionLimits, NewConnection,
};
use switchyard_engine::testing::amount;
use switchyard_records::{SearchQuery, SearchText};
use switchyard_tests::merchant::{Merchant, Reply, payment};

const PAYS: &str = "4149518161";
const STAYS_PENDING: &str = "4149518162";

async fn connect(merchant: &Merchant, environment: Environment) -> anyhow::Result<Arc<Connection>> {
    let new = NewConnection {
        app: merchant.bench.caller().app.id,
        environment,
        gateway: "switchyard_demo".to_owned(),
        account_name: format!("In {environment}"),
        methods: None,
        config: json!({}),
    };
    Ok(merchant
        .bench
        .engine
        .access()
        .create_connection(new)
        .await?)
}

/// Two connections, in the order in which they are tried.
async fn two(
    merchant: &Merchant,
    environment: Environment,
) -> anyhow::Result<[Arc<Connection>; 2]> {
    let mut both = [
        connect(merchant, environment).await?,
        connect(merchant, environment).await?,
    ];
    both.sort_by_key(|connection| connection.id);
    Ok(both)
}

async fn paid(merchant: &Merchant, key: &str) -> anyhow::Result<Arc<Transaction>> {
    paid_by(merchant, key, PAYS).await
}

async fn paid_by(merchant: &Merchant, key: &str, number: &str) -> anyhow::Result<Arc<Transaction>> {
    let headers = [("authorization", format!("Bearer {key}"))];
    let headers = headers
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let made = merchant
        .post_with("/v1/payments/initialize", &payment(), &headers)
        .await?;
    anyhow::ensure!(made.status == 201, "{}", made.text);
    let id = made.body["data"]["id"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    merchant.pay(&id, number).await?;
    let found = merchant.bench.engine.transaction(id.parse()?).await?;
    found.ok_or_else(|| anyhow::anyhow!("{id} is there"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_serves_its_own_environment_and_never_the_other() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let sandbox = connect(&merchant, Environment::Sandbox).await?;
    let refused = paid(&merchant, merchant.live()).await;
    assert!(
        refused.is_err(),
        "a sandbox connection makes no live payment: {refused:?}"
    );
    let live = connect(&merchant, Environment::Live).await?;
    for (key, connection, environment) in [
        (merchant.secret(), &sandbox, Environment::Sandbox),
        (merchant.live(), &live, Environment::Live),
    ] {
        let paid = paid(&merchant, key).await?;
        assert_eq!(
            (paid.status(), paid.environment),
            (Status::Success, environment)
        );
        assert_eq!(paid.attempts[0].candidate.connection, connection.id);
    }
    let engine = &merchant.bench.engine;
    engine.delete_connection(sandbox.id).await?;
    let paid = paid(&merchant, merchant.secret()).await?;
    assert_ne!(
        paid.attempts[0].candidate.connection, live.id,
        "nor a live one a sandbox payment"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_not_deleted_while_an_attempt_is_open_there() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let [connection, other] = two(&merchant, Environment::Sandbox).await?;
    let engine = &merchant.bench.engine;
    let open = paid_by(&merchant, merchant.secret(), STAYS_PENDING).await?;
    assert_eq!(open.attempts[0].candidate.connection, connection.id);
    let refused = engine.delete_connection(connection.id).await;
    let refused = refused.expect_err("only its credentials can ask about the attempt");
    let why = refused.to_string();
    assert!(matches!(refused, AccessError::OpenAttempts(_)), "{why}");
    assert!(why.contains("(1)") && why.contains("disable it"), "{why}");
    assert!(engine.access().connection(connection.id).is_some());
    let another = paid(&merchant, merchant.secret()).await?;
    assert_eq!(
        another.attempts[0].candidate.connection, connection.id,
        "a refused deletion leaves it as it was"
    );
    engine.delete_connection(other.id).await?;

    let settled = Resolution {
        attempt: None,
        verdict: Verdict::Failed { message: None },
    };
    let ada = Operator {
        name: "Ada".to_owned(),
        token: None,
    };
    let note = "seen in the provider's books".to_owned();
    engine.resolve(open.id, ada, note, settled).await?;
    engine.delete_connection(connection.id).await?;
    assert!(engine.access().connection(connection.id).is_none());
    let gone = engine.delete_connection(connection.id).await;
    assert!(matches!(gone, Err(AccessError::NotFound { .. })));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_of_a_deleted_connection_is_found_by_its_names() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let [connection, _] = two(&merchant, Environment::Sandbox).await?;
    let paid = paid(&merchant, merchant.secret()).await?;
    let attempt = &paid.attempts[0];
    assert_eq!(attempt.candidate.connection, connection.id);
    let provider_id = attempt.provider_id.clone().unwrap_or_default();
    let engine = &merchant.bench.engine;
    for is_deleted in [false, true] {
        if is_deleted {
            engine.delete_connection(connection.id).await?;
        }
        for text in [&attempt.reference.to_string(), &provider_id] {
            let query = SearchQuery {
                app: paid.app,
                environment: paid.environment,
                kind: None,
                text: SearchText::parse(text)?,
                before: None,
                limit: 10,
            };
            let found = engine.search(&query).await?.items;
            let found: Vec<_> = found.iter().map(|tx| tx.id).collect();
            assert_eq!(found, [paid.id], "{text}, deleted: {is_deleted}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_begins_while_its_connection_is_being_deleted_goes_elsewhere() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let [closing, other] = two(&merchant, Environment::Live).await?;
    let access = merchant.bench.engine.access();
    let deletion = access.begin_deletion(closing.id).await?;
    let paid = paid(&merchant, merchant.live()).await?;
    let went: Vec<_> = paid
        .attempts
        .iter()
        .map(|attempt| (attempt.candidate.connection, attempt.state))
        .collect();
    assert_eq!(
        went,
        [
            (closing.id, AttemptState::NotSent),
            (other.id, AttemptState::Succeeded)
        ],
        "nothing is stranded, and nobody noticed"
    );
    deletion.commit().await?;
    assert!(access.connection(closing.id).is_none());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_connections_provider_calls_its_attempts_is_listed_page_by_page()
-> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let [used, other] = two(&merchant, Environment::Sandbox).await?;
    let mut expected = Vec::new();
    for _ in 0..3 {
        let paid = paid(&merchant, merchant.secret()).await?;
        let id = paid.attempts[0].provider_id.clone().unwrap_or_default();
        expected.push((id, paid.id));
    }
    expected.sort();
    let engine = &merchant.bench.engine;
    let mut listed = Vec::new();
    loop {
        let after = listed.last().map(|(id, _): &(String, _)| id.as_str());
        let page = engine.provider_ids(used.id, after, 2).await?;
        let is_last = page.more.is_none();
        assert_eq!(page.list.len(), if is_last { 1 } else { 2 });
        listed.extend(page.list.into_iter().map(|(id, tx, _)| (id, tx.id)));
        if is_last {
            break;
        }
    }
    assert_eq!(listed, expected);
    let none = engine.provider_ids(other.id, None, 10).await?;
    assert!(none.list.is_empty() && none.more.is_none());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_to_a_sandbox_connection_moves_nothing_live() -> anyhow::Result<()> {
    use switchyard_engine::callback::{CallbackQuery, CallbackRequest, CallbackState};
    let merchant = Merchant::open().await?;
    let sandbox = connect(&merchant, Environment::Sandbox).await?;
    connect(&merchant, Environment::Live).await?;
    let live = paid(&merchant, merchant.live()).await?;
    let engine = &merchant.bench.engine;
    let news = json!({ "reference": live.attempts[0].reference, "status": "failed" });
    let request = CallbackRequest {
        method: "POST".to_owned(),
        path: "/".to_owned(),
        query: String::new(),
        headers: Vec::new(),
        body: news.to_string().into_bytes(),
        from: None,
    };
    engine.receive_callback(sandbox.id, request).await?;
    let query = CallbackQuery {
        connection: sandbox.id,
        state: Some(CallbackState::Unmatched),
        before: None,
        limit: 10,
    };
    let wait = std::time::Duration::from_secs(20);
    switchyard_tests::eventually("it belongs to nothing", wait, async || {
        let unmatched = engine.list_callbacks(&query).await?;
        Ok((unmatched.len() == 1).then_some(()))
    })
    .await?;
    let after = engine.transaction(live.id).await?;
    assert_eq!(after.as_deref(), Some(&*live));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn routing_keeps_to_the_limits_of_a_connection() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let connection = connect(&merchant, Environment::Sandbox).await?;
    let engine = &merchant.bench.engine;
    let limit = |min: &str, max: &str| AmountLimit {
        min: Some(min.to_owned()),
        max: Some(max.to_owned()),
    };
    let limits = ConnectionLimits {
        amounts: [("XOF".to_owned(), limit("100", "2000"))].into(),
        countries: vec!["BJ".to_owned()],
    };
    let change = ConnectionChange {
        limits: Some(limits),
        ..ConnectionChange::default()
    };
    engine
        .access()
        .update_connection(connection.id, change)
        .await?;
    let app = merchant.bench.caller().app.id;
    let serves = |method: &str, minor| {
        let asked = Some(amount(minor, "XOF"));
        engine.can_serve(app, Environment::Sandbox, Kind::Payment, method, asked)
    };
    for (minor, is_served) in [(99, false), (100, true), (2_000, true), (2_001, false)] {
        assert_eq!(serves("mtn_bj", minor), is_served, "{minor}");
    }
    assert!(!serves("mtn_ci", 1_000), "that is another country");
    let body = json!({ "currency": "XOF", "amount": 50, "methods": ["mtn_bj"] });
    let mut too_little: Value = payment();
    too_little["currency"] = body["currency"].clone();
    too_little["amount"] = body["amount"].clone();
    too_little["methods"] = body["methods"].clone();
    let refused = merchant
        .post("/v1/payments/initialize", &too_little)
        .await?;
    assert!((400..500).contains(&refused.status), "{}", refused.text);
    Ok(())
}

/// The service of the engine has another code than that of its gateways: its directory lacks the
/// methods of the test gateway, as it does after a code has left the directory.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_with_a_method_that_the_directory_lacks_is_refused_in_one_sentence()
-> anyhow::Result<()> {
    let merchant = Merchant::with(|wanted| wanted.settings.service_code = "acme".to_owned());
    let mut merchant = merchant.await?;
    let routes = operator::routes(merchant.state.clone(), Draining::default());
    merchant.router = routes.with_state(merchant.state.clone());
    let token = format!("Bearer {}", merchant.bench.keys.operator_token.expose());
    let ask = async |method: &str, path: &str, body: Value| {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("authorization", &token);
        merchant
            .ask(request.body(Body::from(body.to_string()))?)
            .await
    };
    let sentence = "the payment method `switchyard_payment_demo` is not in the directory of \
                    methods, so no payment can have it: use a code of the directory";
    let is_refused = |reply: &Reply| {
        let refusal = (422, vec!["field_invalid methods".to_owned()]);
        assert_eq!(reply.refusal(), refusal, "{}", reply.text);
        assert_eq!(reply.body["message"], sentence);
    };
    let connections = format!("/apps/{}/connections", merchant.bench.keys.app);
    let new = |methods: Value| {
        json!({
            "environment": "sandbox", "gateway": "switchyard_demo", "account_name": "Main",
            "methods": methods,
        })
    };
    is_refused(&ask("POST", &connections, new(Value::Null)).await?);
    assert_eq!(
        ask("GET", &connections, Value::Null).await?.body["data"],
        json!([])
    );
    // The other methods of the same gateway can be had.
    let made = ask("POST", &connections, new(json!(["mtn_bj"]))).await?;
    assert_eq!(made.status, 201, "{}", made.text);
    let one = made.body["data"]["id"].as_str().unwrap_or_default();
    let one = format!("/connections/{one}");
    is_refused(&ask("PATCH", &one, json!({ "methods": null })).await?);
    let kept = ask("GET", &one, Value::Null).await?;
    assert_eq!(kept.body["data"]["methods"], json!(["mtn_bj"]));
    Ok(())
}
