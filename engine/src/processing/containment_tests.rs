//! What goes wrong in one actor stays there: panics are contained, counted and logged, full mailboxes make others wait, and nothing is
//! lost by either.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use metrics::{
    Counter, CounterFn, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use parking_lot::Mutex;
use serde_json::json;

use super::calls;
use super::commit::{Step, commit};
use crate::engine::{EngineError, EngineSettings, NewPayment};
use crate::testing::{TestEngine, TestEngineBuilder, amount, customer};
use switchyard_core::ids::TransactionId;
use switchyard_core::testing::fixtures::{self, World};
use switchyard_core::transaction::{ClientContext, Refusal, State, Status};
use switchyard_gateway_host::Gateways;
use switchyard_records as records;
use switchyard_store::{Batch, Table};
use switchyard_system::clock::Clock;

async fn payment(test: &TestEngine) -> TransactionId {
    let payment = NewPayment {
        amount: amount(2_500, "USD"),
        description: "Two coffees".to_owned(),
        return_url: "https://shop.example/return".to_owned(),
        customer: customer(),
        metadata: BTreeMap::new(),
        methods: Vec::new(),
        restriction: None,
        expires_in: None,
        context: ClientContext::default(),
    };
    let caller = test.caller();
    let made = test.engine.initialize_payment(&caller, payment, None).await;
    made.unwrap().id
}

async fn status(test: &TestEngine, id: TransactionId) -> Status {
    let tx = test.engine.transaction(id).await.unwrap().unwrap();
    tx.status()
}

/// Waits until it is so; the clock goes on a second each time.
async fn as_time_goes_by(test: &TestEngine, what: &str, so: impl AsyncFn() -> bool) {
    for _ in 0..1_000 {
        if so().await {
            return;
        }
        test.clock.advance(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_a_transaction_is_an_error_of_that_command_and_of_nothing_else() {
    let seen = Seen::watch();
    for place in ["command", "decide"] {
        let test = TestEngineBuilder::with(Gateways::default()).start().await;
        let (struck, other) = (payment(&test).await, payment(&test).await);
        let before = seen.panics("transaction");
        test.engine.faults().panic_at(place, 1);
        let refused = test.engine.cancel(struck).await;
        assert!(
            matches!(refused, Err(EngineError::Internal)),
            "{place}: {refused:?}"
        );
        assert!(seen.panics("transaction") > before, "{place}: not counted");
        assert!(seen.logged(&struck.to_string()), "{place}: not logged");
        assert_eq!(status(&test, struck).await, Status::Initiated);
        assert_eq!(test.engine.timeline(struck).await.unwrap().len(), 1);
        // The next transaction works, and so does the next command of this one.
        for id in [other, struck] {
            let cancelled = test.engine.cancel(id).await.unwrap();
            assert_eq!(cancelled.status(), Status::Cancelled, "{place}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_any_part_of_the_scheduler_delays_that_part_and_stops_nothing() {
    let seen = Seen::watch();
    for place in ["timers", "wake", "rest", "sweep"] {
        let test = TestEngineBuilder::with(Gateways::default()).start().await;
        let before = seen.panics("scheduler");
        let id = payment(&test).await;
        test.engine.faults().panic_at(place, 2);
        // Past the payment's end, and past the next sweep.
        test.clock.advance(Duration::from_secs(2 * 60 * 60));
        as_time_goes_by(&test, "the payment is cancelled", async || {
            status(&test, id).await == Status::Cancelled
        })
        .await;
        as_time_goes_by(&test, "the planted panics have come", async || {
            // The second sweep is due an hour after the first.
            test.clock.advance(Duration::from_secs(60));
            test.engine.faults().left(place) == 0
        })
        .await;
        as_time_goes_by(&test, "the panics are counted", async || {
            seen.panics("scheduler") >= before + 2
        })
        .await;
        assert!(seen.logged("scheduler"), "{place}: not logged");
        let late = payment(&test).await;
        test.clock.advance(Duration::from_secs(31 * 60));
        as_time_goes_by(&test, "the next payment is cancelled", async || {
            status(&test, late).await == Status::Cancelled
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_that_panics_is_what_the_journal_says_of_it() {
    for was_sent in [true, false] {
        let mut wanted = TestEngineBuilder::with(Gateways::default());
        wanted.clock = Clock::manual(fixtures::START);
        let test = wanted.start().await;
        let mut world = World::payment();
        let before = Arc::new(world.tx.clone());
        let mut batch = Batch::new();
        let begin = records::Step {
            before: None,
            after: &before,
            events: &[],
        };
        records::write(&mut batch, &begin).unwrap();
        test.engine.store().commit(batch).await.unwrap();
        world.apply(fixtures::confirm(1)).unwrap();
        let (id, attempt) = (world.tx.id, world.current());
        let mut batch = Batch::new();
        if was_sent {
            // A row that cannot be read counts as sent.
            let row = |name| format!("{id}/{attempt}/{name}");
            batch.put(Table::Journal, row("0000000001"), "{");
            batch.put(Table::Journal, row("state"), r#"{"account":7}"#);
        }
        let step = Step::of(before, world.events, world.now);
        let away = calls::announce(&test.engine, &step);
        assert!(
            commit(&test.engine, batch, std::slice::from_ref(&step))
                .await
                .is_ok()
        );
        test.engine.faults().panic_at("call", 1);
        calls::begin(&test.engine, &step, away, None);
        as_time_goes_by(&test, "the actor looked", async || {
            let tx = test.engine.transaction(id).await.unwrap().unwrap();
            tx.version > step.after.version
        })
        .await;
        let tx = test.engine.transaction(id).await.unwrap().unwrap();
        let attempt = tx.attempt(attempt).unwrap();
        let expected = match was_sent {
            true => (State::InDoubt, json!({ "account": 7 })),
            false => (State::AwaitingCustomer, json!(null)),
        };
        assert_eq!((tx.state.clone(), attempt.gateway_state.clone()), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn senders_beyond_a_transactions_mailbox_wait_and_every_one_is_answered() {
    let test = TestEngineBuilder::with(Gateways::default()).start().await;
    let id = payment(&test).await;
    let gate = test.engine.faults().block_at("command");
    let many = 8 * switchyard_core::limits::TRANSACTION_MAILBOX;
    let answered = Arc::new(AtomicU64::new(0));
    let cancels: Vec<_> = (0..many)
        .map(|_| {
            let (engine, answered) = (test.engine.clone(), answered.clone());
            tokio::spawn(async move {
                let answer = engine.cancel(id).await;
                answered.fetch_add(1, Ordering::SeqCst);
                answer
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(answered.load(Ordering::SeqCst), 0, "nobody came through");
    // Other transactions do not wait for this one's mailbox: each has its own. Here all would meet the gate, so none is asked.
    gate.close();
    for cancel in cancels {
        assert_eq!(cancel.await.unwrap().unwrap().status(), Status::Cancelled);
    }
    let snapshot = test.engine.transaction_actor(id).await.unwrap();
    assert_eq!(snapshot.commands, many as u64);
    assert_eq!(test.engine.timeline(id).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_transactions_at_work_than_there_is_room_for_are_told_to_come_back() {
    let room = 64;
    let mut wanted = TestEngineBuilder::with(Gateways::default());
    wanted.settings = EngineSettings {
        live_actors: room,
        expires_after: Duration::from_secs(24 * 60 * 60),
        ..EngineSettings::default()
    };
    let test = wanted.start().await;
    let mut refused = Vec::new();
    for _ in 0..4 * room {
        let id = payment(&test).await;
        match test.engine.mark_processed(id).await {
            Err(EngineError::Refused(Refusal::NotSuccessful(_))) => {}
            Err(EngineError::Unavailable(_)) => refused.push(id),
            other => panic!("{other:?}"),
        }
        assert!(test.engine.live_actors() <= room);
    }
    assert!(refused.len() >= 3 * room, "{}", refused.len());
    for id in refused.into_iter().take(3) {
        as_time_goes_by(&test, "there is room again", async || {
            matches!(
                test.engine.mark_processed(id).await,
                Err(EngineError::Refused(Refusal::NotSuccessful(_)))
            )
        })
        .await;
    }
}

/// What the process has counted and logged. One for all tests, since there is one recorder and one log in a process.
#[derive(Clone, Default)]
struct Seen(Arc<Inside>);

#[derive(Default)]
struct Inside {
    counted: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
    log: Mutex<Vec<u8>>,
}

impl Seen {
    fn watch() -> Self {
        static SEEN: OnceLock<Seen> = OnceLock::new();
        let seen = SEEN.get_or_init(|| {
            let seen = Self::default();
            let writer = seen.clone();
            // Another recorder or log of this process would leave this one blind, and the tests would say so.
            let _ = metrics::set_global_recorder(seen.clone());
            let log = tracing_subscriber::fmt().with_ansi(false);
            let _ = log.with_writer(move || writer.clone()).try_init();
            seen
        });
        seen.clone()
    }

    fn panics(&self, actor: &str) -> u64 {
        let counted = self.0.counted.lock();
        let counted = counted;
        let of_actor = counted.iter().filter(|(key, _)| {
            key.contains("switchyard_actor_panics_total") && key.contains(actor)
        });
        of_actor
            .map(|(_, count)| count.load(Ordering::SeqCst))
            .sum()
    }

    fn logged(&self, text: &str) -> bool {
        let log = self.0.log.lock();
        let lines = String::from_utf8_lossy(&log);
        lines
            .lines()
            .any(|line| line.contains("panicked") && line.contains(text))
    }
}

impl Recorder for Seen {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let counted = self.0.counted.lock();
        let mut counted = counted;
        let count = counted.entry(key.to_string()).or_default();
        Counter::from_arc(Arc::new(Count(count.clone())))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

struct Count(Arc<AtomicU64>);

impl CounterFn for Count {
    fn increment(&self, by: u64) {
        self.0.fetch_add(by, Ordering::SeqCst);
    }

    fn absolute(&self, value: u64) {
        self.0.fetch_max(value, Ordering::SeqCst);
    }
}

impl io::Write for Seen {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let mut log = self.0.log.lock();
        log.extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
