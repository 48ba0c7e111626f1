//! Webhooks as a merchant's endpoint sees them, from a real server.

use std::time::Duration;

use switchyard_tests::client::payout;
use switchyard_tests::{Delivery, Manner, PAYS, Receiver, Server, Setup, eventually};

const SECRET: &str = "whsec_of_these_tests";

/// Ten minutes between attempts are a setting; here it is the shortest that may be set.
fn impatient() -> Setup {
    Setup {
        settings: vec![("SWITCHYARD_WEBHOOK__RETRY_AFTER", "1s")],
        ..Setup::default()
    }
}

/// A payout that succeeds by itself, and so has two events.
async fn pay_out(server: &Server) -> anyhow::Result<String> {
    let answer = server
        .merchant()
        .post("/v1/payouts/initialize", &payout("Salary", PAYS))
        .await?
        .expect(201)?;
    Ok(answer.data("id")?.to_owned())
}

/// What came about this transaction, once `event` was acknowledged.
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

#[tokio::test]
async fn an_endpoint_that_fails_twice_still_gets_everything_in_order() -> anyhow::Result<()> {
    let server = Server::start(impatient()).await?;
    let receiver = Receiver::start().await?;
    server.add_webhook(&receiver.url(), SECRET).await?;
    // 204 is not 200: only 200 acknowledges.
    receiver.next([Manner::Status(503), Manner::Status(204)]);

    let id = pay_out(&server).await?;
    let received = until_acknowledged(&receiver, &id, "payout.success").await?;

    let events: Vec<_> = received
        .iter()
        .map(|delivery| (delivery.event(), delivery.was_acknowledged()))
        .collect();
    let expected = [
        ("payout.initiated", false),
        ("payout.initiated", false),
        ("payout.initiated", true),
        ("payout.success", true),
    ];
    assert_eq!(
        events,
        expected.map(|(event, acknowledged)| (event.to_owned(), acknowledged))
    );
    assert!(
        received
            .iter()
            .all(|delivery| delivery.is_signed_with(SECRET)),
        "each attempt is signed"
    );
    let ids: Vec<_> = received
        .iter()
        .map(|delivery| delivery.header("webhook-id"))
        .collect();
    assert!(
        ids[0] == ids[1] && ids[1] == ids[2] && ids[2] != ids[3],
        "an event keeps its id at each attempt: {ids:?}"
    );
    assert!(
        received[1].at - received[0].at >= Duration::from_millis(900),
        "it waits between attempts"
    );
    Ok(())
}

#[tokio::test]
async fn an_endpoint_that_is_down_for_two_attempts_misses_nothing() -> anyhow::Result<()> {
    let server = Server::start(impatient()).await?;
    let mut receiver = Receiver::start().await?;
    server.add_webhook(&receiver.url(), SECRET).await?;
    receiver.down().await;

    let id = pay_out(&server).await?;
    tokio::time::sleep(Duration::from_millis(1600)).await;
    receiver.up().await?;
    let received = until_acknowledged(&receiver, &id, "payout.success").await?;

    let events: Vec<_> = received.iter().map(Delivery::event).collect();
    assert_eq!(events, ["payout.initiated", "payout.success"]);
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
