//! Webhooks as a merchant's endpoint sees them, from a real server.

use std::collections::BTreeSet;
use std::time::Duration;

use switchyard_tests::client::payout;
use switchyard_tests::{Delivery, Manner, PAYS, Receiver, Server, Setup, eventually};
use tokio::time::Instant;

const SECRET: &str = "whsec_b2YgdGhlc2UgdGVzdHM=";

/// Ten minutes between attempts are a setting; here it is the shortest that may be set.
fn impatient() -> Setup {
    Setup {
        settings: vec![("SWITCHYARD_WEBHOOK__RETRY_AFTER", "1s")],
        ..Setup::default()
    }
}

/// A payout that succeeds without further action, and so has two events.
async fn pay_out(server: &Server) -> anyhow::Result<String> {
    let answer = server
        .merchant()
        .post("/v1/payouts/initialize", &payout("Salary", PAYS))
        .await?
        .expect(201)?;
    Ok(answer.data("id")?.to_owned())
}

/// Deliveries about this transaction, once `event` was acknowledged.
async fn until_acknowledged(
    receiver: &Receiver,
    id: &str,
    event: &str,
) -> anyhow::Result<Vec<Delivery>> {
    let what = format!("{event} of {id} is acknowledged");
    eventually(&what, Duration::from_secs(40), async || {
        let received: Vec<_> = receiver
            .received()
            .into_iter()
            .filter(|delivery| delivery.id() == id)
            .collect();
        let is_there = received
            .iter()
            .any(|delivery| delivery.event() == event && delivery.was_acknowledged());
        Ok(is_there.then_some(received))
    })
    .await
}

/// `success` comes after `initiated` was acknowledged, or when three seconds have passed since its
/// first attempt (docs/contract/webhooks.md).
fn assert_in_order(received: &[Delivery], began: Instant) {
    let first = |event: &str, acknowledged: bool| {
        let is_it = |delivery: &&Delivery| {
            delivery.event() == event && (delivery.was_acknowledged() || !acknowledged)
        };
        received
            .iter()
            .find(is_it)
            .map(|delivery| delivery.at)
            .expect(event)
    };
    let (initiated, success) = (
        first("payout.initiated", true),
        first("payout.success", false),
    );
    let may_overtake = success - began >= Duration::from_secs(3);
    assert!(
        initiated < success || may_overtake,
        "out of order after {:?}",
        success - began
    );
}

#[tokio::test]
async fn an_endpoint_that_fails_twice_still_gets_everything_in_order() -> anyhow::Result<()> {
    let server = Server::start(impatient()).await?;
    let receiver = Receiver::start().await?;
    server.add_webhook(&receiver.url(), SECRET).await?;
    // 204 is not 200: only 200 acknowledges.
    receiver.next([Manner::Status(503), Manner::Status(204)]);

    let began = Instant::now();
    let id = pay_out(&server).await?;
    let received = until_acknowledged(&receiver, &id, "payout.success").await?;

    assert_in_order(&received, began);
    let (initiated, success): (Vec<_>, Vec<_>) = received
        .iter()
        .partition(|delivery| delivery.event() == "payout.initiated");
    let acknowledged = |of: &[&Delivery]| of.iter().filter(|one| one.was_acknowledged()).count();
    assert_eq!(
        (acknowledged(&initiated), acknowledged(&success)),
        (1, 1),
        "until then, and no more"
    );
    assert_eq!(received.len(), 4, "two failed and two did not");
    assert!(
        received
            .iter()
            .all(|delivery| delivery.is_signed_with(SECRET)),
        "each attempt is signed"
    );
    let ids: BTreeSet<_> = initiated
        .iter()
        .map(|delivery| delivery.header("webhook-id"))
        .collect();
    assert_eq!(
        ids.len(),
        1,
        "an event keeps its id at each attempt: {ids:?}"
    );
    assert!(!ids.contains(success[0].header("webhook-id")));
    let waited = initiated[1].at - initiated[0].at;
    assert!(
        waited >= Duration::from_millis(900),
        "it waits between attempts, here {waited:?}"
    );
    Ok(())
}

#[tokio::test]
async fn an_endpoint_that_is_down_for_two_attempts_misses_nothing() -> anyhow::Result<()> {
    let server = Server::start(impatient()).await?;
    let mut receiver = Receiver::start().await?;
    server.add_webhook(&receiver.url(), SECRET).await?;
    receiver.down().await;

    let began = Instant::now();
    let id = pay_out(&server).await?;
    tokio::time::sleep(Duration::from_millis(1600)).await;
    receiver.up().await?;
    let received = until_acknowledged(&receiver, &id, "payout.success").await?;

    assert_in_order(&received, began);
    let events: BTreeSet<_> = received.iter().map(Delivery::event).collect();
    assert_eq!(
        events.into_iter().collect::<Vec<_>>(),
        ["payout.initiated", "payout.success"]
    );
    Ok(())
}

#[tokio::test]
async fn a_dead_endpoint_delays_nobody_else() -> anyhow::Result<()> {
    let server = Server::start(Setup::default()).await?;
    let (slow, healthy) = (Receiver::start().await?, Receiver::start().await?);
    slow.always(Manner::Slow(Duration::from_secs(60)));
    server.add_webhook(&slow.url(), SECRET).await?;
    server.add_webhook(&healthy.url(), SECRET).await?;

    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(pay_out(&server).await?);
    }
    for id in &ids {
        until_acknowledged(&healthy, id, "payout.success").await?;
    }
    Ok(())
}

#[tokio::test]
async fn what_was_announced_before_a_kill_is_delivered_after_it() -> anyhow::Result<()> {
    let mut server = Server::start(impatient()).await?;
    let mut receiver = Receiver::start().await?;
    server.add_webhook(&receiver.url(), SECRET).await?;
    receiver.down().await;
    let id = pay_out(&server).await?;
    server.kill().await?;
    receiver.up().await?;
    server.up().await?;
    until_acknowledged(&receiver, &id, "payout.success").await?;
    Ok(())
}
