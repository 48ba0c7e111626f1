//! Tests of one delivery: request, retries, log, manual replay.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::receiver::{Manner, Request};
use super::*;
use crate::access::WebhookChange;
use switchyard_system::egress::Failure;

#[tokio::test(flavor = "multi_thread")]
async fn an_event_reaches_every_enabled_webhook_signed_in_both_ways() {
    let room = Room::with(
        Store::memory(),
        Clock::manual(START),
        WebhookSettings {
            extra_signature_headers: vec!["X-Old-Signature".to_owned()],
            ..WebhookSettings::default()
        },
    )
    .await;
    let (one, two, off) = (
        Receiver::good().await,
        Receiver::good().await,
        Receiver::good().await,
    );
    let target = room.webhook(&one).await;
    room.webhook(&two).await;
    let disabled = room.webhook(&off).await;
    disable(&room, &disabled).await;

    let tx = room.begin().await;
    let request = one.received(1).await.remove(0);
    assert_eq!(two.received(1).await[0].body, request.body);
    room.nothing_waits().await;
    assert!(off.requests().is_empty());

    assert_is_signed_in_both_ways(&request);
    assert_eq!(
        request.json()["data"]["event_id"],
        request.headers["webhook-id"]
    );
    assert_eq!(request.transaction(), tx.id.to_string());
    let logged = room.attempted(&target, 1).await.remove(0);
    assert!(logged.acknowledged);
    assert_eq!(logged.addresses, ["127.0.0.1"]);
    let timing = logged.timing;
    assert!(
        timing.connect <= timing.answer && timing.answer <= Some(timing.total),
        "{timing:?}"
    );
    assert!(timing.connect.is_some());
    assert_eq!(logged.response.unwrap().status, 200);
    let delivery = room
        .webhooks
        .delivery(target.id, logged.delivery)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(delivery.status, DeliveryStatus::Delivered);
    assert_eq!(delivery.body.as_bytes(), request.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_down_for_two_attempts_still_gets_everything_in_order() {
    let room = Room::new().await;
    let receiver = Receiver::new(Manner::Status(503)).await;
    let webhook = room.webhook(&receiver).await;
    let tx = room.begin().await;
    room.attempted(&webhook, 1).await;
    room.clock.advance(Duration::from_secs(60));
    room.end(&tx).await;
    room.attempted(&webhook, 2).await;

    // One second before the ten minutes are over.
    room.clock.advance(Duration::from_secs(9 * 60 - 1));
    room.settle().await;
    assert_eq!(room.attempts_at(&webhook).await.len(), 2);

    room.clock.advance(Duration::from_secs(6));
    room.attempted(&webhook, 3).await;
    room.clock.advance(Duration::from_secs(60));
    room.attempted(&webhook, 4).await;

    receiver.behave(Manner::Status(200));
    room.clock.advance(RETRY);
    room.nothing_waits().await;
    let expected = [
        "payment.initiated",
        "payment.cancelled",
        "payment.initiated",
        "payment.cancelled",
        "payment.initiated",
        "payment.cancelled",
    ];
    assert_eq!(receiver.events(), expected);
    let requests = receiver.requests();
    for (first, again) in [(0, 2), (0, 4), (1, 3), (1, 5)] {
        assert_eq!(requests[first].body, requests[again].body);
        assert_eq!(
            requests[first].headers["webhook-id"],
            requests[again].headers["webhook-id"]
        );
    }
    for pair in attempts_of(&room, &webhook, "payment.initiated")
        .await
        .windows(2)
    {
        let apart = pair[1].at.since(pair[0].at);
        assert!(apart >= Duration::from_secs(600), "{apart:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_four_attempts_a_delivery_has_failed_and_can_be_replayed() {
    let room = Room::new().await;
    let receiver = Receiver::new(Manner::Status(500)).await;
    let webhook = room.webhook(&receiver).await;
    room.begin().await;
    for attempt in 1..=4 {
        room.attempted(&webhook, attempt).await;
        room.clock.advance(RETRY);
    }
    room.settle().await;
    assert_eq!(receiver.requests().len(), 4);
    assert_eq!(room.waiting().await, 0);
    let failed = room
        .webhooks
        .deliveries(webhook.id, None, 10)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(failed.status, DeliveryStatus::Failed);
    assert_eq!(failed.attempts, 4);

    receiver.behave(Manner::Status(200));
    room.webhooks.replay(webhook.id, failed.id).await.unwrap();
    let requests = receiver.received(5).await;
    assert_eq!(
        requests[4].headers["webhook-id"],
        requests[0].headers["webhook-id"]
    );
    room.nothing_waits().await;
    let delivered = room
        .webhooks
        .delivery(webhook.id, failed.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(delivered.status, DeliveryStatus::Delivered);
    let none = room
        .webhooks
        .replay_failed(webhook.id, Timestamp::default())
        .await
        .unwrap();
    assert_eq!(none.replayed, 0);
    let unknown = DeliveryId::new(room.ids.ulid(START));
    assert!(matches!(
        room.webhooks.replay(webhook.id, unknown).await,
        Err(ReplayError::NotFound)
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_failed_since_a_time_is_replayed_at_once() {
    let settings = WebhookSettings {
        retries: 0,
        ..WebhookSettings::default()
    };
    let room = Room::with(Store::memory(), Clock::manual(START), settings).await;
    let receiver = Receiver::new(Manner::Status(500)).await;
    let webhook = room.webhook(&receiver).await;
    room.begin().await;
    room.attempted(&webhook, 1).await;
    room.nothing_waits().await;
    room.clock.advance(Duration::from_secs(3_600));
    let since = room.clock.now();
    for _ in 0..20 {
        room.begin().await;
    }
    room.attempted(&webhook, 21).await;
    room.nothing_waits().await;

    receiver.behave(Manner::Status(200));
    let replayed = room
        .webhooks
        .replay_failed(webhook.id, since)
        .await
        .unwrap();
    assert_eq!(
        replayed,
        Replayed {
            replayed: 20,
            has_more: false
        }
    );
    receiver.received(41).await;
    room.nothing_waits().await;
    assert_eq!(receiver.requests().len(), 41);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_200_in_time_counts_and_the_log_says_what_came_instead() {
    let room = Room::new().await;
    let long = "x".repeat(30_000);
    let redirect =
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    let cases = [
        (Manner::Status(201), Failure::Http, Some(201)),
        (Manner::Status(204), Failure::Http, Some(204)),
        (Manner::Says(redirect.to_owned()), Failure::Http, Some(302)),
        (
            Manner::Says(format!(
                "HTTP/1.1 500 No\r\nx-why: because\r\ncontent-length: 30000\r\n\r\n{long}"
            )),
            Failure::Http,
            Some(500),
        ),
        (
            Manner::Says("SSH-2.0-server\r\n".to_owned()),
            Failure::Http,
            None,
        ),
        (Manner::Silent, Failure::Timeout, None),
    ];
    for (manner, failure, status) in cases {
        let receiver = Receiver::new(manner).await;
        let webhook = room.webhook(&receiver).await;
        room.begin().await;
        let attempt = room.attempted(&webhook, 1).await.remove(0);
        assert_eq!(
            (attempt.acknowledged, attempt.failure),
            (false, Some(failure)),
            "{attempt:?}"
        );
        assert_eq!(
            attempt.response.as_ref().map(|response| response.status),
            status
        );
        assert!(attempt.detail.is_some());
        if status == Some(500) {
            let response = attempt.response.unwrap();
            assert_eq!((response.body.len(), response.is_cut), (20_000, true));
            assert!(
                response
                    .headers
                    .contains(&("x-why".to_owned(), "because".to_owned()))
            );
        }
        room.access.delete_webhook(webhook.id).await.unwrap();
    }
    let webhook = room.webhook_at(&Receiver::nobody().await).await;
    room.begin().await;
    assert_eq!(
        room.attempted(&webhook, 1).await[0].failure,
        Some(Failure::Connect)
    );
    room.access.delete_webhook(webhook.id).await.unwrap();
    let webhook = room
        .webhook_at("http://169.254.169.254/latest/meta-data/")
        .await;
    room.begin().await;
    assert_eq!(
        room.attempted(&webhook, 1).await[0].failure,
        Some(Failure::ForbiddenTarget)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_webhook_that_is_switched_off_counts_as_failed_and_can_be_replayed() {
    let room = Room::new().await;
    let receiver = Receiver::new(Manner::Status(500)).await;
    let webhook = room.webhook(&receiver).await;
    room.begin().await;
    room.attempted(&webhook, 1).await;
    disable(&room, &webhook).await;
    room.clock.advance(RETRY);
    room.nothing_waits().await;
    assert_eq!(receiver.requests().len(), 1);
    let failed = room
        .webhooks
        .deliveries(webhook.id, None, 10)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(failed.status, DeliveryStatus::Failed);
    assert!(matches!(
        room.webhooks.replay(webhook.id, failed.id).await,
        Err(ReplayError::Disabled)
    ));

    let on = WebhookChange {
        is_enabled: Some(true),
        ..WebhookChange::default()
    };
    room.access.update_webhook(webhook.id, on).await.unwrap();
    receiver.behave(Manner::Status(200));
    let replayed = room
        .webhooks
        .replay_failed(webhook.id, START)
        .await
        .unwrap();
    assert_eq!(replayed.replayed, 1);
    receiver.received(2).await;
    room.nothing_waits().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_webhook_leaves_nothing_in_the_queue_and_nothing_in_the_log_after_a_purge() {
    let room = Room::new().await;
    let receiver = Receiver::new(Manner::Status(500)).await;
    let webhook = room.webhook(&receiver).await;
    room.begin().await;
    room.attempted(&webhook, 1).await;
    room.access.delete_webhook(webhook.id).await.unwrap();
    room.clock.advance(RETRY);
    room.nothing_waits().await;
    assert_eq!(receiver.requests().len(), 1);
    room.webhooks.purge(Timestamp::default()).await.unwrap();
    assert!(room.attempts_at(&webhook).await.is_empty());
    assert!(
        room.webhooks
            .deliveries(webhook.id, None, 10)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn old_sandbox_logs_are_purged_and_live_ones_never() {
    let room = Room::new().await;
    let receiver = Receiver::good().await;
    let webhook = room.webhook(&receiver).await;
    for environment in [Environment::Sandbox, Environment::Live] {
        let tx = room.payment_in(environment);
        room.announce(&tx, EventName::PaymentInitiated).await;
    }
    room.attempted(&webhook, 2).await;
    room.nothing_waits().await;
    room.clock.advance(Duration::from_secs(24 * 3_600));
    let cut = room.clock.now();
    room.begin().await;
    room.attempted(&webhook, 3).await;
    room.nothing_waits().await;

    assert_eq!(room.webhooks.purge(cut).await.unwrap(), 2);
    let left = room.attempts_at(&webhook).await;
    let environments: Vec<_> = left.iter().map(|attempt| attempt.environment).collect();
    assert_eq!(environments, [Environment::Sandbox, Environment::Live]);
    assert_eq!(
        room.webhooks
            .deliveries(webhook.id, None, 10)
            .await
            .unwrap()
            .len(),
        2
    );
    assert_eq!(room.webhooks.purge(cut).await.unwrap(), 0);
}

/// Verifies the signatures without our own code. The key of the standard scheme is the decoded rest
/// after `whsec_`.
fn assert_is_signed_in_both_ways(request: &Request) {
    use base64::Engine as _;
    let mac = |key: &[u8], message: &[u8]| {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
        mac.update(message);
        mac.finalize().into_bytes().to_vec()
    };
    let header = |name: &str| request.headers[name].clone();
    let hex = base16ct::lower::encode_string(&mac(SECRET.as_bytes(), &request.body));
    assert_eq!(header("x-service-signature"), hex);
    assert_eq!(header("x-old-signature"), hex);
    let base64 = base64::engine::general_purpose::STANDARD;
    let key = base64.decode(&SECRET["whsec_".len()..]).unwrap();
    let signed = [
        format!("{}.{}.", header("webhook-id"), header("webhook-timestamp")).as_bytes(),
        &request.body,
    ]
    .concat();
    assert_eq!(
        header("webhook-signature"),
        format!("v1,{}", base64.encode(mac(&key, &signed)))
    );
    assert_eq!(header("webhook-timestamp"), START.as_seconds().to_string());
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(
        header("user-agent"),
        concat!("Switchyard/", env!("CARGO_PKG_VERSION"))
    );
}

async fn disable(room: &Room, webhook: &Webhook) {
    let off = WebhookChange {
        is_enabled: Some(false),
        ..WebhookChange::default()
    };
    room.access.update_webhook(webhook.id, off).await.unwrap();
}

/// Attempts at one event, oldest first.
async fn attempts_of(room: &Room, webhook: &Webhook, name: &str) -> Vec<Attempt> {
    let mut attempts = room.attempts_at(webhook).await;
    attempts.retain(|attempt| attempt.name.as_str() == name);
    attempts.reverse();
    attempts
}
