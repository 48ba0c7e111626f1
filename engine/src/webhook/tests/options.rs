//! Options of a webhook (events, schedule, rate) and requests of the receiver (`Retry-After`, 410).

use super::receiver::Manner;
use super::*;
use crate::access::{EventFilter, RetryProfile, WebhookChange};
use switchyard_system::egress::Failure;

#[tokio::test(flavor = "multi_thread")]
async fn events_that_a_webhook_does_not_hear_are_not_sent_and_hold_up_none_that_it_does() {
    let room = Room::new().await;
    let (all, ends) = (Receiver::good().await, Receiver::good().await);
    room.webhook(&all).await;
    let filter = EventFilter::new(vec!["payment.cancelled".to_owned(), "payout.*".to_owned()]);
    let options = WebhookOptions {
        events: filter.unwrap(),
        ..WebhookOptions::default()
    };
    room.webhook_with(&ends, options).await;
    let tx = room.begin().await;
    room.end(&tx).await;
    ends.received(1).await;
    all.received(2).await;
    room.nothing_waits().await;
    assert_eq!(ends.events(), ["payment.cancelled"]);
    assert_eq!(all.events(), ["payment.initiated", "payment.cancelled"]);
    assert_eq!(
        all.requests()[1].headers["webhook-id"],
        ends.requests()[0].headers["webhook-id"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_stays_when_the_filter_changes_between_two_events() {
    let room = Room::new().await;
    let receiver = Receiver::new(Manner::Status(500)).await;
    let webhook = room.webhook(&receiver).await;
    let tx = room.begin().await;
    room.attempted(&webhook, 1).await;
    let ends = EventFilter::new(vec!["payment.cancelled".to_owned()]).unwrap();
    let change = WebhookChange {
        events: Some(ends),
        ..WebhookChange::default()
    };
    room.access
        .update_webhook(webhook.id, change)
        .await
        .unwrap();
    room.end(&tx).await;
    room.settle().await;
    // The first one was enqueued before the change: the end waits three seconds for it.
    assert_eq!(receiver.events(), ["payment.initiated"]);
    room.clock.advance(Duration::from_secs(3));
    receiver.received(2).await;
    receiver.behave(Manner::Status(200));
    room.clock.advance(RETRY);
    room.nothing_waits().await;
    assert_eq!(receiver.requests().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_with_its_own_schedule_is_tried_by_it() {
    let room = Room::new().await;
    let receiver = Receiver::new(Manner::Status(500)).await;
    let options = WebhookOptions {
        retry: RetryProfile::Custom {
            delays: vec![30, 7_200],
        },
        ..WebhookOptions::default()
    };
    let webhook = room.webhook_with(&receiver, options).await;
    room.begin().await;
    for (made, pause) in [(1, 30), (2, 7_200)] {
        room.attempted(&webhook, made).await;
        room.clock.advance(Duration::from_secs(pause - 1));
        room.settle().await;
        assert_eq!(room.attempts_at(&webhook).await.len(), made, "early");
        room.clock.advance(Duration::from_secs(1 + 5));
    }
    room.attempted(&webhook, 3).await;
    room.nothing_waits().await;
    let failed = room
        .webhooks
        .deliveries(webhook.id, None, 10)
        .await
        .unwrap();
    assert_eq!(failed[0].status, DeliveryStatus::Failed);
    assert_eq!(failed[0].attempts, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_asks_for_time_gets_it_unless_its_schedule_is_the_default() {
    let busy = "HTTP/1.1 429 Busy\r\nRetry-After: 3600\r\ncontent-length: 0\r\n\r\n";
    for (retry, waits) in [(RetryProfile::Standard, 3_600), (RetryProfile::Spec, 600)] {
        let room = Room::new().await;
        let receiver = Receiver::new(Manner::Says(busy.to_owned())).await;
        let options = WebhookOptions {
            retry,
            ..WebhookOptions::default()
        };
        let webhook = room.webhook_with(&receiver, options).await;
        room.begin().await;
        room.attempted(&webhook, 1).await;
        let waiting = room.webhooks.deliveries(webhook.id, None, 1).await.unwrap();
        let next = waiting[0].next_attempt_at.unwrap();
        let after = next.since(START).as_secs();
        assert!((waits..=waits + 5).contains(&after), "{after} s");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn by_the_default_schedule_410_is_a_failure_like_any_other() {
    let room = Room::new().await;
    let receiver = Receiver::new(Manner::Status(410)).await;
    let webhook = room.webhook(&receiver).await;
    let tx = room.begin().await;
    room.attempted(&webhook, 1).await;
    receiver.behave(Manner::Status(200));
    assert!(room.access.webhook(webhook.id).unwrap().is_enabled);
    room.clock.advance(RETRY);
    room.end(&tx).await;
    receiver.received(3).await;
    room.nothing_waits().await;
    let events = receiver.events();
    assert_eq!(events[..2], ["payment.initiated", "payment.initiated"]);
    assert_eq!(events[2], "payment.cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_gone_switches_its_webhook_off_and_the_backlog_is_kept() {
    let room = Room::new().await;
    let receiver = Receiver::new(Manner::Status(410)).await;
    let options = WebhookOptions {
        retry: RetryProfile::Standard,
        ..WebhookOptions::default()
    };
    let webhook = room.webhook_with(&receiver, options).await;
    let mut targets = Vec::new();
    for _ in 0..5 {
        let tx = room.payment();
        let (_, queued) = room.store_only(&tx, EventName::PaymentInitiated).await;
        targets.extend(queued);
    }
    room.webhooks.nudge(&targets);
    room.attempted(&webhook, 1).await;
    room.nothing_waits().await;
    let off = room.access.webhook(webhook.id).unwrap();
    assert!(!off.is_enabled);
    let disabled = off.disabled.clone().unwrap();
    assert_eq!(disabled.at, START);
    assert!(disabled.why.contains("410"), "{}", disabled.why);
    let backlog = room
        .webhooks
        .deliveries(webhook.id, None, 10)
        .await
        .unwrap();
    assert_eq!(backlog.len(), 5);
    for delivery in &backlog {
        assert_eq!(delivery.status, DeliveryStatus::Failed);
    }
    let asked = receiver.requests().len();
    assert!(asked < 5, "a receiver that is gone was asked {asked} times");

    receiver.behave(Manner::Status(200));
    let on = WebhookChange {
        is_enabled: Some(true),
        ..WebhookChange::default()
    };
    let on = room.access.update_webhook(webhook.id, on).await.unwrap();
    assert_eq!(on.disabled, None);
    let replayed = room
        .webhooks
        .replay_failed(webhook.id, START)
        .await
        .unwrap();
    assert_eq!(replayed.replayed, 5);
    receiver.received(asked + 5).await;
    room.nothing_waits().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_points_elsewhere_by_now_is_not_switched_off_by_the_old_receiver() {
    let room = Room::new().await;
    let webhook = room.webhook_at("http://old.example/").await;
    let change = WebhookChange {
        url: Some("http://new.example/".to_owned()),
        ..WebhookChange::default()
    };
    room.access
        .update_webhook(webhook.id, change)
        .await
        .unwrap();
    let disable = |url| {
        room.access
            .disable_webhook(webhook.id, url, "gone".to_owned())
    };
    assert!(!disable("http://old.example/").await.unwrap());
    assert!(room.access.webhook(webhook.id).unwrap().is_enabled);
    assert!(disable("http://new.example/").await.unwrap());
    assert!(!disable("http://new.example/").await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_gets_no_more_requests_a_second_than_it_allows() {
    let room = Room::new().await;
    let receiver = Receiver::good().await;
    let options = WebhookOptions {
        per_second: Some(2),
        ..WebhookOptions::default()
    };
    let webhook = room.webhook_with(&receiver, options).await;
    for _ in 0..4 {
        room.begin().await;
    }
    for sent in 1..=3 {
        room.attempted(&webhook, sent).await;
        room.settle().await;
        assert_eq!(receiver.requests().len(), sent, "too fast");
        room.clock.advance(Duration::from_millis(500));
    }
    room.attempted(&webhook, 4).await;
    room.nothing_waits().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_gets_no_more_requests_at_a_time_than_it_allows() {
    let room = Room::with(Store::memory(), Clock::wall(), WebhookSettings::default()).await;
    let receiver = Receiver::good().await;
    let options = WebhookOptions {
        concurrency: Some(2),
        ..WebhookOptions::default()
    };
    let webhook = room.webhook_with(&receiver, options).await;
    room.begin().await;
    room.attempted(&webhook, 1).await;
    room.nothing_waits().await;
    receiver.behave(Manner::Silent);
    for _ in 0..10 {
        room.begin().await;
    }
    receiver.received(3).await;
    room.settle().await;
    assert_eq!(receiver.requests().len(), 3);
    let attempts = room.attempted(&webhook, 2).await;
    assert_eq!(attempts[0].failure, Some(Failure::Timeout));
}
