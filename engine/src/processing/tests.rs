//! The shells, on a memory store and a clock that the test turns. No gateway is loaded here: calls and routing have tests of their own.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::engine::{EngineError, NewPayment, NewPayout};
use crate::hold::Reasons;
use crate::testing::{Bench, Wanted, amount, customer};
use switchyard_core::testing::fixtures::{World, confirm};
use switchyard_core::transaction::{Customer, Kind, Refusal, State, Status, Transaction};
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

async fn bench() -> Bench {
    Wanted::with(Gateways::default()).start().await
}

async fn until(
    bench: &Bench,
    id: switchyard_core::ids::TransactionId,
    wanted: impl Fn(&Transaction) -> bool,
) -> Transaction {
    for _ in 0..500 {
        let tx = bench.engine.transaction(id).await.unwrap().unwrap();
        if wanted(&tx) {
            return (*tx).clone();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{id} never came to what was wanted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_stored_before_it_is_answered() {
    let bench = bench().await;
    let tx = bench
        .engine
        .initialize_payment(&bench.caller(), payment(), None)
        .await
        .unwrap();
    let stored = bench.engine.transaction(tx.id).await.unwrap().unwrap();
    assert_eq!(stored, tx);
    assert_eq!(bench.engine.timeline(tx.id).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_nobody_pays_is_cancelled_when_its_time_is_up_and_not_before() {
    let bench = bench().await;
    let tx = bench
        .engine
        .initialize_payment(&bench.caller(), payment(), None)
        .await
        .unwrap();
    bench.clock.advance(Duration::from_secs(30 * 60 - 1));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(
        bench
            .engine
            .transaction(tx.id)
            .await
            .unwrap()
            .unwrap()
            .status(),
        Status::Initiated
    );
    bench.clock.advance(Duration::from_secs(2));
    until(&bench, tx.id, |tx| tx.status() == Status::Cancelled).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_that_no_gateway_can_take_waits_for_one_and_then_fails() {
    let bench = bench().await;
    let new = NewPayout {
        amount: amount(500, "XOF"),
        description: "Refund".to_owned(),
        method: "mtn_bj".to_owned(),
        recipient: BTreeMap::new(),
        customer: customer(),
        metadata: BTreeMap::new(),
        context: switchyard_core::transaction::ClientContext::default(),
    };
    let tx = bench
        .engine
        .initialize_payout(&bench.caller(), new, None)
        .await
        .unwrap();
    bench.clock.advance(Duration::from_secs(29 * 60));
    tokio::time::sleep(Duration::from_millis(50)).await;
    let waiting = bench.engine.transaction(tx.id).await.unwrap().unwrap();
    assert_eq!(waiting.status(), Status::Initiated);
    bench.clock.advance(Duration::from_secs(2 * 60));
    let tx = until(&bench, tx.id, |tx| tx.status() == Status::Failed).await;
    assert!(tx.attempts.is_empty());
}

/// An engine that starts on what another left behind. `was_sent`: the attempt's request may have left.
async fn starts_on(left: &World, was_sent: bool) -> Bench {
    starts_held_on(left, was_sent, Reasons::default()).await
}

/// The same, on a store that may have been restored.
async fn starts_held_on(left: &World, was_sent: bool, hold: Reasons) -> Bench {
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
    let wanted = Wanted {
        store,
        clock: Clock::manual(left.now),
        hold,
        ..Wanted::with(Gateways::default())
    };
    wanted.start().await
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
    let bench = starts_held_on(&left, false, hold).await;
    let id = left.tx.id;
    let tx = until(&bench, id, |tx| tx.state != State::AwaitingGateway).await;
    assert_eq!(tx.state, State::InDoubt);
    let noted = provider_calls(bench.engine.store(), id, left.current()).await;
    let noted = noted.unwrap();
    assert_eq!(noted[0].at, left.now, "not found counts from here");
    assert!(noted[0].mutates);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_that_a_dead_process_sent_is_taken_up_at_the_start() {
    let left = interrupted();
    let bench = starts_on(&left, true).await;
    let id = left.tx.id;
    let tx = until(&bench, id, |tx| tx.state != State::AwaitingGateway).await;
    assert_eq!(tx.state, State::InDoubt);
    assert_eq!(bench.clock.now(), left.now, "nobody turned the clock");
}

/// It may be what ended the process before, and would end this one before it is ready.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_process_had_not_sent_yet_begins_again_only_after_a_while() {
    let left = interrupted();
    let bench = starts_on(&left, false).await;
    let id = left.tx.id;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let tx = bench.engine.transaction(id).await.unwrap().unwrap();
    assert_eq!(tx.version, left.tx.version, "{:?}", tx.state);
    bench.clock.advance(Duration::from_secs(4));
    until(&bench, id, |tx| tx.version > left.tx.version).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_falls_due_soon_after_a_start_is_woken_at_its_time() {
    let mut left = World::payment();
    left.wait(30 * 60 - 3);
    let bench = starts_on(&left, false).await;
    let id = left.tx.id;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let tx = bench.engine.transaction(id).await.unwrap().unwrap();
    assert_eq!(tx.status(), Status::Initiated, "its payer has time left");
    bench.clock.advance(Duration::from_secs(3));
    until(&bench, id, |tx| tx.status() == Status::Cancelled).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_from_many_tabs_at_once_cancels_once() {
    let bench = bench().await;
    let tx = bench
        .engine
        .initialize_payment(&bench.caller(), payment(), None)
        .await
        .unwrap();
    let cancels = (0..50).map(|_| {
        let (engine, id) = (bench.engine.clone(), tx.id);
        tokio::spawn(async move { engine.cancel(id).await })
    });
    for cancel in futures_util::future::join_all(cancels).await {
        assert_eq!(cancel.unwrap().unwrap().status(), Status::Cancelled);
    }
    assert_eq!(bench.engine.timeline(tx.id).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_without_work_rests_and_the_next_message_wakes_its_successor() {
    let bench = bench().await;
    let tx = bench
        .engine
        .initialize_payment(&bench.caller(), payment(), None)
        .await
        .unwrap();
    assert_eq!(
        bench.engine.live_actors(),
        0,
        "a payment that waits for its payer needs no actor"
    );
    let refused = bench.engine.mark_processed(tx.id).await;
    assert!(matches!(
        refused,
        Err(EngineError::Refused(Refusal::NotSuccessful(
            Status::Initiated
        )))
    ));
    assert_eq!(bench.engine.live_actors(), 1);
    let snapshot = bench.engine.transaction_actor(tx.id).await.unwrap();
    assert_eq!(
        (snapshot.version, snapshot.state, snapshot.commands),
        (Some(1), Some("awaiting_customer"), 1)
    );
    for _ in 0..200 {
        bench.clock.advance(Duration::from_secs(11));
        tokio::time::sleep(Duration::from_millis(10)).await;
        if bench.engine.live_actors() == 0 {
            break;
        }
    }
    assert_eq!(bench.engine.live_actors(), 0);
    let again = bench.engine.cancel(tx.id).await;
    assert!(
        again.is_ok() || matches!(again, Err(EngineError::Refused(_))),
        "{again:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_engines_on_one_store_never_overwrite_each_other() {
    let one = bench().await;
    let wanted = Wanted {
        store: one.engine.store().clone(),
        keys: Some(one.keys.clone()),
        ..Wanted::with(Gateways::default())
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
    let bench = bench().await;
    let caller = bench.caller();
    let births = (0..40).map(|_| {
        let (engine, caller) = (bench.engine.clone(), caller.clone());
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
    let bench = bench().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(
            bench
                .engine
                .initialize_payment(&bench.caller(), payment(), None)
                .await
                .unwrap()
                .id,
        );
        bench.clock.advance(Duration::from_secs(1));
    }
    bench.engine.cancel(ids[1]).await.unwrap();
    let caller = bench.caller();
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
    let listed = bench.engine.list(&query).await.unwrap();
    assert_eq!(
        listed.items.iter().map(|tx| tx.id).collect::<Vec<_>>(),
        [ids[4], ids[3]]
    );
    assert_eq!(listed.total, 5);
    query.page = 3;
    assert_eq!(bench.engine.list(&query).await.unwrap().items[0].id, ids[0]);
    (query.page, query.status) = (1, Some(Status::Cancelled));
    let cancelled = bench.engine.list(&query).await.unwrap();
    assert_eq!((cancelled.total, cancelled.items[0].id), (1, ids[1]));
    (query.status, query.from) = (
        None,
        Some(switchyard_core::testing::START.plus(Duration::from_secs(3))),
    );
    assert_eq!(bench.engine.list(&query).await.unwrap().total, 2);
    (query.from, query.to) = (
        None,
        Some(switchyard_core::testing::START.plus(Duration::from_secs(1))),
    );
    assert_eq!(bench.engine.list(&query).await.unwrap().total, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn sandbox_data_goes_after_90_days_and_live_data_stays() {
    let bench = bench().await;
    let live = bench
        .engine
        .access()
        .authenticate(bench.keys.live_secret_key.expose())
        .unwrap();
    let old = bench
        .engine
        .initialize_payment(&bench.caller(), by("old@example.com"), None)
        .await
        .unwrap();
    let kept = bench
        .engine
        .initialize_payment(&live, by("old@example.com"), None)
        .await
        .unwrap();
    bench.clock.advance(Duration::from_secs(89 * 24 * 60 * 60));
    until(&bench, old.id, |tx| tx.status() == Status::Cancelled).await;
    let young = bench
        .engine
        .initialize_payment(&bench.caller(), payment(), None)
        .await
        .unwrap();
    bench.clock.advance(Duration::from_secs(2 * 24 * 60 * 60));
    for _ in 0..500 {
        if bench.engine.transaction(old.id).await.unwrap().is_none() {
            break;
        }
        bench.clock.advance(Duration::from_millis(250));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(bench.engine.transaction(old.id).await.unwrap().is_none());
    assert_eq!(bench.engine.timeline(old.id).await.unwrap(), []);
    assert!(bench.engine.transaction(young.id).await.unwrap().is_some());
    assert!(bench.engine.transaction(kept.id).await.unwrap().is_some());
    for _ in 0..500 {
        if customers(&bench).await.len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let left = customers(&bench).await;
    assert!(left.contains(&kept.customer.id), "the live customer stays");
    assert!(left.contains(&young.customer.id), "who came back stays");
    assert!(!left.contains(&old.customer.id));
}

fn by(email: &str) -> NewPayment {
    let mut payment = payment();
    payment.customer.email = email.to_owned();
    payment
}

async fn customers(bench: &Bench) -> Vec<switchyard_core::ids::CustomerId> {
    let store = bench.engine.store();
    let all = store.scan(Table::Customer, &[0], &[255; 40], Direction::Forward, 100);
    let rows = all.await.unwrap();
    let customers = rows
        .iter()
        .map(|(_, row)| serde_json::from_slice::<Customer>(row).unwrap().id);
    customers.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_ends_the_actors_and_refuses_what_comes_later() {
    let bench = bench().await;
    let tx = bench
        .engine
        .initialize_payment(&bench.caller(), payment(), None)
        .await
        .unwrap();
    bench.engine.cancel(tx.id).await.unwrap();
    bench.engine.stop(Duration::from_secs(5)).await;
    let late = bench
        .engine
        .initialize_payment(&bench.caller(), payment(), None)
        .await;
    assert!(matches!(late, Err(EngineError::Stopping)));
}
