//! Payments and payouts through the whole engine, by libraries that were built as an integrator
//! builds them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchyard_core::environment::Environment;
use switchyard_core::transaction::{CaseReason, ClientContext, Status, Transaction};
use switchyard_engine::access::NewConnection;
use switchyard_engine::engine::{ConfirmRequest, NewPayment, NewPayout};
use switchyard_engine::testing::{self, TestEngineBuilder, amount, customer};
use switchyard_gateway_host::Gateways;
use switchyard_records::NewCustomer;
use switchyard_tests::{c_gateway, demo_gateway, eventually, misbehaving_gateway};

use crate::fixture::{Fixture, KEY};
use crate::provider::Provider;

#[tokio::test(flavor = "multi_thread")]
async fn the_test_gateway_pays_by_its_numbers_and_serves_every_sandbox_method() {
    let fixture = Fixture::new();
    fixture.gateways.add(&demo_gateway()).await.unwrap();
    let engine = started(&fixture.gateways).await;
    for (number, status) in [
        ("4149518161", Status::Success),
        ("4149518162", Status::Pending),
        ("4149518163", Status::Failed),
        // Refused before anything was sent: the payer may correct the number.
        ("4149518164", Status::Pending),
    ] {
        let paid = pay(&engine, "switchyard_payment_demo", "USD", number).await;
        assert_eq!(paid.status(), status, "{number}");
        let paid = pay(&engine, "mtn_bj", "XOF", number).await;
        assert_eq!(paid.status(), status, "{number} by mtn_bj");
    }
    for (number, status) in [
        ("4149518161", Status::Success),
        ("4149518162", Status::Failed),
        ("4149518163", Status::Pending),
    ] {
        let paid = pay_out(&engine, number, status).await;
        assert_eq!(paid.attempts.len(), 1, "{number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_paid_through_the_gateway_in_c() {
    let (fixture, provider) = (Fixture::new(), Provider::start().await);
    fixture
        .gateways
        .add(&c_gateway(fixture.folder()))
        .await
        .unwrap();
    let engine = started(&fixture.gateways).await;
    let connection = NewConnection {
        app: engine.caller().app.id,
        environment: Environment::Sandbox,
        gateway: "example_c".into(),
        account_name: "One word".into(),
        methods: None,
        config: json!({ "url": provider.in_mood("paid") }),
    };
    engine
        .engine
        .access()
        .create_connection(connection)
        .await
        .unwrap();
    let paid = pay(&engine, "card_usd", "USD", "4149518161").await;
    assert_eq!(paid.status(), Status::Success);
    assert_eq!(paid.attempts[0].candidate.gateway_title, "Example in C");
    assert_eq!(provider.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_success_in_another_currency_opens_a_case_at_once_and_ends_nothing() {
    let fixture = Fixture::new();
    fixture.gateways.add(&misbehaving_gateway()).await.unwrap();
    let engine = started(&fixture.gateways).await;
    let connection = NewConnection {
        app: engine.caller().app.id,
        environment: Environment::Sandbox,
        gateway: "misbehaving".into(),
        account_name: "In XOF".into(),
        methods: None,
        config: json!({ "url": "http://127.0.0.1:1", "key": KEY }),
    };
    let access = engine.engine.access();
    access.create_connection(connection).await.unwrap();
    let payment = payment_for(&engine, "USD", "other currency").await;
    let choice = choice("card_usd", "4149518161");
    let paid = engine.engine.confirm(payment.id, choice).await.unwrap();
    assert_eq!(
        paid.status(),
        Status::Pending,
        "neither success nor failure"
    );
    assert!(paid.has_open_attempt());
    assert_eq!(paid.cases.len(), 1);
    assert_eq!(paid.cases[0].reason, CaseReason::AmountDiffers);
    let said = &paid.cases[0].detail;
    assert!(said.contains("25") && said.contains("XOF"), "{said}");
}

async fn started(gateways: &Gateways) -> testing::TestEngine {
    TestEngineBuilder::with(gateways.clone()).start().await
}

async fn pay(
    fixture: &testing::TestEngine,
    method: &str,
    currency: &str,
    number: &str,
) -> Arc<Transaction> {
    let payment = payment(fixture, currency).await;
    let choice = choice(method, number);
    fixture.engine.confirm(payment.id, choice).await.unwrap()
}

pub async fn payment(fixture: &testing::TestEngine, currency: &str) -> Arc<Transaction> {
    payment_for(fixture, currency, "Two coffees").await
}

pub async fn payment_for(
    fixture: &testing::TestEngine,
    currency: &str,
    description: &str,
) -> Arc<Transaction> {
    let new = NewPayment {
        amount: amount(2_500, currency),
        description: description.into(),
        return_url: "https://shop.example/return".into(),
        customer: customer(),
        metadata: BTreeMap::new(),
        methods: Vec::new(),
        restriction: None,
        expires_in: None,
        context: ClientContext::default(),
    };
    fixture
        .engine
        .initialize_payment(&fixture.caller(), new, None)
        .await
        .unwrap()
}

pub fn choice(method: &str, number: &str) -> ConfirmRequest {
    ConfirmRequest {
        method: method.into(),
        country: None,
        phone: Some(number.into()),
        fields: BTreeMap::from([("msisdn".to_owned(), number.to_owned())]),
        missing: NewCustomer::default(),
        context: ClientContext::default(),
        agreed: None,
    }
}

async fn pay_out(fixture: &testing::TestEngine, number: &str, status: Status) -> Arc<Transaction> {
    let new = NewPayout {
        amount: amount(2_500, "USD"),
        description: "A refund".into(),
        method: "switchyard_payout_demo".into(),
        recipient: BTreeMap::from([("account_number".to_owned(), number.to_owned())]),
        customer: customer(),
        metadata: BTreeMap::new(),
        context: ClientContext::default(),
    };
    let payout = fixture
        .engine
        .initialize_payout(&fixture.caller(), new, None)
        .await
        .unwrap();
    eventually(number, Duration::from_secs(20), || async {
        let found = fixture.engine.transaction(payout.id).await?;
        Ok(found.filter(|found| found.status() == status))
    })
    .await
    .unwrap()
}
