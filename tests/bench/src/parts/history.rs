//! Whether one more payment costs more when many are stored.

use std::time::Duration;

use anyhow::Result;

use super::{Scale, initialize};
use crate::figure::{Bar, Figure, Sheet, Unit, median};
use crate::load::{CLIENTS, Load, Request, closed};
use crate::{bare, subject};

const FEW: u64 = 10_000;
const MANY: u64 = 1_000_000;

pub async fn measure(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let (few, many) = (scale.count(FEW, 50), scale.count(MANY, 500));
    let dir = subject::folder()?;
    let bench = subject::start(dir.path()).await?;
    let address = bare::serve(subject::router(&bench)).await?;
    let work = initialize::work(address, bench.keys.sandbox_secret_key.expose());
    // Warm up, on the payments that count as the few.
    closed(&work, CLIENTS, scale.time(Duration::from_secs(1))).await?;
    let stored = bench.engine.store().stats().commits;
    subject::fill(&bench, few.saturating_sub(stored), 0).await?;
    let young = rounds(&work, scale).await?;
    let stored = bench.engine.store().stats().commits;
    subject::fill(&bench, many.saturating_sub(stored), few).await?;
    let old = rounds(&work, scale).await?;
    let per_second = |loads: &[Load]| median(loads.iter().map(Load::per_second).collect());
    let (young, old) = (per_second(&young), per_second(&old));
    let what = format!("initialize with {} stored", Unit::Count.show(many as f64));
    let limit = format!("with {}", Unit::Count.show(few as f64));
    let figure = Figure::new(what, old, Unit::PerSecond);
    sheet.note(
        &figure
            .beside(&limit, young, old / young)
            .bar(Bar::RatioAtLeast(0.8)),
    )
}

/// The rounds cannot be made in turns, so there are more of them, and shorter ones.
async fn rounds(work: &Request, scale: Scale) -> Result<Vec<Load>> {
    let mut loads = Vec::new();
    for _ in 0..scale.count(5, 1) {
        loads.push(closed(work, CLIENTS, scale.time(Duration::from_secs(2))).await?);
    }
    Ok(loads)
}
