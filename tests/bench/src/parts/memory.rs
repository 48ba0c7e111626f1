//! Resident memory: of payments that wait, and of actors that are up.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use futures_util::StreamExt;

use super::Scale;
use crate::figure::{Bar, Figure, Sheet, Unit};
use crate::subject;

const MEBIBYTE: f64 = 1_048_576.0;

/// Payments that were made in this process and wait for their payers; their actors rest.
pub async fn waiting(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let payments = scale.count(1_000_000, 500);
    let dir = subject::folder()?;
    let bench = subject::start(dir.path()).await?;
    let before = subject::resident_mib()?;
    subject::fill(&bench, payments, 0).await?;
    let after = subject::resident_mib()?;
    let what = format!(
        "resident with {} waiting payments",
        Unit::Count.show(payments as f64)
    );
    sheet.note(&Figure::new(what, after, Unit::Mebibytes).bar(Bar::AtMost(400.0)))?;
    sheet.note(&Figure::new("resident before", before, Unit::Mebibytes))?;
    let each = (after - before).max(0.0) * MEBIBYTE / payments as f64;
    sheet.note(&Figure::new(
        "more for each waiting payment",
        each,
        Unit::Bytes,
    ))
}

/// The payments are made by another process, as after a restart: what their making leaves in memory
/// is no actor's.
pub async fn actors(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let actors = scale.count(100_000, 100);
    let dir = subject::folder()?;
    fill_elsewhere(dir.path(), actors)?;
    let bench = subject::start_with_idle(dir.path(), Duration::from_secs(60 * 60)).await?;
    let ids = subject::stored(bench.engine.store()).await?;
    let before = subject::resident_mib()?;
    // A command that is refused wakes an actor, makes it load its payment, and changes nothing.
    futures_util::stream::iter(ids)
        .for_each_concurrent(256, |id| {
            let engine = bench.engine.clone();
            async move { drop(engine.mark_processed(id).await) }
        })
        .await;
    let after = subject::resident_mib()?;
    let live = bench.engine.live_actors() as u64;
    ensure!(live >= actors, "only {live} of {actors} actors are up");
    let more = after - before;
    let what = format!("more with {} live actors", Unit::Count.show(live as f64));
    sheet.note(&Figure::new(what, more, Unit::Mebibytes).bar(Bar::AtMost(250.0)))?;
    sheet.note(&Figure::new("resident with them", after, Unit::Mebibytes))?;
    let each = more.max(0.0) * MEBIBYTE / live as f64;
    sheet.note(&Figure::new("an actor and its payment", each, Unit::Bytes))
}

/// Fills a store in a process of its own.
pub fn fill_elsewhere(folder: &Path, payments: u64) -> Result<()> {
    let filled = std::process::Command::new(std::env::current_exe()?)
        .arg("fill")
        .arg(folder)
        .arg(payments.to_string())
        .status()?;
    ensure!(filled.success(), "the store was not filled");
    Ok(())
}

/// Fills a store and ends.
pub async fn fill(folder: &Path, payments: u64) -> Result<()> {
    let bench = subject::start(folder).await?;
    subject::fill(&bench, payments, 0).await?;
    bench.engine.stop(Duration::from_secs(10)).await;
    Ok(())
}
