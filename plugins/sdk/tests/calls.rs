//! A gateway as its author writes it, driven without a library.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use switchyard_gateway::testing::{self, Call, answer, no_provider};
use switchyard_gateway::wire::HttpRequest;
use switchyard_gateway::{
    Amount, Collect, Context, DeclineReason, Direction, Fault, FaultKind, Gateway, Operation,
    Outcome, Query, runtime,
};

/// A typical first gateway: a token from the cache or by a request, then the charge; a query.
#[derive(Default)]
struct Acme;

#[derive(Deserialize)]
struct Config {
    key: String,
}

#[derive(Deserialize)]
struct Charge {
    id: String,
    status: String,
    amount: String,
}

impl Gateway for Acme {
    async fn collect(&self, cx: &Context, ask: Collect) -> Result<Outcome, Fault> {
        match ask.description.as_str() {
            "panic" => panic!("on purpose"),
            "stall" => std::future::pending::<()>().await,
            "wait" => cx.sleep(Duration::from_millis(300)).await,
            _ => {}
        }
        let token = token(cx).await?;
        let response = cx
            .post("https://api.acme.example/charges")
            .bearer(&token)
            .json(&json!({ "reference": ask.reference, "amount": ask.amount.decimal }))
            .timeout(Duration::from_secs(20))
            .send()
            .await?;
        if response.status == 402 {
            return Ok(Outcome::declined(
                DeclineReason::InsufficientFunds,
                response.text()?,
            ));
        }
        let charge: Charge = response.json()?;
        cx.set_state(&json!({ "charge": charge.id }))?;
        Ok(match charge.status.as_str() {
            "paid" => Outcome::succeeded(Amount::decimal(charge.amount, ask.amount.currency)),
            _ => Outcome::pending(),
        }
        .with_provider_id(charge.id))
    }

    async fn query(&self, cx: &Context, _ask: Query) -> Result<Outcome, Fault> {
        let kept: Option<Value> = cx.state()?;
        Ok(Outcome::unknown(format!(
            "state {}",
            kept.unwrap_or_default()
        )))
    }
}

async fn token(cx: &Context) -> Result<String, Fault> {
    if let Some(token) = cx.cached("token").await {
        return Ok(token);
    }
    let config: Config = cx.config()?;
    let answer: Value = cx
        .post("https://api.acme.example/token")
        .form(&[("key", &config.key)])
        .reads_only()
        .send()
        .await?
        .json()?;
    let token = answer["token"].as_str().unwrap_or_default();
    cx.cache("token", token, Duration::from_secs(60)).await;
    Ok(token.to_owned())
}

// What `gateway!` writes, without the symbol: a test binary is no library.
impl runtime::Entry for Acme {
    fn manifest() -> &'static [u8] {
        br#"{"name":"acme","version":"1.0.0","abi":1,"title":"Acme","operations":["collect","query"],
            "methods":[{"code":"acme","direction":"collect","currency":"USD","countries":["US"]}]}"#
    }

    fn start(cx: Context, operation: Operation, input: Value) -> runtime::Answering {
        Box::pin(async move {
            match operation {
                Operation::Collect => Acme
                    .collect(&cx, runtime::input(operation, input)?)
                    .await
                    .map(Into::into),
                Operation::Query => Acme
                    .query(&cx, runtime::input(operation, input)?)
                    .await
                    .map(Into::into),
                _ => Acme.check_config(&cx).await.map(Into::into),
            }
        })
    }
}

#[test]
fn a_call_sends_its_requests_one_after_the_other_and_ends_in_an_outcome() {
    let end = collect("").run::<Acme>(provider).unwrap();
    let expected = Outcome::succeeded(Amount::decimal("25.00", "USD")).with_provider_id("ch_1");
    assert_eq!(end.outcome, expected);
    assert_eq!(end.state, json!({ "charge": "ch_1" }));
    let [token, charge] = end.requests.as_slice() else {
        panic!("two requests were expected: {:?}", end.requests);
    };
    assert!(!token.can_mutate(), "a token moves no money");
    assert!(
        charge.can_mutate(),
        "a POST moves money unless it is said otherwise"
    );
    assert!(
        charge
            .headers
            .contains(&("authorization".into(), "Bearer t0k".into()))
    );
}

#[test]
fn an_answer_that_never_came_or_is_no_json_is_a_fault_and_never_a_decline() {
    for (what, charge) in [
        ("no answer", testing::timeout()),
        ("no connection", testing::unreachable()),
        (
            "a page",
            testing::text_answer(502, "<html>Bad gateway</html>"),
        ),
        (
            "half an answer",
            testing::text_answer(200, "{\"id\":\"ch_1\","),
        ),
        ("nothing", testing::text_answer(200, "")),
    ] {
        let fault = collect("")
            .run::<Acme>(|request| match request.url.ends_with("/token") {
                true => provider(request),
                false => charge.clone(),
            })
            .expect_err(what);
        assert_eq!(fault.kind, FaultKind::Provider, "{what}");
    }
}

#[test]
fn a_panic_and_a_wait_for_nothing_end_as_faults() {
    let fault = collect("panic").run::<Acme>(no_provider).unwrap_err();
    assert_eq!(
        (fault.kind, fault.message.as_str()),
        (FaultKind::Panic, "the gateway panicked: on purpose")
    );
    let fault = collect("stall").run::<Acme>(no_provider).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Stalled);
    assert!(collect("wait").run::<Acme>(provider).is_ok());
}

#[test]
fn a_configuration_that_does_not_fit_is_a_fault_that_names_the_field() {
    let fault = collect("")
        .config(json!({}))
        .run::<Acme>(no_provider)
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::Config);
    assert!(fault.message.contains("`key`"), "{}", fault.message);
}

#[test]
fn state_comes_back_in_the_next_call_of_the_attempt() {
    let ask = testing::query("acme", Direction::Collect, 2_500, "USD", 2);
    let call = Call::new(Operation::Query)
        .input(&ask)
        .state(json!({ "charge": "ch_1" }));
    let end = call.run::<Acme>(no_provider).unwrap();
    assert_eq!(end.outcome, Outcome::unknown("state {\"charge\":\"ch_1\"}"));
}

#[test]
fn an_operation_that_is_not_written_says_so() {
    let fault = Call::new(Operation::Refund)
        .run::<Acme>(no_provider)
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unsupported);
    testing::check_manifest::<Acme>();
}

#[test]
fn the_same_call_asks_for_the_same_requests() {
    let runs = [(); 2].map(|()| collect("").run::<Acme>(provider).unwrap().requests);
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn a_call_that_is_ended_early_is_dropped_without_a_word() {
    let message = serde_json::to_vec(&json!({
        "op": "collect", "call": "c", "now": "2026-11-20T10:00:00Z", "seed": "",
        "config": {"key": "k"}, "input": testing::collect("acme", 1, "USD", 2)
    }))
    .unwrap();
    let runtime::Step::Pending(_, call) = runtime::begin::<Acme>(&message) else {
        panic!("the call waits for its cache");
    };
    runtime::end(call);
    assert!(matches!(
        runtime::begin::<Acme>(b"nonsense"),
        runtime::Step::Failed(_)
    ));
}

#[test]
fn money_comes_in_every_notation_and_is_never_rounded() {
    use switchyard_gateway::Money;
    let dollars = Money::from_minor(2_550, "USD", 2);
    assert_eq!(dollars.decimal, "25.50");
    assert!(dollars.whole().is_err());
    assert_eq!(dollars.with_decimals(1).unwrap(), "25.5");
    assert_eq!(dollars.with_decimals(4).unwrap(), "25.5000");
    assert!(Money::from_minor(2_555, "USD", 2).with_decimals(1).is_err());
    let francs = Money::from_minor(200, "XOF", 0);
    assert_eq!(
        (
            francs.whole().unwrap(),
            francs.with_decimals(2).unwrap().as_str()
        ),
        (200, "200.00")
    );
    assert_eq!(Money::from_minor(5, "USD", 2).decimal, "0.05");
}

fn collect(description: &str) -> Call {
    let mut ask = testing::collect("acme", 2_500, "USD", 2);
    ask.description = description.into();
    Call::new(Operation::Collect)
        .config(json!({ "key": "k" }))
        .input(&ask)
}

fn provider(
    request: &HttpRequest,
) -> Result<switchyard_gateway::wire::HttpResponse, switchyard_gateway::wire::EffectError> {
    match request.url.as_str() {
        "https://api.acme.example/token" => answer(200, json!({ "token": "t0k" })),
        _ => answer(
            200,
            json!({ "id": "ch_1", "status": "paid", "amount": "25.00" }),
        ),
    }
}
