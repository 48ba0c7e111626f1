//! Stripe's own client library for Node.js against the simulator, and against the gateway's
//! signatures. Without it, the gateway and the simulator could share a misunderstanding.
//!
//! `cargo xtask test doubles` installs the package and runs these; they are ignored otherwise.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod simulator;

use std::io::Write as _;
use std::process::{Command, Stdio};

use gateway_stripe::Stripe;
use serde_json::{Value, json};
use switchyard_gateway::testing::{self, REFERENCE};
use switchyard_gateway::{Callback, CallbackResult, Direction, Operation, Outcome, wire::Body};
use switchyard_testkit::{Driver, NOW_SECONDS};

use simulator::{KEY, SECRET, Simulator};

const PAYS: &str = "4242424242424242";

/// Has the script do one thing, while the simulator goes on.
async fn node(ask: Value) -> Value {
    let done = tokio::task::spawn_blocking(move || {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/independent.mjs");
        let mut child = Command::new("node")
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Node.js 20 or newer is needed");
        let mut input = child.stdin.take().unwrap();
        input.write_all(ask.to_string().as_bytes()).unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "the script ended with {}",
            output.status
        );
        serde_json::from_slice(&output.stdout).unwrap()
    });
    done.await.unwrap()
}

/// A session of the gateway's own making, in a simulator.
async fn opened() -> (Simulator, Driver<Stripe>, Value) {
    let stripe = Simulator::start(NOW_SECONDS).await;
    let driver = Driver::<Stripe>::new(stripe.config());
    let mut state = Value::Null;
    let ask = testing::collect("card_usd", 2_550, "USD", 2);
    let begun: Outcome = driver
        .call(Operation::Collect, &ask, &mut state)
        .await
        .unwrap();
    assert!(matches!(begun, Outcome::Pending { .. }));
    (stripe, driver, state)
}

#[tokio::test]
#[ignore = "needs Node.js and an npm package: cargo xtask test doubles"]
async fn stripes_own_library_believes_the_simulators_callbacks_and_no_bent_ones() {
    let (stripe, _, _) = opened().await;
    let id = stripe.session_of(REFERENCE).unwrap().id;
    stripe.roll_secret("whsec_next");
    stripe.pay(&id, PAYS);
    let letters = stripe.letters(REFERENCE);
    assert_eq!(letters.len(), 2);
    for letter in letters {
        let header = &letter.headers[1].1;
        let verify = |body: &str, secret: &str, now: i64| {
            node(
                json!({ "do": "verify", "body": body, "header": header, "secret": secret, "now": now }),
            )
        };
        for secret in [SECRET, "whsec_next"] {
            let event = verify(&letter.body, secret, NOW_SECONDS).await;
            assert!(letter.body.contains(event["type"].as_str().unwrap()));
        }
        let bent = letter.body.replace("2550", "9999");
        for event in [
            verify(&bent, SECRET, NOW_SECONDS).await,
            verify(&letter.body, SECRET, NOW_SECONDS + 301).await,
        ] {
            assert_eq!(event["error"], "StripeSignatureVerificationError");
        }
    }
}

#[tokio::test]
#[ignore = "needs Node.js and an npm package: cargo xtask test doubles"]
async fn the_gateway_believes_what_that_library_signed_and_not_another_body_under_it() {
    let (stripe, driver, _) = opened().await;
    let id = stripe.session_of(REFERENCE).unwrap().id;
    stripe.pay(&id, PAYS);
    let body = stripe.letters(REFERENCE).pop().unwrap().body;
    let ask = json!({ "do": "sign", "body": body, "secret": SECRET, "timestamp": NOW_SECONDS });
    let header = node(ask).await["header"].as_str().unwrap().to_owned();
    let read = async |body: String| -> CallbackResult {
        let callback = Callback {
            method: "POST".into(),
            path: "/callbacks/con_1".into(),
            query: String::new(),
            url: None,
            headers: vec![("Stripe-Signature".into(), header.clone())],
            body: Body::Text(body),
        };
        let mut nothing = Value::Null;
        let called = driver.call(Operation::Callback, &callback, &mut nothing);
        called.await.unwrap()
    };
    assert!(read(body.clone()).await.trusted);
    assert!(read(body.replace("2550", "9999")).await.refused.is_some());
}

#[tokio::test]
#[ignore = "needs Node.js and an npm package: cargo xtask test doubles"]
async fn that_library_finds_in_the_simulator_what_it_finds_at_stripe() {
    let (stripe, _, _) = opened().await;
    let session = json!({
        "mode": "payment", "client_reference_id": "order-1", "metadata": { "order": "1" },
        "success_url": "https://shop.example/?a=1&b=é", "payment_method_types": ["card"],
        "line_items": [{ "quantity": 2, "price_data": {
            "currency": "usd", "unit_amount": 1_000, "product_data": { "name": "A & B" } } }],
    });
    let ask = json!({ "do": "checkout", "url": stripe.url, "key": KEY, "session": session, "idempotency": "k1" });
    let found = node(ask).await;
    let made = found["made"].as_str().unwrap();
    assert_eq!(
        (&found["again"], &found["replayed"]),
        (&json!(made), &json!("true"))
    );
    assert_eq!(found["mismatch"]["type"], "StripeIdempotencyError");
    assert_eq!(
        found["shown"],
        json!({ "status": "open", "amount": 2_000, "metadata": { "order": "1" } })
    );
    // The newest first, page by page; the gateway's own is the other.
    let listed = found["listed"].as_array().unwrap();
    assert_eq!((listed.len(), &listed[0]), (2, &json!(made)));
    assert_eq!(found["ended"], "expired");
    assert_eq!(found["twice"]["type"], "StripeInvalidRequestError");
    assert_eq!(found["missing"]["code"], "resource_missing");
    assert_eq!(found["unknown"]["code"], "parameter_unknown");
    assert_eq!(found["stranger"]["type"], "StripeAuthenticationError");
    let seen = stripe.session_of("order-1").unwrap();
    assert_eq!(seen.text("success_url"), "https://shop.example/?a=1&b=é");
}

#[tokio::test]
#[ignore = "needs Node.js and an npm package: cargo xtask test doubles"]
async fn that_library_gives_back_what_the_gateway_took() {
    let (stripe, driver, mut state) = opened().await;
    let session = stripe.session_of(REFERENCE).unwrap();
    stripe.pay(&session.id, PAYS);
    let query = testing::query("card_usd", Direction::Collect, 2_550, "USD", 2);
    let paid: Outcome = driver
        .call(Operation::Query, &query, &mut state)
        .await
        .unwrap();
    assert!(matches!(paid, Outcome::Succeeded { .. }), "{paid:?}");
    let payment = stripe.session_of(REFERENCE).unwrap().payment.unwrap();
    let refund = json!({ "payment_intent": payment["id"], "amount": 50 });
    let ask = json!({ "do": "refund", "url": stripe.url, "key": KEY, "refund": refund, "idempotency": "k1" });
    let found = node(ask).await;
    assert_eq!(
        found,
        json!({ "status": "succeeded", "amount": 50, "listed": 1 })
    );
}
