//! Backups of the real program under load: after each one the program is killed, the backup is
//! restored in place of the store, and the held program is checked and released, by the steps of
//! `docs/restore.md`.
//!
//! The merchant of the load repeats no order of the lost span, and repeats some from before it. The
//! promises are in [`verdict`].

mod ends;
mod hold;
mod lists;
mod report;
mod round;
mod table;
mod unknown;
mod verdict;

use std::path::Path;

use anyhow::Context;
use switchyard_progress::{Progress, Unit};
use tokio::time::Instant;

pub use self::table::RestoreFigures;
use super::promises::{Broken, Rule, found_broken};
use super::{Site, callbacks};
use crate::server::Setup;

/// How many backups are restored, and under how much load.
#[derive(Clone, Copy, Debug)]
pub struct Restores {
    pub restores: u32,
    /// Orders a second.
    pub rate: u32,
    /// Largest ratio of the 99th percentile of answer times during a backup to that without one;
    /// `None`: it is printed only.
    pub slowdown_limit: Option<f64>,
}

/// All clients of the load have one address: its limit is raised.
fn one_address(setup: &mut Setup) {
    let limit = ("SWITCHYARD_SERVER__MAX_CONNECTIONS_PER_ADDRESS", "2048");
    setup.settings.push(limit);
}

/// Restores of one store before the next one begins empty. Each backup has the rows of the restores
/// before it.
const RESTORES_OF_A_STORE: u32 = 5;

/// Backs up, kills, restores and releases the program again and again. `programmable`: the library
/// of that gateway.
///
/// # Errors
/// [`Broken`] when a promise was broken. Any other error means that the check could not be
/// completed.
pub async fn run(restores: Restores, programmable: &Path) -> anyhow::Result<RestoreFigures> {
    let began = Instant::now();
    let mut site = None;
    let (mut rounds, mut breaks) = (Vec::new(), Vec::new());
    let total = restores.restores.into();
    let progress = Progress::begin("restore", Some(total), Unit::Things("restores"));
    for number in 0..restores.restores {
        if number % RESTORES_OF_A_STORE == 0 {
            site = Some(Site::open(programmable, one_address).await?);
        }
        let site = site.as_mut().context("a server")?;
        let began = Instant::now();
        let round = round::run(site, number, restores.rate)
            .await
            .with_context(|| format!("restore {}", number + 1))?;
        let took = began.elapsed();
        progress.line(&format!("restore {}: {round} ({took:.0?})", number + 1));
        if !round.breaks.is_empty() {
            progress.line(&Broken(round.breaks.clone()).to_string());
        }
        progress.at(u64::from(number) + 1);
        breaks.extend(round.breaks.iter().cloned());
        rounds.push(round);
    }
    drop(progress);
    let figures = RestoreFigures::of(rounds, restores.rate, began.elapsed());
    if let (Some(limit), Some(ratio)) = (restores.slowdown_limit, figures.slowdown())
        && ratio > limit
    {
        let what = format!("p99 of answers grows {ratio:.1}-fold during a backup, at most {limit}");
        breaks.push(found_broken(Rule::BackupIsQuiet, what));
    }
    if !breaks.is_empty() {
        eprintln!("{figures}");
        return Err(Broken(breaks).into());
    }
    Ok(figures)
}
