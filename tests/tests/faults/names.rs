//! The resolver does not answer: an attempt that was not sent goes to the next connection, an
//! undelivered notification is sent again.

use std::time::Duration;
use switchyard_tests::sweep::{Site, through};
use switchyard_tests::{eventually, programmable_gateway};

const NEXT_CONNECTION: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_are_not_found_send_money_to_the_next_connection_and_webhooks_later()
-> anyhow::Result<()> {
    let site = Site::open(&programmable_gateway(), |setup| {
        // Ten times five seconds: the names are gone for less.
        setup
            .settings
            .push(("SWITCHYARD_WEBHOOK__RETRY_AFTER", "5s"));
    })
    .await?;
    let figures = through(site, 40, async |site, load| {
        site.world.fail_names(true)?;
        // Connections that were open before need no name.
        site.server.kill().await?;
        site.server.up().await?;
        let before = site.provider.books();
        eventually("the next connection is used", NEXT_CONNECTION, async || {
            let books = site.provider.books();
            let mut new = books.iter().filter(|(one, _)| !before.contains_key(*one));
            anyhow::ensure!(
                new.all(|(_, entry)| entry.slot == 1),
                "the first connection has no address"
            );
            Ok((books.len() >= before.len() + 40).then_some(()))
        })
        .await?;
        load.goes_on(20).await?;
        site.world.fail_names(false)
    })
    .await?;
    println!("{figures}");
    Ok(())
}
