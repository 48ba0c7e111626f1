//! Isolation: dead and slow receivers do not delay others.

use super::receiver::Manner;
use super::*;
use switchyard_core::limits::WEBHOOKS_PER_APP;

#[tokio::test(flavor = "multi_thread")]
async fn healthy_receivers_do_not_wait_for_dead_ones() {
    let room = Room::with(Store::memory(), Clock::wall(), WebhookSettings::default()).await;
    let dead = Receiver::new(Manner::Silent).await;
    let mut healthy = Vec::new();
    for _ in 0..3 {
        room.webhook(&dead).await;
        let receiver = Receiver::good().await;
        room.webhook(&receiver).await;
        healthy.push(receiver);
    }
    for _ in 0..100 {
        room.begin().await;
    }
    // Each request to a dead receiver takes three seconds: the others finish long before.
    for receiver in &healthy {
        receiver.received(100).await;
    }
    assert!(
        dead.requests().len() < 300,
        "the healthy ones were served last"
    );
}

/// The dead receivers exceed the limit of the quick lane, and their requests end long after the
/// test: it is only known that they have not responded yet.
#[tokio::test(flavor = "multi_thread")]
async fn healthy_receivers_do_not_wait_for_many_new_ones_that_turn_out_dead() {
    let settings = WebhookSettings {
        deadline: Duration::from_secs(600),
        ..WebhookSettings::default()
    };
    let mut room = Room::with(Store::memory(), Clock::wall(), settings).await;
    let dead = Receiver::new(Manner::Silent).await;
    for _ in 0..20 {
        room.app = new_app(&room.access).await;
        for _ in 0..WEBHOOKS_PER_APP {
            room.webhook(&dead).await;
        }
        room.begin().await;
    }
    dead.received(300).await;
    room.app = new_app(&room.access).await;
    let healthy = Receiver::good().await;
    room.webhook(&healthy).await;
    room.begin().await;
    healthy.received(1).await;
    let snapshot = room.webhooks.snapshot().await.unwrap();
    assert_eq!((snapshot.waiting, snapshot.in_flight_slow >= 45), (0, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_has_so_many_requests_at_a_time_and_one_until_it_is_known() {
    let settings = WebhookSettings {
        concurrency_per_target: 3,
        ..WebhookSettings::default()
    };
    let room = Room::with(Store::memory(), Clock::wall(), settings).await;
    let (known, unknown) = (Receiver::good().await, Receiver::new(Manner::Silent).await);
    let webhook = room.webhook(&known).await;
    room.begin().await;
    room.attempted(&webhook, 1).await;
    room.nothing_waits().await;
    known.behave(Manner::Silent);
    room.webhook(&unknown).await;
    for _ in 0..20 {
        room.begin().await;
    }
    known.received(1 + 3).await;
    unknown.received(1).await;
    room.settle().await;
    assert_eq!((known.requests().len(), unknown.requests().len()), (4, 1));
    let snapshot = room.webhooks.snapshot().await.unwrap();
    assert_eq!((snapshot.in_flight, snapshot.queues), (4, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_depth_of_the_outbox_is_known_again_after_a_sweep() {
    let room = Room::new().await;
    let receiver = Receiver::new(Manner::Status(500)).await;
    let webhook = room.webhook(&receiver).await;
    for _ in 0..5 {
        room.begin().await;
    }
    room.attempted(&webhook, 5).await;
    room.webhooks.0.queue.depth_changed(94);
    // The sweep of the start may end late, with a count from before the events: another one
    // follows.
    while room.webhooks.snapshot().await.unwrap().depth != 5 {
        room.clock.advance(Duration::from_secs(60));
        room.settle().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_one_delivery_stops_no_other_and_loses_nothing() {
    let names = Resolver::scripted(|name| panic!("a test panics when asked for {name}"));
    let (store, clock) = (Store::memory(), Clock::manual(START));
    let room = Room::with_names(store, clock, WebhookSettings::default(), names).await;
    let receiver = Receiver::good().await;
    room.webhook_at("http://panic.example/").await;
    room.webhook(&receiver).await;
    for _ in 0..5 {
        room.begin().await;
    }
    receiver.received(5).await;
    room.settle().await;
    assert_eq!(room.waiting().await, 5);
    assert!(room.webhooks.snapshot().await.is_some());
}
