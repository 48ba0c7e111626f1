//! Order of the events of one transaction; there is none between transactions.

use super::receiver::Manner;
use super::*;
use crate::queue::{QueueHandler as _, StartTime};

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_payment_is_not_sent_before_its_beginning_was_acknowledged() {
    let room = Room::new().await;
    let receiver = Receiver::new(Manner::Slow(Duration::from_millis(1_500))).await;
    let webhook = room.webhook(&receiver).await;
    let tx = room.begin().await;
    room.end(&tx).await;
    receiver.received(1).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(receiver.events(), ["payment.initiated"]);
    receiver.received(2).await;
    assert_eq!(
        receiver.events(),
        ["payment.initiated", "payment.cancelled"]
    );
    room.attempted(&webhook, 2).await;
    room.nothing_waits().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_seconds_after_a_first_attempt_without_acknowledgment_the_end_goes_ahead() {
    let room = Room::new().await;
    let receiver = Receiver::new(Manner::Status(500)).await;
    let webhook = room.webhook(&receiver).await;
    let tx = room.begin().await;
    room.attempted(&webhook, 1).await;
    room.end(&tx).await;
    room.clock.advance(Duration::from_millis(2_900));
    room.settle().await;
    assert_eq!(receiver.events(), ["payment.initiated"]);
    room.clock.advance(Duration::from_millis(100));
    receiver.received(2).await;
    assert_eq!(
        receiver.events(),
        ["payment.initiated", "payment.cancelled"]
    );
}

/// Models a busy machine: time passes between taking a row and sending it.
#[tokio::test(flavor = "multi_thread")]
async fn the_three_seconds_begin_with_the_attempt_as_it_is_logged() {
    let room = Room::new().await;
    let webhook = room.webhook(&Receiver::good().await).await.id;
    let (tx, taken) = (room.payment(), room.clock.now());
    let name = EventName::PaymentCancelled;
    let event = event_id(tx.id, name, taken);
    let end = outbox::row(webhook, &tx, name, event, taken);
    let began = taken.plus(Duration::from_millis(40));
    room.webhooks.0.tried.add(webhook, tx.id, began);
    let queue = WebhookQueue(room.webhooks.0.clone());
    let goes_ahead = began.plus(Duration::from_secs(3));
    let early = taken.plus(Duration::from_secs(3));
    let start = queue.start_time(webhook, &end, early).await.unwrap();
    assert!(matches!(start, StartTime::At(at) if at == goes_ahead));
    let start = queue.start_time(webhook, &end, goes_ahead).await.unwrap();
    assert!(matches!(start, StartTime::Now));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_payments_at_once_keep_their_own_order() {
    let room = Room::new().await;
    let receiver = Receiver::new(Manner::Slow(Duration::from_millis(3))).await;
    room.webhook(&receiver).await;
    let mut begun = Vec::new();
    for _ in 0..100 {
        let tx = room.payment();
        room.store_only(&tx, EventName::PaymentInitiated).await;
        room.clock.advance(Duration::from_micros(7));
        begun.push(tx);
    }
    // The ends come in another order, before any event was sent.
    for tx in begun.iter().rev() {
        room.end(tx).await;
    }
    receiver.received(200).await;
    room.nothing_waits().await;
    each_has_its_beginning_first(&receiver.requests(), &begun);
}

fn each_has_its_beginning_first(requests: &[receiver::Request], begun: &[Transaction]) {
    assert_eq!(requests.len(), 2 * begun.len());
    for tx in begun {
        let id = tx.id.to_string();
        let events: Vec<_> = requests
            .iter()
            .filter(|request| request.transaction() == id)
            .collect();
        assert_eq!(events[0].event(), "payment.initiated");
        assert_eq!(events[0].json()["data"]["sequence"], 1);
        assert_eq!(events[1].event(), "payment.cancelled");
        assert_eq!(events[1].json()["data"]["sequence"], 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_was_made_after_the_beginning_gets_the_end_alone() {
    let room = Room::new().await;
    let tx = room.begin().await;
    let receiver = Receiver::good().await;
    room.webhook(&receiver).await;
    room.end(&tx).await;
    receiver.received(1).await;
    assert_eq!(receiver.events(), ["payment.cancelled"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_beginning_that_cannot_be_read_holds_up_no_end() {
    let room = Room::new().await;
    let receiver = Receiver::good().await;
    let webhook = room.webhook(&receiver).await;
    let tx = room.payment();
    let (now, name) = (room.clock.now(), EventName::PaymentInitiated);
    let beginning = outbox::row(webhook.id, &tx, name, event_id(tx.id, name, now), now);
    // No earlier commit has the whole row: the webhook's actor may scan at any time.
    let mut batch = Batch::new();
    batch.put(Table::Outbox, beginning.key(), &beginning.value()[..9]);
    room.store.commit(batch).await.unwrap();
    room.end(&tx).await;
    receiver.received(1).await;
    assert_eq!(receiver.events(), ["payment.cancelled"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn beginnings_that_lie_ahead_because_the_clock_was_set_back_stop_no_queue() {
    let store = Store::memory();
    let (later, receiver) = (
        START.plus(Duration::from_secs(3_600)),
        Receiver::good().await,
    );
    let before = Room::with(
        store.clone(),
        Clock::manual(later),
        WebhookSettings::default(),
    )
    .await;
    before.webhook(&receiver).await;
    let mut begun = Vec::new();
    for _ in 0..50 {
        let tx = before.payment();
        before.store_only(&tx, EventName::PaymentInitiated).await;
        begun.push(tx);
    }
    drop(before);
    let room = Room::with(store, Clock::manual(START), WebhookSettings::default()).await;
    for tx in &begun {
        room.end(tx).await;
    }
    room.clock.advance(Duration::from_secs(7_200));
    receiver.received(100).await;
    room.nothing_waits().await;
    each_has_its_beginning_first(&receiver.requests(), &begun);
}
