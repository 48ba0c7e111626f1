//! A crash at every step: before and after each flush, and at each request that arrives outside. In
//! the end everything is as if the process had never died.

#![expect(clippy::print_stdout, reason = "progress of a long test")]

use switchyard_tests::crash::{Tried, every_step};
use switchyard_tests::programmable_as;

fn report(what: &str, tried: Tried) {
    println!(
        "{what}: a crash before and after each of {} flushes, and at each of {} requests",
        tried.flushes, tried.arrivals
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_with_its_webhooks_and_mails_survives_a_crash_at_every_step() -> anyhow::Result<()>
{
    let tried = every_step(async |life| {
        let id = life.payment("teapot", "ok ok").await?;
        life.pay(&id).await
    })
    .await?;
    report("payment", tried);
    Ok(())
}

/// A crash between the journal and the first byte of the second attempt ends it as not sent, after
/// the first one was declined: the payment continues, and its payer need not start again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_goes_on_to_the_next_connection_survives_a_crash_at_every_step()
-> anyhow::Result<()> {
    let tried = every_step(async |life| {
        let id = life.payment("teapot", "busy ok").await?;
        life.pay(&id).await
    })
    .await?;
    report("payment over two connections", tried);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_that_goes_on_to_the_next_connection_survives_a_crash_at_every_step()
-> anyhow::Result<()> {
    let tried = every_step(async |life| {
        life.payout("salary", "busy ok").await?;
        Ok(())
    })
    .await?;
    report("payout over two connections", tried);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_is_declined_survives_a_crash_at_every_step() -> anyhow::Result<()> {
    let tried = every_step(async |life| {
        let id = life.payment("teapot", "no no").await?;
        life.pay(&id).await
    })
    .await?;
    report("declined payment", tried);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_survives_a_crash_at_every_step() -> anyhow::Result<()> {
    let tried = every_step(async |life| {
        life.payout("salary", "ok ok").await?;
        Ok(())
    })
    .await?;
    report("payout", tried);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_whose_answer_is_lost_survives_a_crash_at_every_step() -> anyhow::Result<()> {
    let tried = every_step(async |life| {
        life.payout("salary", "lost_done ok").await?;
        Ok(())
    })
    .await?;
    report("payout in doubt", tried);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_of_a_gateway_between_two_payouts_survives_a_crash_at_every_step()
-> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let next = programmable_as(folder.path(), 7)?;
    let tried = every_step(async |life| {
        life.payout("before", "lost_done ok").await?;
        life.upgrade(&next).await?;
        life.payout("after", "ok ok").await?;
        Ok(())
    })
    .await?;
    report("upgrade", tried);
    Ok(())
}
