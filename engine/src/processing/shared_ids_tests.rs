//! The commit that makes a provider id known for a second attempt has the cases about all of them.

use crate::testing::{TestEngine, TestEngineBuilder};
use switchyard_core::ids::{AttemptId, PaymentId, PayoutId, TransactionId};
use switchyard_core::limits::{ATTEMPTS_PER_ID, VERIFY_DEADLINE};
use switchyard_core::testing::fixtures::{
    World, amount, confirm, pending, reported, route, unknown,
};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{CaseReason, Command, Outcome, Status, Transaction};
use switchyard_gateway_host::Gateways;
use switchyard_records as records;
use switchyard_store::{Batch, Direction, Store, Table};
use switchyard_system::clock::Clock;
use ulid::Ulid;

const ID: &str = "P1";

/// A payment, or a payout, whose attempt was answered with `outcome`.
fn answered(number: u128, is_payout: bool, outcome: Outcome) -> World {
    let number = Ulid(number);
    let (mut world, begin) = match is_payout {
        false => (World::payment(), confirm(1)),
        true => (World::payout(), Command::Dispatch(route(1))),
    };
    world.tx.id = match is_payout {
        false => TransactionId::Payment(PaymentId::new(number)),
        true => TransactionId::Payout(PayoutId::new(number)),
    };
    world.apply(begin).unwrap();
    let attempt = &mut world.tx.attempts[0];
    attempt.id = AttemptId::new(number);
    attempt.reference = uuid::Uuid::from_u128(number.0);
    world.answer(outcome).unwrap();
    world
}

async fn engine_with<'w>(worlds: impl IntoIterator<Item = &'w World>) -> TestEngine {
    let store = Store::memory();
    records::format::ensure_format(&store).await.unwrap();
    let mut batch = Batch::new();
    let mut now = Timestamp::from_seconds(0);
    for world in worlds {
        now = world.now;
        let step = records::Step {
            before: None,
            after: &world.tx,
            events: &[],
        };
        records::write(&mut batch, &step).unwrap();
    }
    store.commit(batch).await.unwrap();
    let wanted = TestEngineBuilder {
        store,
        clock: Clock::manual(now),
        ..TestEngineBuilder::with(Gateways::default())
    };
    wanted.start().await
}

async fn stored(test: &TestEngine, world: &World) -> Transaction {
    let stored = records::load(test.engine.store(), world.tx.id).await;
    stored.unwrap().unwrap()
}

/// The answer of a provider about the attempt of `world`: of a query, or of another call.
async fn tell(test: &TestEngine, world: &World, outcome: Outcome, is_query: bool) -> Status {
    let answer = Command::Answer {
        attempt: world.current(),
        outcome,
        gateway_state: None,
        asked_at: is_query.then_some(world.now),
    };
    let sent = test
        .engine
        .registry()
        .send(&test.engine, world.tx.id, answer);
    sent.await.unwrap().status()
}

fn reasons(tx: &Transaction) -> Vec<CaseReason> {
    tx.cases.iter().map(|case| case.reason).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_attempt_of_an_id_has_its_case_in_the_commit_that_shares_it() {
    for (first_is_payout, is_payout) in [(false, false), (true, true), (false, true)] {
        for is_query in [false, true] {
            let first = answered(1, first_is_payout, pending());
            let second = answered(2, is_payout, unknown());
            let test = engine_with([&first, &second]).await;
            let amount = second.tx.amount;
            let status = tell(&test, &second, reported(ID, amount), is_query).await;
            assert_eq!(status, Status::Success);
            // The answer follows the commit, and no other commit follows it.
            for world in [&first, &second] {
                let tx = stored(&test, world).await;
                assert_eq!(reasons(&tx), [CaseReason::AmbiguousProviderId]);
                assert_eq!(tx.cases[0].provider_id.as_deref(), Some(ID));
            }
            // What the actor of the first one decides next keeps the case.
            let amount = first.tx.amount;
            tell(&test, &first, reported(ID, amount), is_query).await;
            let tx = stored(&test, &first).await;
            assert_eq!(tx.status(), Status::Success);
            assert_eq!(reasons(&tx), [CaseReason::AmbiguousProviderId]);
        }
    }
}

/// Each gets its case, however many attempts have the id already.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_attempt_beyond_those_that_are_read_has_its_case() {
    let worlds: Vec<_> = (1..=ATTEMPTS_PER_ID as u128 + 3)
        .map(|number| answered(number, false, unknown()))
        .collect();
    let test = engine_with(worlds.iter()).await;
    for world in &worlds {
        let outcome = reported(ID, world.tx.amount);
        assert_eq!(tell(&test, world, outcome, true).await, Status::Success);
    }
    for world in &worlds {
        let tx = stored(&test, world).await;
        assert_eq!(reasons(&tx), [CaseReason::AmbiguousProviderId], "{}", tx.id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_that_holds_its_transaction_sees_the_case_that_another_commit_opened() {
    let (first, second) = (answered(1, false, unknown()), answered(2, false, unknown()));
    let test = engine_with([&first, &second]).await;
    tell(&test, &first, pending(), true).await; // its actor holds it from here
    tell(&test, &second, reported(ID, second.tx.amount), true).await;
    tell(&test, &first, reported(ID, first.tx.amount), true).await;
    for world in [&first, &second] {
        let tx = stored(&test, world).await;
        assert_eq!(tx.status(), Status::Success);
        assert_eq!(reasons(&tx), [CaseReason::AmbiguousProviderId]);
    }
}

/// The copy of the actor is old, and no commit of its own conflicts.
#[tokio::test(flavor = "multi_thread")]
async fn an_actor_that_changes_nothing_answers_with_the_case_that_another_commit_opened() {
    let (first, second) = (answered(1, false, unknown()), answered(2, false, unknown()));
    let test = engine_with([&first, &second]).await;
    tell(&test, &first, pending(), true).await; // its actor holds it from here
    tell(&test, &second, reported(ID, second.tx.amount), true).await;
    let verified = test.engine.verify(first.tx.id);
    let verified = tokio::time::timeout(VERIFY_DEADLINE / 2, verified).await;
    let verified = verified.expect("no query was started").unwrap().unwrap();
    assert_eq!(reasons(&verified), [CaseReason::AmbiguousProviderId]);
    let hinted = test.engine.registry();
    let hinted = hinted.send(&test.engine, first.tx.id, Command::Hint);
    let hinted = hinted.await.unwrap();
    assert_eq!(reasons(&hinted), [CaseReason::AmbiguousProviderId]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_read_keeps_no_success_of_another_one_from_being_stored() {
    let (first, second) = (answered(1, false, pending()), answered(2, false, unknown()));
    let test = engine_with([&first, &second]).await;
    let store = test.engine.store();
    let (whole, forward) = ([0xff; 40], Direction::Forward);
    let rows = store
        .scan(Table::Transaction, &[], &whole, forward, 2)
        .await;
    let rows = rows.unwrap();
    let id = Ulid(1).to_bytes();
    let row = rows.iter().find(|(key, _)| key.ends_with(&id)).unwrap();
    let mut batch = Batch::new();
    batch.put(Table::Transaction, &row.0, "{");
    store.commit(batch).await.unwrap();
    let status = tell(&test, &second, reported(ID, second.tx.amount), false).await;
    assert_eq!(status, Status::Success);
    let tx = stored(&test, &second).await;
    assert_eq!(reasons(&tx), [CaseReason::AmbiguousProviderId]);
}

#[tokio::test(flavor = "multi_thread")]
async fn money_that_was_known_before_the_id_is_shared_is_in_the_case_of_the_second() {
    let first = answered(1, false, reported(ID, amount(2_500)));
    let second = answered(2, false, unknown());
    assert_eq!(first.tx.status(), Status::Success);
    let test = engine_with([&first, &second]).await;
    tell(&test, &second, pending(), true).await;
    let tx = stored(&test, &second).await;
    assert_eq!(reasons(&tx), [CaseReason::AmbiguousProviderId]);
    assert_eq!(tx.cases[0].amount, Some(amount(2_500)));
}
