//! Manual replays: failed and missed events.

use super::receiver::Manner;
use super::*;
use crate::access::{EventFilter, RetryProfile, WebhookChange};
use switchyard_core::transaction::Recorded;
use switchyard_records as records;

impl Room {
    /// Stores the transaction as the engine does, without an announcement.
    async fn record(&self, before: Option<&Transaction>, after: &Transaction, event: Event) {
        let events = [Recorded {
            version: after.version,
            at: self.clock.now(),
            event,
        }];
        let step = records::Step {
            before,
            after,
            events: &events,
        };
        let mut batch = Batch::new();
        records::write(&mut batch, &step).unwrap();
        self.store.commit(batch).await.unwrap();
    }

    /// Payment that begins and is cancelled two seconds later; webhooks receive its events if
    /// `is_told`.
    async fn whole_payment(&self, environment: Environment, is_told: bool) -> Transaction {
        let tx = self.payment_in(environment);
        self.record(None, &tx, Event::Initiated).await;
        if is_told {
            self.announce(&tx, EventName::PaymentInitiated).await;
        }
        self.clock.advance(Duration::from_secs(2));
        let cancelled = Event::Cancelled {
            by: CancelledBy::Customer,
        };
        let ended = evolve(tx.clone(), &cancelled, self.clock.now());
        self.record(Some(&tx), &ended, cancelled).await;
        if is_told {
            self.announce(&ended, EventName::PaymentCancelled).await;
        }
        ended
    }

    async fn catch_up(&self, webhook: &Webhook, since: Timestamp) -> MissedReplay {
        let done = self.webhooks.replay_missing(webhook.id, since, None).await;
        done.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_was_added_later_gets_what_it_missed_once_in_order_and_with_the_same_ids() {
    let room = Room::new().await;
    let (first, late) = (Receiver::good().await, Receiver::good().await);
    room.webhook(&first).await;
    for environment in Environment::ALL {
        room.whole_payment(environment, true).await;
    }
    first.received(4).await;
    room.nothing_waits().await;
    room.clock.advance(Duration::from_secs(3_600));

    let added = room.webhook(&late).await;
    let done = room.catch_up(&added, START).await;
    let expected = MissedReplay {
        replayed: 4,
        examined: 2,
        after: None,
    };
    assert_eq!(done, expected);
    late.received(4).await;
    room.nothing_waits().await;
    let of = |receiver: &Receiver, tx: &str| {
        let mut requests = receiver.requests();
        requests.retain(|request| request.transaction() == tx);
        let seen =
            |it: &super::receiver::Request| (it.headers["webhook-id"].clone(), it.body.clone());
        requests.iter().map(seen).collect::<Vec<_>>()
    };
    for tx in late.requests().iter().map(|request| request.transaction()) {
        assert_eq!(of(&late, &tx), of(&first, &tx), "{tx}");
        assert_eq!(of(&late, &tx).len(), 2);
    }
    assert_eq!(room.catch_up(&added, START).await.replayed, 0);
    room.settle().await;
    assert_eq!(late.requests().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_missing_heard_and_new_enough_is_sent() {
    let room = Room::new().await;
    let receiver = Receiver::new(Manner::Status(410)).await;
    let options = WebhookOptions {
        retry: RetryProfile::Custom {
            delays: vec![600; 3],
        },
        ..WebhookOptions::default()
    };
    let webhook = room.webhook_with(&receiver, options).await;
    // Four payments: one that fails, one while the webhook is disabled, a delivered one, and one
    // that waits for its retry.
    let failed = room.whole_payment(Environment::Live, true).await;
    room.attempted(&webhook, 1).await;
    room.nothing_waits().await;
    assert!(!room.access.webhook(webhook.id).unwrap().is_enabled);
    let never = room.webhooks.replay_missing(webhook.id, START, None).await;
    assert!(matches!(never, Err(ReplayError::Disabled)));
    let unheard = room.whole_payment(Environment::Live, false).await;
    let on = WebhookChange {
        is_enabled: Some(true),
        ..WebhookChange::default()
    };
    room.access.update_webhook(webhook.id, on).await.unwrap();
    receiver.behave(Manner::Status(200));
    let (delivered, before) = (receiver.requests().len() + 2, receiver.requests().len());
    room.whole_payment(Environment::Live, true).await;
    receiver.received(delivered).await;
    room.nothing_waits().await;
    receiver.behave(Manner::Status(500));
    room.whole_payment(Environment::Live, true).await;
    receiver.received(delivered + 1).await;
    room.settle().await;

    receiver.behave(Manner::Status(200));
    let only_ends = WebhookChange {
        events: Some(EventFilter::new(vec!["payment.cancelled".to_owned()]).unwrap()),
        ..WebhookChange::default()
    };
    room.access
        .update_webhook(webhook.id, only_ends)
        .await
        .unwrap();
    let done = room.catch_up(&webhook, START).await;
    assert_eq!((done.replayed, done.examined), (2, 4));
    let sent = receiver.received(delivered + 1 + 2).await;
    let replayed: Vec<String> = sent[before..]
        .iter()
        .filter(|request| request.event() == "payment.cancelled")
        .map(|request| request.transaction())
        .collect();
    assert!(replayed.contains(&failed.id.to_string()));
    assert!(replayed.contains(&unheard.id.to_string()));
    // No events since now.
    room.clock.advance(Duration::from_secs(1));
    let now = room.clock.now();
    assert_eq!(room.catch_up(&webhook, now).await.replayed, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn catching_up_goes_on_where_it_was_told_and_knows_its_own_app_only() {
    let room = Room::new().await;
    let mut payments = Vec::new();
    for _ in 0..3 {
        payments.push(room.whole_payment(Environment::Sandbox, false).await.id);
    }
    let live = room.whole_payment(Environment::Live, false).await.id;
    let receiver = Receiver::good().await;
    let webhook = room.webhook(&receiver).await;
    let go_on = |after| room.webhooks.replay_missing(webhook.id, START, Some(after));
    assert_eq!(go_on(live).await.unwrap().examined, 0);
    assert_eq!(go_on(payments[1]).await.unwrap().examined, 2);
    let elsewhere = payment(
        new_app(&room.access).await,
        Environment::Live,
        &room.ids,
        START,
    );
    room.record(None, &elsewhere, Event::Initiated).await;
    for unknown in [elsewhere.id, room.payment().id] {
        assert!(matches!(
            go_on(unknown).await,
            Err(ReplayError::UnknownTransaction)
        ));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replays_of_one_webhook_are_limited_and_those_of_others_are_not() {
    let room = Room::new().await;
    let receiver = Receiver::good().await;
    let (one, other) = (room.webhook(&receiver).await, room.webhook(&receiver).await);
    for _ in 0..switchyard_core::limits::WEBHOOK_REPLAY_CALLS {
        room.webhooks.replay_failed(one.id, START).await.unwrap();
        room.clock.advance(Duration::from_secs(1));
    }
    let refused = room.webhooks.replay_failed(one.id, START).await;
    assert!(
        matches!(refused, Err(ReplayError::TooOften(wait)) if wait == Duration::from_secs(30)),
        "{refused:?}"
    );
    room.webhooks.replay_failed(other.id, START).await.unwrap();
    room.clock.advance(Duration::from_secs(30));
    room.webhooks.replay_failed(one.id, START).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn old_attempts_of_live_deliveries_are_purged_and_the_deliveries_stay() {
    let settings = WebhookSettings {
        live_log: Duration::from_secs(30 * 24 * 3_600),
        ..WebhookSettings::default()
    };
    let room = Room::with(Store::memory(), Clock::manual(START), settings).await;
    let receiver = Receiver::good().await;
    let webhook = room.webhook(&receiver).await;
    let old = room.payment_in(Environment::Live);
    room.announce(&old, EventName::PaymentInitiated).await;
    room.attempted(&webhook, 1).await;
    room.nothing_waits().await;
    room.clock.advance(Duration::from_secs(29 * 24 * 3_600));
    let new = room.payment_in(Environment::Live);
    room.announce(&new, EventName::PaymentInitiated).await;
    room.attempted(&webhook, 2).await;
    room.nothing_waits().await;
    assert_eq!(room.webhooks.purge(START).await.unwrap(), 0);

    room.clock.advance(Duration::from_secs(2 * 24 * 3_600));
    assert_eq!(room.webhooks.purge(START).await.unwrap(), 1);
    let left = room.attempts_at(&webhook).await;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].transaction, new.id);
    let deliveries = room
        .webhooks
        .deliveries(webhook.id, None, 10)
        .await
        .unwrap();
    assert_eq!(deliveries.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_beginning_that_is_sent_again_stays_before_the_end_when_the_clock_is_set_back() {
    let (store, ahead) = (Store::memory(), Clock::manual(START));
    let receiver = Receiver::new(Manner::Status(500)).await;
    let before = Room::with(store.clone(), ahead.clone(), WebhookSettings::default()).await;
    let webhook = before.webhook(&receiver).await;
    let tx = before.begin().await;
    before.attempted(&webhook, 1).await;
    for is_enabled in [false, true] {
        let change = WebhookChange {
            is_enabled: Some(is_enabled),
            ..WebhookChange::default()
        };
        let changed = before.access.update_webhook(webhook.id, change).await;
        changed.unwrap();
        if !is_enabled {
            ahead.advance(Duration::from_secs(3_600));
            before.nothing_waits().await;
        }
    }
    receiver.behave(Manner::Silent);
    let replayed = before.webhooks.replay_failed(webhook.id, START).await;
    assert_eq!(replayed.unwrap().replayed, 1);
    receiver.received(2).await;
    drop(before);

    receiver.behave(Manner::Status(200));
    let clock = Clock::manual(START.plus(Duration::from_secs(60)));
    let room = Room::with(store, clock, WebhookSettings::default()).await;
    room.end(&tx).await;
    receiver.received(3).await;
    room.clock.advance(Duration::from_secs(7_200));
    receiver.received(4).await;
    assert_eq!(
        receiver.events()[2..],
        ["payment.initiated", "payment.cancelled"]
    );
}
