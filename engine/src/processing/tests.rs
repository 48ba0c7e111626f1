//! The shells, on a memory store and a clock that the test turns. No gateway is loaded here: calls and routing have tests of their own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::calls;
use super::commit::{Step, commit};
use crate::access::AppChange;
use crate::engine::{EngineError, NewPayment, NewPayout};
use crate::hold::Reasons;
use crate::testing::{TestEngine, TestEngineBuilder, amount, customer};
use switchyard_core::ids::AppId;
use switchyard_core::testing::fixtures::{START, World, confirm, route, unknown, verdict};
use switchyard_core::transaction::{
    AttemptState, Command, Customer, Kind, Operator, Refusal, Resolution, State, Status,
    Transaction,
};
use switchyard_gateway_host::{Gateways, provider_calls};
use switchyard_records::{self as records, ListQuery};
use switchyard_store::{Batch, Direction, Store, Table};
use switchyard_system::clock::Clock;

fn payment() -> NewPayment {
    NewPayment {
        amount: amount(2_500, "USD"),
        description: "Two coffees".to_owned(),
        return_url: "https://shop.example/return".to_owned(),
        customer: customer(),
        metadata: BTreeMap::new(),
        methods: Vec::new(),
        restriction: None,
        expires_in: None,
        context: switchyard_core::transaction::ClientContext::default(),
    }
}

async fn test() -> TestEngine {
    TestEngineBuilder::with(Gateways::default()).start().await
}

async fn until(
    test: &TestEngine,
    id: switchyard_core::ids::TransactionId,
    wanted: impl Fn(&Transaction) -> bool,
) -> Transaction {
    for _ in 0..500 {
        let tx = test.engine.transaction(id).await.unwrap().unwrap();
        if wanted(&tx) {
            return (*tx).clone();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{id} never came to what was wanted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_stored_before_it_is_answered() {
    let test = test().await;
    let tx = test
        .engine
        .initialize_payment(&test.caller(), payment(), None)
        .await
        .unwrap();
    let stored = test.engine.transaction(tx.id).await.unwrap().unwrap();
    assert_eq!(stored, tx);
    assert_eq!(test.engine.timeline(tx.id).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_nobody_pays_is_cancelled_when_its_time_is_up_and_not_before() {
    let test = test().await;
    let tx = test
        .engine
        .initialize_payment(&test.caller(), payment(), None)
        .await
        .unwrap();
    test.clock.advance(Duration::from_secs(30 * 60 - 1));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(
        test.engine
            .transaction(tx.id)
            .await
            .unwrap()
            .unwrap()
            .status(),
        Status::Initiated
    );
    test.clock.advance(Duration::from_secs(2));
    until(&test, tx.id, |tx| tx.status() == Status::Cancelled).await;
}

fn payout() -> NewPayout {
    NewPayout {
        amount: amount(500, "XOF"),
        description: "Refund".to_owned(),
        method: "mtn_bj".to_owned(),
        recipient: BTreeMap::new(),
        customer: customer(),
        metadata: BTreeMap::new(),
        context: switchyard_core::transaction::ClientContext::default(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_that_no_gateway_can_take_waits_for_one_and_then_fails() {
    let test = test().await;
    let tx = test
        .engine
        .initialize_payout(&test.caller(), payout(), None)
        .await
        .unwrap();
    test.clock.advance(Duration::from_secs(29 * 60));
    tokio::time::sleep(Duration::from_millis(50)).await;
    let waiting = test.engine.transaction(tx.id).await.unwrap().unwrap();
    assert_eq!(waiting.status(), Status::Initiated);
    test.clock.advance(Duration::from_secs(2 * 60));
    let tx = until(&test, tx.id, |tx| tx.status() == Status::Failed).await;
    assert!(tx.attempts.is_empty());
}

/// No failure is announced to the merchant while the payout waits for its app.
#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_payout_of_a_disabled_app_waits_as_long_as_it_is_disabled() {
    let test = test().await;
    let caller = test.caller();
    let tx = test
        .engine
        .initialize_payout(&caller, payout(), None)
        .await
        .unwrap();
    set_enabled(&test, caller.app.id, false).await;
    for _ in 0..3 {
        test.clock.advance(Duration::from_secs(60 * 60));
        tokio::time::sleep(Duration::from_millis(50)).await;
        let waiting = test.engine.transaction(tx.id).await.unwrap().unwrap();
        assert_eq!(waiting.status(), Status::Initiated);
    }
    set_enabled(&test, caller.app.id, true).await;
    test.clock.advance(Duration::from_secs(60));
    let tx = until(&test, tx.id, |tx| tx.status() == Status::Failed).await;
    assert!(tx.attempts.is_empty());
}

/// The disabled app's submission is kept back; without a disabled app it ends where its gateway's
/// version is looked up.
#[tokio::test(flavor = "multi_thread")]
async fn a_submission_that_has_begun_is_kept_back_when_its_app_is_disabled_before_the_call() {
    for (is_enabled, why) in [
        (false, "The app was disabled before the call."),
        (
            true,
            "The gateway gateway_0 is not loaded in the version that began this.",
        ),
    ] {
        let mut wanted = TestEngineBuilder::with(Gateways::default());
        wanted.clock = Clock::manual(START);
        let test = wanted.start().await;
        let mut world = World::payout();
        world.tx.app = test.caller().app.id;
        let before = Arc::new(world.tx.clone());
        let mut batch = Batch::new();
        let begin = records::Step {
            before: None,
            after: &before,
            events: &[],
        };
        records::write(&mut batch, &begin).unwrap();
        test.engine.store().commit(batch).await.unwrap();
        world.apply(Command::Dispatch(route(1))).unwrap();
        let step = Step::of(before, world.events.clone(), world.now);
        let away = calls::announce(&test.engine, &step);
        assert!(
            commit(&test.engine, Batch::new(), std::slice::from_ref(&step))
                .await
                .is_ok()
        );
        set_enabled(&test, world.tx.app, is_enabled).await;
        calls::begin(&test.engine, &step, away, None);
        let ended = |tx: &Transaction| tx.attempts[0].state == AttemptState::NotSent;
        let tx = until(&test, world.tx.id, ended).await;
        assert_eq!(tx.attempts[0].why.as_deref(), Some(why));
        assert_eq!(tx.state, State::AwaitingDispatch);
    }
}

async fn set_enabled(test: &TestEngine, app: AppId, is_enabled: bool) {
    let change = AppChange {
        is_enabled: Some(is_enabled),
        ..AppChange::default()
    };
    test.engine.access().update_app(app, change).await.unwrap();
}

/// An engine that starts on what another left behind. `was_sent`: the attempt's request may have left.
async fn starts_on(left: &World, was_sent: bool) -> TestEngine {
    starts_held_on(left, was_sent, Reasons::default()).await
}

/// The same, on a store that may have been restored.
async fn starts_held_on(left: &World, was_sent: bool, hold: Reasons) -> TestEngine {
    let store = Store::memory();
    switchyard_records::format::ensure_format(&store)
        .await
        .unwrap();
    let mut batch = Batch::new();
    let step = records::Step {
        before: None,
        after: &left.tx,
        events: &[],
    };
    records::write(&mut batch, &step).unwrap();
    if was_sent {
        // Nobody can read it, so it proves nothing.
        let row = format!("{}/{}/0", left.tx.id, left.current());
        batch.put(Table::Journal, row, b"?");
    }
    store.commit(batch).await.unwrap();
    let wanted = TestEngineBuilder {
        store,
        clock: Clock::manual(left.now),
        hold,
        ..TestEngineBuilder::with(Gateways::default())
    };
    wanted.start().await
}

/// A resolution that a second person approved is made exactly if the approval is stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_resolution_and_the_rows_that_belong_to_it_are_one_commit() {
    for is_decided in [true, false] {
        let mut left = World::payment();
        left.apply(confirm(1)).unwrap();
        left.answer(unknown()).unwrap();
        let test = starts_on(&left, true).await;
        let (engine, id) = (&test.engine, left.tx.id);
        let store = engine.store();
        if is_decided {
            let mut batch = Batch::new();
            batch.put(Table::User, "decided", "by otto");
            store.commit(batch).await.unwrap();
        }
        let mut approval = Batch::new();
        approval.require_absent(Table::User, "decided");
        approval.put(Table::User, "decided", "by olga");
        let olga = Operator {
            name: "olga".to_owned(),
            token: None,
        };
        let resolution = Resolution {
            attempt: None,
            verdict: verdict(None, Some("ch_1")),
        };
        let resolved = engine.resolve_with(id, olga, "Seen.".to_owned(), resolution, approval);
        assert_eq!(resolved.await.is_err(), is_decided);
        let stored = store.get(Table::User, b"decided").await.unwrap().unwrap();
        let tx = engine.transaction(id).await.unwrap().unwrap();
        let expected = match is_decided {
            true => (&b"by otto"[..], Status::Pending),
            false => (&b"by olga"[..], Status::Success),
        };
        assert_eq!((stored.as_slice(), tx.status()), expected);
    }
}

/// A payment of which a process died while it was being submitted, a second ago.
fn interrupted() -> World {
    let mut left = World::payment();
    left.apply(confirm(1)).unwrap();
    assert_eq!(left.tx.state, State::AwaitingGateway);
    left.wait(1);
    left
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_of_before_a_restore_may_have_left_although_the_journal_says_nothing() {
    let left = interrupted();
    let hold = Reasons {
        is_ordered: true,
        ..Reasons::default()
    };
    let test = starts_held_on(&left, false, hold).await;
    let id = left.tx.id;
    let tx = until(&test, id, |tx| tx.state != State::AwaitingGateway).await;
    assert_eq!(tx.state, State::InDoubt);
    let noted = provider_calls(test.engine.store(), id, left.current()).await;
    let noted = noted.unwrap();
    assert_eq!(noted[0].at, left.now, "not found counts from here");
    assert!(noted[0].mutates);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_that_a_dead_process_sent_is_taken_up_at_the_start() {
    let left = interrupted();
    let test = starts_on(&left, true).await;
    let id = left.tx.id;
    let tx = until(&test, id, |tx| tx.state != State::AwaitingGateway).await;
    assert_eq!(tx.state, State::InDoubt);
    assert_eq!(test.clock.now(), left.now, "nobody turned the clock");
}

/// It may be what ended the process before, and would end this one before it is ready.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_process_had_not_sent_yet_begins_again_only_after_a_while() {
    let left = interrupted();
    let test = starts_on(&left, false).await;
    let id = left.tx.id;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let tx = test.engine.transaction(id).await.unwrap().unwrap();
    assert_eq!(tx.version, left.tx.version, "{:?}", tx.state);
    test.clock.advance(Duration::from_secs(4));
    until(&test, id, |tx| tx.version > left.tx.version).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_falls_due_soon_after_a_start_is_woken_at_its_time() {
    let mut left = World::payment();
    left.wait(30 * 60 - 3);
    let test = starts_on(&left, false).await;
    let id = left.tx.id;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let tx = test.engine.transaction(id).await.unwrap().unwrap();
    assert_eq!(tx.status(), Status::Initiated, "its payer has time left");
    test.clock.advance(Duration::from_secs(3));
    until(&test, id, |tx| tx.status() == Status::Cancelled).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_from_many_tabs_at_once_cancels_once() {
    let test = test().await;
    let tx = test
        .engine
        .initialize_payment(&test.caller(), payment(), None)
        .await
        .unwrap();
    let cancels = (0..50).map(|_| {
        let (engine, id) = (test.engine.clone(), tx.id);
        tokio::spawn(async move { engine.cancel(id).await })
    });
    for cancel in futures_util::future::join_all(cancels).await {
        assert_eq!(cancel.unwrap().unwrap().status(), Status::Cancelled);
    }
    assert_eq!(test.engine.timeline(tx.id).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_without_work_rests_and_the_next_message_wakes_its_successor() {
    let test = test().await;
    let tx = test
        .engine
        .initialize_payment(&test.caller(), payment(), None)
        .await
        .unwrap();
    assert_eq!(
        test.engine.live_actors(),
        0,
        "a payment that waits for its payer needs no actor"
    );
    let refused = test.engine.mark_processed(tx.id).await;
    assert!(matches!(
        refused,
        Err(EngineError::Refused(Refusal::NotSuccessful(
            Status::Initiated
        )))
    ));
    assert_eq!(test.engine.live_actors(), 1);
    let snapshot = test.engine.transaction_actor(tx.id).await.unwrap();
    assert_eq!(
        (snapshot.version, snapshot.state, snapshot.commands),
        (Some(1), Some("awaiting_customer"), 1)
    );
    for _ in 0..200 {
        test.clock.advance(Duration::from_secs(11));
        tokio::time::sleep(Duration::from_millis(10)).await;
        if test.engine.live_actors() == 0 {
            break;
        }
    }
    assert_eq!(test.engine.live_actors(), 0);
    let again = test.engine.cancel(tx.id).await;
    assert!(
        again.is_ok() || matches!(again, Err(EngineError::Refused(_))),
        "{again:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_engines_on_one_store_never_overwrite_each_other() {
    let one = test().await;
    let wanted = TestEngineBuilder {
        store: one.engine.store().clone(),
        keys: Some(one.keys.clone()),
        ..TestEngineBuilder::with(Gateways::default())
    };
    let other = wanted.start().await;
    let tx = one
        .engine
        .initialize_payment(&one.caller(), payment(), None)
        .await
        .unwrap();
    let _ = one.engine.mark_processed(tx.id).await;
    other.engine.cancel(tx.id).await.unwrap();
    // The first engine's actor still holds version 1: its commit fails, it loads again, and finds the payment cancelled.
    assert_eq!(
        one.engine.cancel(tx.id).await.unwrap().status(),
        Status::Cancelled
    );
    assert_eq!(one.engine.timeline(tx.id).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn customers_are_one_for_each_address_even_when_many_requests_come_at_once() {
    let test = test().await;
    let caller = test.caller();
    let births = (0..40).map(|_| {
        let (engine, caller) = (test.engine.clone(), caller.clone());
        tokio::spawn(async move { engine.initialize_payment(&caller, payment(), None).await })
    });
    let mut customers = std::collections::BTreeSet::new();
    for birth in futures_util::future::join_all(births).await {
        customers.insert(birth.unwrap().unwrap().customer.id);
    }
    assert_eq!(customers.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_newest_first_filtered_and_counted() {
    let test = test().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(
            test.engine
                .initialize_payment(&test.caller(), payment(), None)
                .await
                .unwrap()
                .id,
        );
        test.clock.advance(Duration::from_secs(1));
    }
    test.engine.cancel(ids[1]).await.unwrap();
    let caller = test.caller();
    let mut query = ListQuery {
        app: caller.app.id,
        environment: caller.environment,
        kind: Kind::Payment,
        status: None,
        from: None,
        to: None,
        limit: 2,
        page: 1,
    };
    let listed = test.engine.list(&query).await.unwrap();
    assert_eq!(
        listed.items.iter().map(|tx| tx.id).collect::<Vec<_>>(),
        [ids[4], ids[3]]
    );
    assert_eq!(listed.total, 5);
    query.page = 3;
    assert_eq!(test.engine.list(&query).await.unwrap().items[0].id, ids[0]);
    (query.page, query.status) = (1, Some(Status::Cancelled));
    let cancelled = test.engine.list(&query).await.unwrap();
    assert_eq!((cancelled.total, cancelled.items[0].id), (1, ids[1]));
    (query.status, query.from) = (
        None,
        Some(switchyard_core::testing::START.plus(Duration::from_secs(3))),
    );
    assert_eq!(test.engine.list(&query).await.unwrap().total, 2);
    (query.from, query.to) = (
        None,
        Some(switchyard_core::testing::START.plus(Duration::from_secs(1))),
    );
    assert_eq!(test.engine.list(&query).await.unwrap().total, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn sandbox_data_goes_after_90_days_and_live_data_stays() {
    let test = test().await;
    let live = test
        .engine
        .access()
        .authenticate(test.keys.live_secret_key.expose())
        .unwrap();
    let old = test
        .engine
        .initialize_payment(&test.caller(), by("old@example.com"), None)
        .await
        .unwrap();
    let kept = test
        .engine
        .initialize_payment(&live, by("old@example.com"), None)
        .await
        .unwrap();
    test.clock.advance(Duration::from_secs(89 * 24 * 60 * 60));
    until(&test, old.id, |tx| tx.status() == Status::Cancelled).await;
    let young = test
        .engine
        .initialize_payment(&test.caller(), payment(), None)
        .await
        .unwrap();
    test.clock.advance(Duration::from_secs(2 * 24 * 60 * 60));
    for _ in 0..500 {
        if test.engine.transaction(old.id).await.unwrap().is_none() {
            break;
        }
        test.clock.advance(Duration::from_millis(250));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(test.engine.transaction(old.id).await.unwrap().is_none());
    assert_eq!(test.engine.timeline(old.id).await.unwrap(), []);
    assert!(test.engine.transaction(young.id).await.unwrap().is_some());
    assert!(test.engine.transaction(kept.id).await.unwrap().is_some());
    for _ in 0..500 {
        if customers(&test).await.len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let left = customers(&test).await;
    assert!(left.contains(&kept.customer.id), "the live customer stays");
    assert!(left.contains(&young.customer.id), "who came back stays");
    assert!(!left.contains(&old.customer.id));
}

fn by(email: &str) -> NewPayment {
    let mut payment = payment();
    payment.customer.email = email.to_owned();
    payment
}

async fn customers(test: &TestEngine) -> Vec<switchyard_core::ids::CustomerId> {
    let store = test.engine.store();
    let all = store.scan(Table::Customer, &[0], &[255; 40], Direction::Forward, 100);
    let rows = all.await.unwrap();
    let customers = rows
        .iter()
        .map(|(_, row)| serde_json::from_slice::<Customer>(row).unwrap().id);
    customers.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_ends_the_actors_and_refuses_what_comes_later() {
    let test = test().await;
    let tx = test
        .engine
        .initialize_payment(&test.caller(), payment(), None)
        .await
        .unwrap();
    test.engine.cancel(tx.id).await.unwrap();
    test.engine.stop(Duration::from_secs(5)).await;
    let late = test
        .engine
        .initialize_payment(&test.caller(), payment(), None)
        .await;
    assert!(matches!(late, Err(EngineError::Stopping)));
}
