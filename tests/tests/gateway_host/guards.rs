//! Protection of money against a bad gateway, a bad provider or a change of credentials.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchyard_core::environment::Environment;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{AttemptState, Kind, Outcome};
use switchyard_engine::access::{DevelopmentKeys, NewConnection};
use switchyard_engine::engine::EngineError;
use switchyard_engine::testing::{START, TestEngine as Started, TestEngineBuilder};
use switchyard_gateway_host::{Call, ChangeAuthor, Operation, State, Version};
use switchyard_store::{Batch, CrashPoint, CrashingKv, Direction, MemoryDisk, Store, Table};
use switchyard_system::clock::Clock;
use switchyard_tests::{eventually, misbehaving_gateway};

use crate::engine::{choice, payment, payment_for};
use crate::fixture::{Fixture, KEY, REFERENCE, Try, collection};
use crate::provider::Provider;

async fn misbehaving(fixture: &Fixture) -> Arc<Version> {
    fixture.gateways.add(&misbehaving_gateway()).await.unwrap()
}

async fn quarantine(fixture: &Fixture, gateway: &Arc<Version>) {
    for _ in 0..5 {
        assert!(!gateway.is_in_quarantine());
        fixture
            .collect(gateway, fixture.attempt(), "http://127.0.0.1:1", "panic")
            .await;
    }
    assert!(gateway.is_in_quarantine());
}

#[tokio::test]
async fn a_quarantine_is_told_with_its_reason_lasts_and_is_ended_by_one_command() {
    let fixture = Fixture::new();
    let gateway = misbehaving(&fixture).await;
    for _ in 0..2 {
        quarantine(&fixture, &gateway).await;
        fixture.clock.advance(Duration::from_secs(24 * 60 * 60));
        assert!(gateway.is_in_quarantine());
        let seen = fixture.gateways.overview("misbehaving").await.unwrap();
        assert_eq!(seen.state, State::Quarantined);
        let kept = seen.versions[0].kept.quarantine.as_ref().unwrap();
        assert!(
            kept.reason.contains("panicked 5 times within a minute"),
            "{kept:?}"
        );
        assert_eq!(kept.by, "engine");
        let me = ChangeAuthor::new("ada");
        fixture
            .gateways
            .restore("misbehaving", None, &me)
            .await
            .unwrap();
        assert!(!gateway.is_in_quarantine());
    }
}

#[tokio::test]
async fn a_version_in_quarantine_may_still_be_asked_about_what_it_began() {
    let (fixture, provider) = (Fixture::new(), Provider::start().await);
    let gateway = misbehaving(&fixture).await;
    quarantine(&fixture, &gateway).await;
    let asked = query(
        &fixture,
        &gateway,
        fixture.attempt(),
        &provider.url,
        "card_usd",
    );
    let outcome = fixture.gateways.call(asked).await.outcome;
    assert!(
        format!("{outcome:?}").contains("no such charge"),
        "{outcome:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn routing_offers_no_gateway_that_is_in_quarantine() {
    let fixture = Fixture::new();
    let gateway = misbehaving(&fixture).await;
    let engine = TestEngineBuilder::with(fixture.gateways.clone())
        .start()
        .await;
    let app = engine.caller().app.id;
    let connection = NewConnection {
        app,
        environment: Environment::Sandbox,
        gateway: "misbehaving".into(),
        account_name: "Main".into(),
        methods: None,
        config: json!({ "url": "http://127.0.0.1:1", "key": KEY }),
    };
    let access = engine.engine.access();
    access.create_connection(connection).await.unwrap();
    let can_serve = || {
        let (environment, method) = (Environment::Sandbox, "card_usd");
        engine
            .engine
            .can_serve(app, environment, Kind::Payment, method, None)
    };
    assert!(can_serve());
    quarantine(&fixture, &gateway).await;
    assert!(!can_serve());

    // A payment that was begun before can still be paid afterwards: nothing was tried, and nothing
    // failed.
    let paid = payment(&engine, "USD").await;
    let confirmed = engine
        .engine
        .confirm(paid.id, choice("card_usd", "4149518161"))
        .await;
    assert!(
        matches!(confirmed, Err(EngineError::Refused(_))),
        "{confirmed:?}"
    );
    let kept = engine.engine.transaction(paid.id).await.unwrap().unwrap();
    assert_eq!((kept.status(), kept.attempts.len()), (paid.status(), 0));
    fixture.clock.advance(Duration::from_secs(24 * 60 * 60));
    assert!(!can_serve(), "time alone does not bring it back");
    let me = ChangeAuthor::new("ada");
    let restored = fixture.gateways.restore("misbehaving", None, &me).await;
    assert_eq!(restored.unwrap().state, State::Serving);
    assert!(can_serve());
}

fn query(fixture: &Fixture, gateway: &Arc<Version>, of: Try, url: &str, method: &str) -> Call {
    let mut input = collection("");
    input["method"] = json!(method);
    input["direction"] = json!("collect");
    let config = json!({ "url": url, "key": KEY });
    fixture.call(gateway, of, Operation::Query, config, input)
}

#[tokio::test]
async fn not_found_proves_nothing_when_the_credentials_are_others_than_those_that_sent() {
    let (fixture, provider) = (Fixture::new(), Provider::start().await);
    let gateway = misbehaving(&fixture).await;
    let long_ago = fixture.clock.now().minus(Duration::from_secs(3_600));
    let of = fixture.attempt();
    fixture
        .collect(&gateway, of, &provider.in_mood("sick"), "write and fail")
        .await;
    let sent_at = fixture.clock.now();
    fixture.clock.advance(Duration::from_secs(901));
    for (changed_at, is_proof) in [
        (sent_at.plus(Duration::from_secs(1)), false),
        // The call may have begun with the credentials of before.
        (sent_at.minus(Duration::from_secs(1)), false),
        (long_ago, true),
    ] {
        let mut call = query(&fixture, &gateway, of, &provider.url, "card_usd");
        call.config_changed_at = Some(changed_at);
        let outcome = fixture.gateways.call(call).await.outcome;
        let not_sent = matches!(outcome, Outcome::NotSent { .. });
        assert_eq!(not_sent, is_proof, "{changed_at}: {outcome:?}");
    }
}

#[tokio::test]
async fn not_found_proves_nothing_when_a_row_of_the_journal_cannot_be_read() {
    let (fixture, provider) = (Fixture::new(), Provider::start().await);
    let gateway = misbehaving(&fixture).await;
    let of = fixture.attempt();
    fixture
        .collect(&gateway, of, &provider.in_mood("sick"), "write and fail")
        .await;
    fixture.clock.advance(Duration::from_secs(901));
    let ask = || {
        let call = query(&fixture, &gateway, of, &provider.url, "card_usd");
        fixture.gateways.call(call)
    };
    let rows = fixture
        .store
        .scan(Table::Journal, b"p", b"q", Direction::Forward, 100);
    let (key, row) = rows.await.unwrap().remove(0);
    let put = async |row: &[u8]| {
        let mut batch = Batch::new();
        batch.put(Table::Journal, &key, row);
        fixture.store.commit(batch).await.unwrap();
    };
    put(b"rubbish").await;
    let outcome = ask().await.outcome;
    assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
    put(&row).await;
    let outcome = ask().await.outcome;
    assert!(matches!(outcome, Outcome::NotSent { .. }), "{outcome:?}");
}

/// An engine that begins when it is `at`, on this store.
async fn begun(
    fixture: &Fixture,
    store: &Store,
    keys: Option<DevelopmentKeys>,
    at: Timestamp,
) -> Started {
    let wanted = TestEngineBuilder {
        store: store.clone(),
        clock: Clock::manual(at),
        keys,
        ..TestEngineBuilder::with(fixture.gateways.clone())
    };
    wanted.start().await
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_asked_about_an_interrupted_call_whose_state_cannot_be_read() {
    let (fixture, provider) = (Fixture::new(), Provider::start().await);
    misbehaving(&fixture).await;
    let disk = MemoryDisk::default();
    let process = CrashingKv::new(&disk, CrashPoint::Never);
    let first = begun(&fixture, &process.store(), None, START).await;
    let connection = NewConnection {
        app: first.caller().app.id,
        environment: Environment::Sandbox,
        gateway: "misbehaving".into(),
        account_name: "Main".into(),
        methods: None,
        config: json!({ "url": provider.in_mood("ok"), "key": KEY }),
    };
    let made = first.engine.access().create_connection(connection).await;
    made.unwrap();
    let id = payment_for(&first, "USD", "write and never").await.id;
    let choice = choice("card_usd", "4149518161");
    first.engine.confirm(id, choice).await.unwrap();
    let (key, _) = eventually("its state is kept", NET, async || {
        let rows = first
            .engine
            .store()
            .scan(Table::Journal, b"p", b"q", Direction::Forward, 100);
        let mut rows = rows.await?.into_iter();
        Ok(rows.find(|(key, _)| key.ends_with(b"/state")))
    })
    .await
    .unwrap();
    // While the call is away.
    process.kill();
    let store = CrashingKv::new(&disk, CrashPoint::Never).store();
    let put = async |row: &[u8]| {
        let mut batch = Batch::new();
        batch.put(Table::Journal, &key, row);
        store.commit(batch).await.unwrap();
    };
    put(b"rubbish").await;
    let later = START.plus(Duration::from_secs(3_600));
    let next = begun(&fixture, &store, Some(first.keys.clone()), later).await;
    let attempt = async || {
        let tx = next.engine.transaction(id).await.unwrap().unwrap();
        assert_eq!(tx.attempts.len(), 1);
        tx.attempts[0].clone()
    };
    let asked_before = provider.count();
    eventually("it is in doubt", NET, async || {
        next.clock.advance(Duration::from_secs(1));
        Ok((attempt().await.state != AttemptState::Started).then_some(()))
    })
    .await
    .unwrap();
    assert!(attempt().await.is_state_lost());
    eventually("it was looked at a few times", NET, async || {
        next.clock.advance(Duration::from_secs(60));
        Ok((attempt().await.queries >= 3).then_some(()))
    })
    .await
    .unwrap();
    assert_eq!(attempt().await.state, AttemptState::InDoubt);
    assert_eq!(provider.count(), asked_before, "nobody is asked");
}

#[tokio::test]
async fn not_found_proves_what_was_true_when_it_was_asked_however_late_the_answer_comes() {
    let (fixture, provider) = (Fixture::new(), Provider::start().await);
    let gateway = misbehaving(&fixture).await;
    let of = fixture.attempt();
    fixture
        .collect(&gateway, of, &provider.in_mood("sick"), "write and fail")
        .await;
    fixture.clock.advance(Duration::from_secs(890));
    // The provider answers neither before it has both: the first is asked too early, and answered
    // when it would be late enough.
    let together = provider.in_mood("together");
    let ask = || {
        let call = query(&fixture, &gateway, of, &together, "ask");
        fixture.gateways.call(call)
    };
    let later = async {
        let arrived = || async { Ok((provider.count() == 2).then_some(())) };
        switchyard_tests::eventually("the first query", Duration::from_secs(20), arrived)
            .await
            .unwrap();
        fixture.clock.advance(Duration::from_secs(20));
        ask().await
    };
    let (early, late) = tokio::join!(ask(), later);
    let is_proof = |outcome| matches!(outcome, Outcome::NotSent { .. });
    assert_eq!(
        (is_proof(early.outcome), is_proof(late.outcome)),
        (false, true)
    );
}

/// A net, and no measure.
const NET: Duration = Duration::from_secs(60);

/// The gateway's request has the reference in it, so a part of the reference serves as the code.
#[tokio::test]
async fn a_code_that_the_payer_typed_is_masked_in_the_journal() {
    let (fixture, provider) = (Fixture::new(), Provider::start().await);
    let gateway = misbehaving(&fixture).await;
    let (of, code) = (fixture.attempt(), &REFERENCE[..8]);
    let config = json!({ "url": provider.in_mood("ok"), "key": KEY });
    let mut input = collection("write");
    input["input"] = json!({ "code": code });
    let call = fixture.call(&gateway, of, Operation::Collect, config, input);
    fixture.gateways.call(call).await;
    let rows = fixture.provider_calls(of).await;
    let sent = rows[0].request_body.as_deref().unwrap();
    assert!(sent.contains("***-") && !sent.contains(code), "{sent}");
}
