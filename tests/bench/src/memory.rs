//! Resident memory: of payments that wait, and of actors that are up.

use anyhow::Result;
use futures_util::StreamExt;

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

pub async fn actors(actors: u64) -> Result<()> {
    let dir = tempfile::tempdir_in(".")?;
    let bench =
        subject::start_with_idle(dir.path(), std::time::Duration::from_secs(60 * 60)).await?;
    let (sender, ids) = std::sync::mpsc::channel();
    subject::fill_and(&bench, actors, 0, move |id| {
        sender.send(id).unwrap_or_default()
    })
    .await?;
    let ids: Vec<_> = ids.into_iter().collect();
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
