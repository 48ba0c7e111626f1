//! A crash at every step of a flow: the process dies before and after each flush of its store, and
//! when each of its requests arrives outside; it is started again; and in the end everything is as
//! if it had never died.
//!
//! A flow is what clients do. They do it again after the restart, with the same keys, as clients do
//! who got no answer:
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use switchyard_tests::crash::every_step;
//!
//! every_step(async |life| {
//!     let id = life.payout("salary", "ok ok").await?;
//!     println!("{id} is accepted");
//!     Ok(())
//! })
//! .await?;
//! # Ok(())
//! # }
//! ```
//!
//! Time is a clock that the helper turns, so nothing here waits for a schedule.

mod end;
mod life;
mod outside;

use std::time::Duration;

use anyhow::Context;
use switchyard_store::CrashPoint;

pub use self::end::End;
pub use self::life::Life;
use self::outside::{Arrival, Outside};

/// Point at which a process crashes.
#[derive(Clone, Copy, Debug)]
enum Point {
    Nowhere,
    Flush(CrashPoint),
    Arrival(Arrival),
}

/// How many points were tried.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tried {
    pub flushes: u64,
    pub arrivals: u64,
}

/// Runs `flow` without a crash, and then once for each point at which the process can die.
///
/// # Errors
/// The point at which a crash made a difference, and which.
pub async fn every_step(
    flow: impl AsyncFn(&Life<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<Tried> {
    let mut outside = Outside::set_up().await?;
    let begin = outside.disk.copy();
    let mut run = async |point: Point, wanted: Option<&End>| {
        outside.rewind(&begin)?;
        let history = history(&outside, &flow, point, wanted).await;
        history.with_context(|| format!("the process died at {point:?}"))
    };
    let (unharmed, _) = run(Point::Nowhere, None).await?;
    let mut tried = Tried::default();
    for flush in 1.. {
        let mut died = false;
        for death in [CrashPoint::Before(flush), CrashPoint::After(flush)] {
            died |= run(Point::Flush(death), Some(&unharmed)).await?.1;
        }
        if !died {
            break;
        }
        tried.flushes += 1;
    }
    for arrival in 1.. {
        let mut died = false;
        for at in [Arrival::Lost(arrival), Arrival::Done(arrival)] {
            died |= run(Point::Arrival(at), Some(&unharmed)).await?.1;
        }
        if !died {
            break;
        }
        tried.arrivals += 1;
    }
    anyhow::ensure!(tried.flushes > 0, "the flow stores nothing");
    Ok(tried)
}

/// Runs one history to its end, and returns whether the process crashed at that point: if it did
/// not, the flow has fewer steps. `wanted`: the required end.
async fn history(
    outside: &Outside,
    flow: &impl AsyncFn(&Life<'_>) -> anyhow::Result<()>,
    point: Point,
    wanted: Option<&End>,
) -> anyhow::Result<(End, bool)> {
    let mut died = false;
    if let Some(life) = Life::begin(outside, point).await? {
        let lived = life.lives(async || {
            flow(&life).await?;
            settle(&life, wanted).await
        });
        let end = lived.await?;
        died = life.is_dead();
        life.end().await;
        if let Some(end) = end
            && !died
        {
            return Ok((end, false));
        }
    }
    anyhow::ensure!(
        died || !matches!(point, Point::Nowhere),
        "it died by itself"
    );
    let life = Life::begin(outside, Point::Nowhere).await?;
    let life = life.context("the second life begins")?;
    flow(&life).await.context("clients do it again")?;
    let end = settle(&life, wanted).await?;
    life.end().await;
    Ok((end, true))
}

/// Turns the clock until all is at rest, and stays so.
async fn settle(life: &Life<'_>, wanted: Option<&End>) -> anyhow::Result<End> {
    let mut seen = life.see().await?;
    let mut unchanged = 0;
    for _ in 0..TURNS {
        life.outside.clock.advance(TURN);
        tokio::time::sleep(MOMENT).await;
        let now = life.see().await?;
        let at_rest = now.is_at_rest() && wanted.is_none_or(|wanted| *wanted == now);
        unchanged = match at_rest && now == seen {
            true => unchanged + 1,
            false => 0,
        };
        seen = now;
        let enough = match wanted {
            Some(_) => STAYS,
            None => STAYS_UNHARMED,
        };
        if unchanged >= enough {
            return Ok(seen);
        }
    }
    let told = life.tell().await?;
    match wanted {
        Some(wanted) => {
            anyhow::bail!("it should come to {wanted:#?}\nand is at {seen:#?}\n{told}")
        }
        None => anyhow::bail!("it does not come to rest: {seen:#?}\n{told}"),
    }
}

/// Step by which the clock advances: less than any interval that could be overslept.
const TURN: Duration = Duration::from_secs(2);
/// How long everything has for what needs no clock.
const MOMENT: Duration = Duration::from_millis(4);
/// A net: well over the time after which a provider's "not found" is believed.
const TURNS: usize = 1_500;
/// How many turns nothing may change: a second webhook or charge would come by then.
const STAYS: usize = 5;
const STAYS_UNHARMED: usize = 40;
