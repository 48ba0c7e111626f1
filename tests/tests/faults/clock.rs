//! The clock is set while the program runs, an hour forward or back.

use std::time::Duration;

use switchyard_tests::client::payment;
use switchyard_tests::sweep::{Site, through};
use switchyard_tests::{Delivery, Manner, Receiver, eventually, programmable_gateway};

const HOUR: i64 = 3_600;
/// Some questions of the schedule, and much less than an hour.
const SOON: Duration = Duration::from_secs(120);
const RETRY_AFTER: Duration = Duration::from_secs(4);
const COMES_WITHIN: Duration = Duration::from_secs(60);

/// The load has unknown outcomes, which are queried after five seconds: with a clock that went back
/// an hour the queries would be an hour late.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_an_hour_back_and_forth_loses_no_timer() -> anyhow::Result<()> {
    let site = Site::open(&programmable_gateway(), |_| ()).await?;
    let figures = through(site, 40, async |site, load| {
        for seconds in [-HOUR, HOUR, 0] {
            site.world.set_clock(seconds)?;
            load.goes_on(60).await?;
        }
        // The clock stays set: timers wait for their original duration.
        site.world.set_clock(-HOUR)
    })
    .await?;
    println!("{figures}");
    let (left, waited) = figures.scheduled;
    anyhow::ensure!(
        waited <= SOON,
        "{left} were asked about as late as {waited:?} after all else had ended"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_forward_expires_nothing_and_brings_no_retry_forward()
-> anyhow::Result<()> {
    let site = Site::open(&programmable_gateway(), |setup| {
        setup.settings.extend([
            ("SWITCHYARD_WEBHOOK__RETRY_AFTER", "4s"),
            ("SWITCHYARD_PAYMENT__EXPIRES_AFTER", "30min"),
        ]);
    })
    .await?;
    let receiver = Receiver::start().await?;
    receiver.next([Manner::Status(500), Manner::Status(500)]);
    site.server
        .add_webhook(&receiver.url(), "whsec_b2YgdGhlIG90aGVy")
        .await?;
    let merchant = site.server.merchant();
    let made = merchant
        .post("/v1/payments/initialize", &payment("ok ok"))
        .await?
        .expect(201)?;
    tried(&receiver, 1).await?;
    site.world.set_clock(HOUR)?;
    tried(&receiver, 2).await?;
    site.world.set_clock(2 * HOUR)?;
    let received = tried(&receiver, 3).await?;
    for pair in received.windows(2) {
        let pause = pair[1].at - pair[0].at;
        anyhow::ensure!(pause >= RETRY_AFTER, "tried again after {pause:?}");
    }
    // Two hours later by the wall, a minute by any other clock: it can still be paid.
    let path = format!("/v1/payments/{}", made.data("id")?);
    let shown = merchant.get(&path).await?.expect(200)?;
    anyhow::ensure!(shown.data("status")? == "initiated", "{}", shown.body);
    Ok(())
}

/// Everything that came, once so many deliveries did.
async fn tried(receiver: &Receiver, count: usize) -> anyhow::Result<Vec<Delivery>> {
    eventually("the webhook was tried", COMES_WITHIN, async || {
        let received = receiver.received();
        Ok((received.len() >= count).then_some(received))
    })
    .await
}
