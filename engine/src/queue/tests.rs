//! Tests of the queue actor with a handler whose rows say what happens to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::*;
use crate::runtime::ActorThreads;
use switchyard_core::testing::START;
use switchyard_store::{Batch, Key, KeyRange, KeyReader, Store, Table};
use switchyard_system::clock::Clock;

/// Handler of test rows, with a polled queue or with wake-ups.
struct TestHandler<const IS_POLLED: bool>(Arc<World<IS_POLLED>>);

struct World<const IS_POLLED: bool> {
    queue: Queue<TestHandler<IS_POLLED>>,
    store: Store,
    clock: Clock,
    threads: ActorThreads,
    /// Queues and numbers of the executed rows.
    executed: Mutex<Vec<(u8, u8)>>,
    /// Number of panics to come in the actor itself.
    panics: AtomicUsize,
    /// Holds the actor when it chooses a row.
    turns: Semaphore,
    /// Holds the rows with [`Fate::Wait`].
    gate: Semaphore,
}

/// First byte of a row's value.
#[derive(Clone, Copy)]
enum Fate {
    Delete,
    Wait,
    Panic,
    Stay,
    Unreadable,
}

const FATES: [Fate; 4] = [Fate::Delete, Fate::Wait, Fate::Panic, Fate::Stay];
const PREFIX: u8 = b't';
const REST: Duration = Duration::from_secs(5);
const AHEAD: Duration = Duration::from_secs(3);

fn key(queue: u8, due: Timestamp, number: u8) -> Key {
    of_queue(queue).with(due).with(number)
}

fn of_queue(queue: u8) -> Key {
    Key::of(PREFIX).with(queue)
}

impl<const IS_POLLED: bool> QueueHandler for TestHandler<IS_POLLED> {
    type Queue = u8;
    type Key = u8;
    type Row = Fate;

    const NAME: &'static str = "test";
    const MAILBOX: usize = 4;
    const TABLE: Table = Table::Outbox;
    const LANES: LaneLimits = LaneLimits {
        quick: 100,
        slow: None,
    };
    const WINDOW: usize = 3;
    const REST: Duration = REST;
    const MEASURED: Option<&'static str> = if IS_POLLED { None } else { Some("test") };
    const POLLING: Option<Polling<u8>> = if IS_POLLED { Some(POLLING) } else { None };

    fn queue(&self) -> &Queue<Self> {
        &self.0.queue
    }

    fn all() -> KeyRange {
        Key::of(PREFIX).range()
    }

    fn range(queue: u8, from: Timestamp) -> KeyRange {
        of_queue(queue).range().starting_at(key(queue, from, 0))
    }

    fn read_key(key: &[u8]) -> Option<(u8, u8, Timestamp)> {
        let mut key = KeyReader::of(PREFIX, key)?;
        let (queue, due) = (key.take()?, key.take()?);
        Some((queue, key.take_last()?, due))
    }

    fn read_row(_: &[u8], value: &[u8]) -> Result<Fate, QueueError> {
        let fate = FATES.get(usize::from(value[0]));
        fate.copied()
            .ok_or_else(|| "a test made it unreadable".into())
    }

    fn enqueued_at(_: &Fate) -> Option<Timestamp> {
        Some(START)
    }

    fn limits(&self, _: u8) -> QueueLimits {
        let panics = &self.0.panics;
        let planted = panics.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
            left.checked_sub(1)
        });
        assert!(planted.is_err(), "a test says so");
        QueueLimits {
            concurrency: 2,
            ..QueueLimits::default()
        }
    }

    async fn start_time(
        &self,
        _: u8,
        _: &Fate,
        _: Timestamp,
    ) -> Result<StartTime<Self>, QueueError> {
        drop(self.0.turns.acquire().await);
        Ok(StartTime::Now)
    }

    async fn execute(&self, queue: u8, item: &Item<Self>) -> Executed {
        self.0.executed.lock().push((queue, item.key));
        match item.row {
            Fate::Wait => drop(self.0.gate.acquire().await),
            Fate::Panic => panic!("a test says so"),
            Fate::Stay => return RowState::StillThere.into(),
            Fate::Delete | Fate::Unreadable => {}
        }
        self.0.delete(queue, item.due, item.key).await;
        RowState::Removed.into()
    }
}

const POLLING: Polling<u8> = Polling {
    queue: 0,
    every: Duration::from_millis(200),
    overlap: Duration::from_secs(2),
    back_every: Duration::from_secs(5),
    back: Duration::from_secs(60),
    all_every: Duration::from_secs(30),
    ahead: AHEAD,
};

impl<const IS_POLLED: bool> World<IS_POLLED> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            queue: Queue::default(),
            store: Store::memory(),
            clock: Clock::manual(START),
            threads: ActorThreads::start().unwrap(),
            executed: Mutex::default(),
            panics: AtomicUsize::new(0),
            turns: Semaphore::new(1),
            gate: Semaphore::new(0),
        })
    }

    fn start(self: &Arc<Self>) {
        let context = QueueContext {
            store: self.store.clone(),
            clock: self.clock.clone(),
            runtime: Handle::current(),
        };
        let handler = TestHandler(self.clone());
        self.queue.start(self.threads.arbiter(), context, handler);
    }

    /// Stores a row without a wake-up.
    async fn put(&self, queue: u8, due: Timestamp, number: u8, fate: Fate) {
        let mut batch = Batch::new();
        batch.put(Table::Outbox, key(queue, due, number), [fate as u8]);
        self.store.commit(batch).await.unwrap();
    }

    async fn add(&self, queue: u8, number: u8, fate: Fate) {
        let due = self.clock.now();
        self.put(queue, due, number, fate).await;
        self.queue.wake([(queue, due)]);
    }

    async fn delete(&self, queue: u8, due: Timestamp, number: u8) {
        let mut batch = Batch::new();
        batch.delete(Table::Outbox, key(queue, due, number));
        self.store.commit(batch).await.unwrap();
    }

    fn executed(&self) -> Vec<(u8, u8)> {
        let mut executed = self.executed.lock().clone();
        executed.sort_unstable();
        executed
    }

    /// Waits until so many executions have begun, and until `in_flight` of them have not ended.
    async fn reach(&self, executed: usize, in_flight: usize) {
        for _ in 0..2_000 {
            let snapshot = self.queue.snapshot().await.unwrap();
            if self.executed().len() >= executed && snapshot.in_flight == in_flight {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let snapshot = self.queue.snapshot().await;
        panic!("never: {executed} executed, {in_flight} in flight; {snapshot:?}");
    }

    /// Lets the actor handle all messages in its mailbox.
    async fn settle(&self) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    fn stop(&self) {
        self.queue.stop_now();
        self.threads.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_before_the_start_are_executed_and_those_whose_wake_up_was_lost() {
    let world = World::<false>::new();
    world.put(7, START, 1, Fate::Delete).await;
    world.add(8, 1, Fate::Delete).await;
    world.start();
    world.reach(2, 0).await;
    world.put(7, START, 2, Fate::Delete).await;
    world.settle().await;
    assert_eq!(world.executed().len(), 2);
    world.clock.advance(Duration::from_secs(60));
    world.reach(3, 0).await;
    world.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_queue_has_slots_of_its_own() {
    let world = World::<false>::new();
    world.start();
    for number in 0..5 {
        world.add(1, number, Fate::Wait).await;
    }
    world.reach(2, 2).await;
    world.add(2, 0, Fate::Delete).await;
    world.reach(3, 2).await;
    world.settle().await;
    assert_eq!(world.executed(), [(1, 0), (1, 1), (2, 0)]);
    world.gate.add_permits(1);
    world.reach(6, 0).await;
    world.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_panics_keeps_its_slot_for_a_while_and_stops_no_other() {
    let world = World::<false>::new();
    world.start();
    world.add(1, 0, Fate::Panic).await;
    world.reach(1, 1).await;
    for number in 1..=9 {
        world.add(1, number, Fate::Delete).await;
    }
    world.reach(10, 1).await;
    while world.executed().len() < 11 {
        world.clock.advance(REST);
        world.settle().await;
    }
    assert_eq!(world.executed()[..3], [(1, 0), (1, 0), (1, 1)]);
    world.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_of_the_actor_is_contained_and_the_next_scan_repeats_its_work() {
    let world = World::<false>::new();
    world.start();
    world.add(1, 0, Fate::Wait).await;
    world.reach(1, 1).await;
    world.panics.store(2, Ordering::SeqCst);
    world.add(1, 1, Fate::Delete).await;
    for left in [1, 0] {
        while world.panics.load(Ordering::SeqCst) > left {
            world.settle().await;
        }
        // Answered after the message that panicked.
        world.queue.snapshot().await.unwrap();
        world.clock.advance(REST);
    }
    world.reach(2, 1).await;
    assert_eq!(world.executed(), [(1, 0), (1, 1)]);
    world.gate.add_permits(1);
    world.reach(2, 0).await;
    world.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn scans_beyond_the_mailbox_are_dropped_and_results_wait_for_room() {
    let world = World::<false>::new();
    world.start();
    for queue in 0..50 {
        world.add(queue, 0, Fate::Wait).await;
    }
    world.reach(50, 50).await;
    world.turns.forget_permits(1);
    for queue in 0..50 {
        world.add(queue, 1, Fate::Delete).await;
    }
    world.gate.add_permits(1);
    world.settle().await;
    assert_eq!(world.executed().len(), 50, "the actor is held");
    world.turns.add_permits(1);
    world.reach(100, 0).await;
    assert_eq!(world.queue.snapshot().await.unwrap().started, 100);
    world.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_rows_at_the_head_of_a_queue_do_not_block_the_rows_behind_them() {
    let world = World::<false>::new();
    for number in 0..7 {
        world.put(1, START, number, Fate::Unreadable).await;
    }
    world.put(1, START, 7, Fate::Delete).await;
    world.start();
    world.reach(1, 0).await;
    assert_eq!(world.executed(), [(1, 7)]);
    world.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_still_there_is_executed_again_by_a_later_scan() {
    let world = World::<true>::new();
    for number in 0..8 {
        world.put(0, START, number, Fate::Stay).await;
    }
    world.start();
    world.reach(8, 0).await;
    for _ in 0..20 {
        world.clock.advance(POLLING.every);
        world.settle().await;
    }
    assert_eq!(world.executed().len(), 8, "it was executed too early");
    world.clock.advance(Duration::from_secs(2));
    world.reach(16, 0).await;
    world.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_polled_queue_finds_rows_without_a_wake_up_and_those_stored_after_their_time() {
    let world = World::<true>::new();
    world.start();
    world.settle().await;
    let soon = START.plus(Duration::from_secs(10));
    world.put(0, soon, 0, Fate::Delete).await;
    world.clock.advance(Duration::from_secs(9));
    world.settle().await;
    assert_eq!(world.executed(), []);
    world.clock.advance(Duration::from_secs(1));
    world.reach(1, 0).await;
    let before = |age| world.clock.now().minus(age);
    world
        .put(0, before(POLLING.overlap * 2), 1, Fate::Delete)
        .await;
    world.clock.advance(POLLING.every);
    world.settle().await;
    world.clock.advance(POLLING.every);
    world.settle().await;
    assert_eq!(world.executed().len(), 1, "it is older than a scan reads");
    world.clock.advance(POLLING.back_every);
    world.reach(2, 0).await;
    world
        .put(0, before(POLLING.back * 2), 2, Fate::Delete)
        .await;
    world.clock.advance(POLLING.all_every);
    world.reach(3, 0).await;
    world.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_first_scan_of_a_polled_queue_reads_ahead() {
    let world = World::<true>::new();
    let ahead = START.plus(AHEAD);
    world.put(0, ahead, 0, Fate::Stay).await;
    world.put(0, ahead.plus(REST), 1, Fate::Delete).await;
    world.start();
    world.reach(1, 0).await;
    world.clock.advance(POLLING.every);
    world.put(0, ahead, 2, Fate::Delete).await;
    world.settle().await;
    assert_eq!(world.executed(), [(0, 0)]);
    world.clock.advance(AHEAD);
    world.reach(3, 0).await;
    assert_eq!(
        world.executed(),
        [(0, 0), (0, 0), (0, 2)],
        "each at its time"
    );
    world.stop();
}
