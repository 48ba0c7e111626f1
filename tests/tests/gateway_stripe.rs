//! Stripe's library in the whole engine, against Stripe's simulator: the merchant's view, and the
//! provider's ledger.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

#[path = "../../plugins/stripe/tests/simulator/mod.rs"]
mod simulator;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::{Value, json};
use switchyard::operations::Draining;
use switchyard::operator;
use switchyard::state::{ApiState, HttpSettings};
use switchyard_core::transaction::{Kind, State, Status, Transaction};
use switchyard_engine::testing::amount;
use switchyard_gateway_host::ListedState;
use switchyard_testkit::{FaultScenario, ProviderCallback};
use switchyard_tests::at_provider::{AtProvider, SOON, choice};
use switchyard_tests::{eventually, stripe_gateway};
use tower::ServiceExt as _;

use simulator::{Session, Simulator};

const PAYS: &str = "4242424242424242";
const TOO_LITTLE: &str = "4000000000009995";
/// Of the right form, and not the simulator's.
const WRONG_KEY: &str = "sk_test_of_somebody_else";
const SESSIONS: &str = "/v1/checkout/sessions";
/// The manifest states 180 s for a card.
const TWICE_THE_USUAL_TIME: Duration = Duration::from_secs(361);
const COMPLETED: &str = "checkout.session.completed";

/// An engine on a clock that the test turns, with one connection: to the simulator.
struct Fixture {
    stripe: Simulator,
    at: AtProvider,
}

impl Deref for Fixture {
    type Target = AtProvider;

    fn deref(&self) -> &AtProvider {
        &self.at
    }
}

impl Fixture {
    async fn start() -> anyhow::Result<Self> {
        let stripe = Simulator::start(AtProvider::starts_at()).await;
        let at = AtProvider::start(&stripe_gateway(), stripe.config()).await?;
        Ok(Self { stripe, at })
    }

    /// A payment of 25.50 USD that the payer confirmed, once its attempt has left.
    async fn pay(&self) -> anyhow::Result<(Arc<Transaction>, Session)> {
        let payment = self
            .confirm(amount(2_550, "USD"), choice("card_usd"))
            .await?;
        let session = eventually("the session", SOON, || async {
            Ok(self.stripe.sessions().pop())
        })
        .await?;
        Ok((payment, session))
    }

    /// Response of the operator API: status and body.
    async fn operator(
        &self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> anyhow::Result<(u16, Value)> {
        let state = ApiState::new(self.merchant.engine.clone(), HttpSettings::default());
        let routes = operator::routes(state.clone(), Draining::default()).with_state(state);
        let token = self.merchant.keys.operator_token.expose();
        let request = Request::builder().method(method).uri(path);
        let request = request.header("authorization", format!("Bearer {token}"));
        let answer = routes
            .oneshot(request.body(Body::from(body.to_string()))?)
            .await?;
        let status = answer.status().as_u16();
        let body = to_bytes(answer.into_body(), 1 << 20).await?;
        Ok((status, serde_json::from_slice(&body)?))
    }

    fn letter(&self, session: &Session, kind: &str) -> ProviderCallback {
        let letter = self.stripe.letter(session.reference(), kind);
        letter.unwrap_or_else(|| panic!("Stripe wrote no {kind}"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_pays_by_a_signed_callback_after_one_that_was_refused_and_is_in_the_books_once()
-> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let (payment, session) = fixture.pay().await?;
    fixture.stripe.pay(&session.id, TOO_LITTLE);
    fixture
        .deliver(&fixture.letter(&session, "payment_intent.payment_failed"))
        .await?;
    fixture.stripe.pay(&session.id, PAYS);
    let letter = fixture.letter(&session, COMPLETED);
    for _ in 0..3 {
        fixture.deliver(&letter).await?;
    }
    let paid = fixture.becomes(payment.id, Status::Success).await?;
    assert_eq!(paid.attempts.len(), 1);
    let attempt = &paid.attempts[0];
    assert_eq!(attempt.candidate.gateway_title, "Stripe");
    assert_eq!(session.reference(), attempt.reference.to_string());
    assert_eq!(attempt.provider_id.as_deref(), Some(session.id.as_str()));
    assert_eq!(
        session.text("metadata[switchyard_transaction]"),
        payment.id.to_string()
    );
    assert_eq!(fixture.stripe.books.all().len(), 1);
    assert_eq!(fixture.stripe.books.all()[0].amount, "2550");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_expires_fails_the_payment_with_the_last_refusal() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let (payment, session) = fixture.pay().await?;
    fixture.stripe.pay(&session.id, TOO_LITTLE);
    fixture.stripe.expire(&session.id);
    let failed = fixture.ends(payment.id, Status::Failed).await?;
    let decline = format!("{:?}", failed.attempts[0]);
    assert!(decline.contains("insufficient_funds"), "{decline}");
    assert!(fixture.stripe.books.all().is_empty());
    Ok(())
}

/// The engine expires the session at Stripe before it opens the payment again, and the second
/// session takes the money.
#[tokio::test(flavor = "multi_thread")]
async fn a_payer_who_gives_up_an_open_session_pays_with_a_second_one_once() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let (payment, first) = fixture.pay().await?;
    let engine = &fixture.merchant.engine;
    let too_early = engine.give_up(payment.id).await;
    assert!(too_early.is_err(), "{too_early:?}");
    fixture.merchant.clock.advance(TWICE_THE_USUAL_TIME);
    engine.give_up(payment.id).await?;
    let is_open = |found: &Transaction| found.state == State::AwaitingCustomer;
    let open = fixture.asks_until(payment.id, is_open).await?;
    assert_eq!(open.status(), Status::Pending);
    assert_eq!(fixture.stripe.sessions()[0].status, "expired");
    fixture.stripe.pay(&first.id, PAYS);
    assert!(fixture.stripe.books.all().is_empty(), "an expired session");

    engine.confirm(payment.id, choice("card_usd")).await?;
    let second = eventually("the second session", SOON, || async {
        let sessions = fixture.stripe.sessions();
        Ok(sessions.into_iter().find(|session| session.id != first.id))
    })
    .await?;
    fixture.stripe.pay(&second.id, PAYS);
    let paid = fixture.ends(payment.id, Status::Success).await?;
    assert_eq!(paid.attempts.len(), 2);
    assert_eq!(fixture.stripe.books.all().len(), 1);
    assert!(paid.cases.is_empty(), "{:?}", paid.cases);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_settled_by_asking_and_nothing_is_sent_twice() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    fixture
        .stripe
        .mishaps
        .next("POST", SESSIONS, FaultScenario::LoseAnswer);
    let (payment, session) = fixture.pay().await?;
    fixture.stripe.pay(&session.id, PAYS);
    let paid = fixture.ends(payment.id, Status::Success).await?;
    assert_eq!(paid.attempts.len(), 1);
    assert_eq!(fixture.stripe.sessions().len(), 1);
    assert_eq!(fixture.stripe.books.times(session.reference()), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_before_the_answer_is_believed() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let late = FaultScenario::Delay(Duration::from_secs(2));
    fixture.stripe.mishaps.next("POST", SESSIONS, late);
    // The session is there, and our request still waits for its answer.
    let (payment, session) = fixture.pay().await?;
    fixture.stripe.pay(&session.id, PAYS);
    fixture
        .deliver(&fixture.letter(&session, COMPLETED))
        .await?;
    fixture.becomes(payment.id, Status::Success).await?;
    // The answer still says "open": a success stays one.
    eventually("the answer", SOON, || async {
        let found = fixture.merchant.engine.transaction(payment.id).await?;
        let is_back = found.is_some_and(|found| found.attempts[0].provider_id.is_some());
        Ok(is_back.then_some(()))
    })
    .await?;
    let paid = fixture.ends(payment.id, Status::Success).await?;
    assert_eq!(paid.attempts.len(), 1);
    assert_eq!(fixture.stripe.books.times(session.reference()), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_callback_changes_nothing() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let (payment, session) = fixture.pay().await?;
    fixture.stripe.expire(&session.id);
    let mut letter = fixture.letter(&session, "checkout.session.expired");
    letter.body = letter
        .body
        .replace("session.expired", "session.completed")
        .replace("\"unpaid\"", "\"paid\"");
    fixture.deliver(&letter).await?;
    fixture.ends(payment.id, Status::Failed).await?;
    assert!(fixture.stripe.books.all().is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_stripe_refuses_is_named_and_not_stored_unless_the_check_is_skipped()
-> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let engine = &fixture.merchant.engine;
    let connections = format!("/apps/{}/connections", fixture.merchant.caller().app.id);
    let connection = format!("/connections/{}", fixture.connection);
    let stored = || -> anyhow::Result<Value> {
        let stored = engine.access().connection(fixture.connection);
        let stored = stored.context("the connection is there")?;
        Ok(engine.access().connection_config(&stored)?)
    };
    let (list, config) = (
        fixture.operator("GET", &connections, &Value::Null).await?,
        stored()?,
    );
    let mut wrong = fixture.stripe.config();
    wrong["secret_key"] = json!(WRONG_KEY);
    let mut new = json!({ "environment": "sandbox", "gateway": "stripe", "account_name": "A second one", "config": wrong });
    let mut change = json!({ "account_name": "Renamed", "config": wrong });
    for (method, path, body) in [
        ("POST", &connections, &new),
        ("PATCH", &connection, &change),
    ] {
        let asked = fixture.stripe.requests().len();
        let (status, answer) = fixture.operator(method, path, body).await?;
        let error = &answer["errors"][0];
        assert_eq!(
            (status, &error["code"]),
            (422, &json!("field_invalid")),
            "{answer}"
        );
        assert_eq!(error["field"], "config.secret_key", "{answer}");
        assert!(
            error["message"]
                .to_string()
                .contains("refuses the secret key"),
            "{answer}"
        );
        assert!(!answer.to_string().contains(WRONG_KEY), "{answer}");
        assert_eq!(fixture.stripe.requests()[asked..], ["GET /v1/account"]);
        assert_eq!(
            fixture.operator("GET", &connections, &Value::Null).await?,
            list
        );
        assert_eq!(stored()?, config);
    }

    let asked = fixture.stripe.requests().len();
    for (method, path, body) in [
        ("POST", &connections, &mut new),
        ("PATCH", &connection, &mut change),
    ] {
        body["skip_check"] = json!(true);
        let (status, answer) = fixture.operator(method, path, body).await?;
        assert!(matches!(status, 200 | 201), "{answer}");
        assert_eq!(answer["data"]["check"]["result"], "not_checked", "{answer}");
    }
    assert_eq!(fixture.stripe.requests().len(), asked, "nobody was asked");
    assert_eq!(stored()?["secret_key"], WRONG_KEY);
    let (_, list) = fixture.operator("GET", &connections, &Value::Null).await?;
    let names = list["data"].as_array().context("a list")?.iter();
    let mut names: Vec<&Value> = names
        .map(|connection| &connection["account_name"])
        .collect();
    names.sort_by_key(|name| name.to_string());
    assert_eq!(names, ["A second one", "Renamed"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_whose_keys_could_not_be_checked_is_disabled_unless_asked_otherwise()
-> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let connections = format!("/apps/{}/connections", fixture.merchant.caller().app.id);
    let connection = format!("/connections/{}", fixture.connection);
    let config = fixture.stripe.config();
    let down = || {
        let down = FaultScenario::Refuse(503, String::new());
        fixture.stripe.mishaps.next("GET", "/v1/account", down);
    };
    let new = json!({
        "environment": "sandbox", "gateway": "stripe", "account_name": "New", "config": config,
    });
    down();
    let (_, answer) = fixture.operator("POST", &connections, &new).await?;
    let data = &answer["data"];
    assert_eq!(data["is_enabled"], false, "{answer}");
    assert_eq!(data["check"]["result"], "not_checked", "{answer}");
    let message = data["check"]["message"].to_string();
    assert!(message.contains("the connection is disabled"), "{answer}");

    // A connection in use keeps its present credentials.
    down();
    let change = json!({ "config": config });
    let (status, answer) = fixture.operator("PATCH", &connection, &change).await?;
    assert_eq!(status, 422, "{answer}");
    assert!(answer.to_string().contains("enable_unchecked"), "{answer}");
    let (_, answer) = fixture.operator("PATCH", &connection, &json!({})).await?;
    assert_eq!(answer["data"]["is_enabled"], true, "{answer}");

    for (method, path, mut body) in [("POST", &connections, new), ("PATCH", &connection, change)] {
        down();
        body["enable_unchecked"] = json!(true);
        let (_, answer) = fixture.operator(method, path, &body).await?;
        assert_eq!(answer["data"]["check"]["result"], "not_checked", "{answer}");
        assert_eq!(answer["data"]["is_enabled"], true, "{answer}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_listed_by_the_reference_and_the_id_of_its_attempt() -> anyhow::Result<()> {
    let fixture = Fixture::start().await?;
    let (payment, session) = fixture.pay().await?;
    let states = [ListedState::Pending, ListedState::Succeeded];
    for state in states {
        let listing = fixture.listed().await?;
        assert_eq!((listing.incomplete, listing.transactions.len()), (None, 1));
        let listed = &listing.transactions[0];
        assert_eq!((listed.state, listed.kind), (state, Kind::Payment));
        assert_eq!(listed.amount, Some(amount(2_550, "USD")));
        let found = fixture.merchant.engine.transaction(payment.id).await?;
        let attempt = &found.context("the payment")?.attempts[0];
        assert_eq!(listed.reference, Some(attempt.reference.to_string()));
        assert_eq!(listed.provider_id.as_ref(), Some(&session.id));
        fixture.stripe.pay(&session.id, PAYS);
    }
    Ok(())
}
