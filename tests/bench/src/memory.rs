//! Resident memory: of payments that wait, and of actors that are up.

use anyhow::Result;
use futures_util::StreamExt;
use switchyard_engine::ids::{PaymentId, TransactionId};
use switchyard_engine::store::{Direction, Store, Table};
use ulid::Ulid;

use crate::subject;

pub async fn waiting(payments: u64) -> Result<()> {
    let dir = tempfile::tempdir_in(".")?;
    let bench = subject::start(dir.path()).await?;
    let before = subject::resident_mib()?;
    subject::fill(&bench, payments, 0).await?;
    println!("memory of waiting payments");
    println!("  before                            {before:>8.0} MiB");
    println!(
        "  with {payments:>9} waiting payments   {:>8.0} MiB  (bar for a million: 400 MiB)",
        subject::resident_mib()?
    );
    println!(
        "  actors up                         {:>8}",
        bench.engine.live_actors()
    );
    Ok(())
}

/// The payments are made by another process, as after a restart: what their making leaves in memory is no actor's.
pub async fn actors(actors: u64) -> Result<()> {
    let dir = tempfile::tempdir_in(".")?;
    let filled = std::process::Command::new(std::env::current_exe()?)
        .arg("fill")
        .arg(dir.path())
        .arg(actors.to_string())
        .status()?;
    anyhow::ensure!(filled.success(), "the store was not filled");
    let bench =
        subject::start_with_idle(dir.path(), std::time::Duration::from_secs(60 * 60)).await?;
    let ids = stored(&bench.engine.store).await?;
    let before = subject::resident_mib()?;
    // A command that is refused wakes an actor, makes it load its payment, and changes nothing.
    futures_util::stream::iter(ids)
        .for_each_concurrent(256, |id| {
            let engine = bench.engine.clone();
            async move { drop(engine.mark_processed(id).await) }
        })
        .await;
    let after = subject::resident_mib()?;
    println!("memory of live actors");
    println!("  without actors                    {before:>8.0} MiB");
    println!(
        "  with {:>9} actors up          {after:>8.0} MiB  (bar for the actors of 100,000: 250 MiB)",
        bench.engine.live_actors()
    );
    println!(
        "  an actor and its payment          {:>8.0} bytes",
        (after - before) * 1_048_576.0 / actors as f64
    );
    Ok(())
}

/// Fills a store and ends.
pub async fn fill(folder: &std::path::Path, payments: u64) -> Result<()> {
    let bench = subject::start(folder).await?;
    subject::fill(&bench, payments, 0).await?;
    bench.engine.stop(std::time::Duration::from_secs(10)).await;
    Ok(())
}

/// The ids of all transactions that wait, from their timers: a moment, a letter for the kind, and the id's sixteen bytes.
async fn stored(store: &Store) -> Result<Vec<TransactionId>> {
    const PAGE: usize = 1_000;
    let (mut ids, mut from) = (Vec::new(), Vec::new());
    loop {
        let page = store
            .scan(
                Table::Timer,
                &from,
                &[u8::MAX; 32],
                Direction::Forward,
                PAGE,
            )
            .await?;
        for (key, _) in &page {
            let id = key.get(9..).unwrap_or_default().try_into()?;
            ids.push(TransactionId::Payment(PaymentId::new(Ulid::from_bytes(id))));
        }
        match page.last() {
            Some((last, _)) if page.len() == PAGE => from = [last.as_slice(), &[0]].concat(),
            _ => return Ok(ids),
        }
    }
}
