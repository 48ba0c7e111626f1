//! A provider that takes every connection and never answers.

use std::collections::BTreeSet;
use std::time::Duration;

use switchyard_tests::sweep::{Fate, Site, through};
use switchyard_tests::{eventually, programmable_gateway};

const OTHERS_GO_ON: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_hangs_leaves_its_own_unknown_and_the_other_connection_unharmed()
-> anyhow::Result<()> {
    let site = Site::open(&programmable_gateway(), |_| ()).await?;
    let figures = through(site, 40, async |site, load| {
        site.provider.hang(Some(0));
        let before: BTreeSet<String> = load.told().made.keys().cloned().collect();
        // Of these some may have been answered just before.
        let known = site.provider.books();
        // Through the other connection transactions begin and end while the first one hangs.
        eventually("the other connection goes on", OTHERS_GO_ON, async || {
            let told = load.told();
            let ended = told.made.iter().filter(|(id, promise)| {
                let success = match id.starts_with("po_") {
                    true => "payout.success",
                    false => "payment.success",
                };
                promise.fate == Fate::Success
                    && !before.contains(*id)
                    && site.inbox.has(id, success)
            });
            Ok((ended.count() >= 40).then_some(()))
        })
        .await?;
        // The outcome at the hanging connection is unknown: no attempt was reported as failed.
        let books = site.provider.books();
        let hanging = books
            .iter()
            .filter(|(reference, entry)| entry.slot == 0 && !known.contains_key(*reference));
        let hanging: BTreeSet<_> = hanging
            .map(|(_, entry)| entry.transaction.clone())
            .collect();
        anyhow::ensure!(!hanging.is_empty(), "nothing came to the one that hangs");
        let merchant = site.server.merchant();
        for id in &hanging {
            let list = if id.starts_with("po_") {
                "payouts"
            } else {
                "payments"
            };
            let shown = merchant
                .get(&format!("/v1/{list}/{id}"))
                .await?
                .expect(200)?;
            let status = shown.data("status")?;
            anyhow::ensure!(
                status == "pending",
                "{id} is {status}, and its provider hangs"
            );
        }
        site.provider.hang(None);
        Ok(())
    })
    .await?;
    println!("{figures}");
    Ok(())
}
