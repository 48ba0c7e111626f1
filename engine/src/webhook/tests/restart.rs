//! Restarts and crashes: promised events are sent, with the same id.

use super::receiver::Manner;
use super::*;

/// Process with its own runtime: a kill affects neither the store nor the receivers.
struct Process(Option<tokio::runtime::Runtime>);

impl Process {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        Self(Some(runtime.unwrap()))
    }

    async fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        self.0.as_ref().unwrap().spawn(work).await.unwrap()
    }

    fn kill(&mut self) {
        self.0.take().unwrap().shutdown_background();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_and_not_acknowledged_when_the_process_died_is_sent_again_with_the_same_id() {
    let store = Store::memory();
    let clock = Clock::manual(START);
    let receiver = Receiver::new(Manner::Silent).await;
    let mut process = Process::new();
    let room = process
        .run(Room::with(
            store.clone(),
            clock.clone(),
            WebhookSettings::default(),
        ))
        .await;
    room.webhook(&receiver).await;
    let tx = room.begin().await;
    room.end(&tx).await;
    receiver.received(1).await;
    process.kill();
    drop(room);
    assert_eq!(receiver.events(), ["payment.initiated"]);

    receiver.behave(Manner::Status(200));
    let process = Process::new();
    let room = process
        .run(Room::with(store, clock, WebhookSettings::default()))
        .await;
    let requests = receiver.received(3).await;
    room.nothing_waits().await;
    assert_eq!(
        receiver.events(),
        [
            "payment.initiated",
            "payment.initiated",
            "payment.cancelled"
        ]
    );
    assert_eq!(
        requests[0].headers["webhook-id"],
        requests[1].headers["webhook-id"]
    );
    assert_eq!(requests[0].body, requests[1].body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nudge_that_was_lost_costs_time_and_no_webhook() {
    let store = Store::memory();
    let clock = Clock::manual(START);
    let receiver = Receiver::good().await;
    let room = Room::with(store, clock.clone(), WebhookSettings::default()).await;
    room.webhook(&receiver).await;
    room.settle().await;
    let tx = room.payment();
    room.store_only(&tx, EventName::PaymentInitiated).await;
    room.settle().await;
    assert!(receiver.requests().is_empty());
    // The first sweep is over; later ones follow.
    for _ in 0..10 {
        clock.advance(Duration::from_secs(60));
        room.settle().await;
        if !receiver.requests().is_empty() {
            return;
        }
    }
    panic!("no sweep found it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_right_after_a_failed_first_attempt_does_not_let_the_end_overtake() {
    let store = Store::memory();
    let clock = Clock::manual(START);
    let receiver = Receiver::new(Manner::Status(500)).await;
    let room = Room::with(store.clone(), clock.clone(), WebhookSettings::default()).await;
    let webhook = room.webhook(&receiver).await;
    let tx = room.begin().await;
    room.attempted(&webhook, 1).await;
    room.webhooks.stop(Duration::from_secs(5)).await;
    drop(room);

    let room = Room::with(store, clock.clone(), WebhookSettings::default()).await;
    clock.advance(Duration::from_secs(1));
    room.end(&tx).await;
    room.settle().await;
    assert_eq!(receiver.requests().len(), 1);
    clock.advance(Duration::from_secs(2));
    receiver.received(2).await;
    assert_eq!(
        receiver.events(),
        ["payment.initiated", "payment.cancelled"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_waits_for_what_is_on_its_way() {
    let room = Room::new().await;
    let receiver = Receiver::new(Manner::Slow(Duration::from_millis(500))).await;
    room.webhook(&receiver).await;
    room.begin().await;
    receiver.received(1).await;
    room.webhooks.stop(Duration::from_secs(10)).await;
    assert_eq!(room.waiting().await, 0);
}
