//! Webhooks: how many go out to 1, 100 and 10,000 receivers, a tenth of them dead, beside bare
//! reqwest; how long healthy receivers wait while a tenth is dead and a tenth slow; and whether a
//! retry is ever early.

mod bare;
mod receivers;
mod world;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
pub use receivers::serve;
use switchyard_core::time::Timestamp;
use switchyard_engine::access::RetryProfile;
use switchyard_engine::webhook::WebhookSettings;
use switchyard_system::clock::Clock;
use tokio::time::Instant;

use self::receivers::{DEAD, GOOD, REFUSING, SLOW};
use self::world::{TOGETHER, World};
use super::Scale;
use crate::figure::{Bar, Figure, Sheet, Unit, median};
use crate::subject;

/// Events offered a second.
const OFFERED: u64 = 1_000;
const OFFERING: Duration = Duration::from_secs(60);
/// Pauses between attempts in seconds: the shortest that a merchant may choose, as many as there
/// are by default. So all the retries of nearly every event at a dead receiver come while others
/// are offered.
const SHORTEST: [u32; 3] = [1; 3];
/// Between two attempts, where retries are measured.
const INTERVAL: Duration = Duration::from_secs(2);
/// Longer than anything here should take.
const PATIENCE: Duration = Duration::from_secs(60);

pub async fn measure(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    delay(scale, sheet).await?;
    retries(scale, sheet).await?;
    for receivers in [1, 100, scale.count(10_000, 200)] {
        backlog(usize::try_from(receivers)?, scale, sheet).await?;
    }
    Ok(())
}

/// Rate at which a backlog is delivered, with a tenth of the receivers dead.
async fn backlog(count: usize, scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let manner = |number| if number % 10 == 9 { DEAD } else { GOOD };
    let dir = subject::folder()?;
    let (settings, retry) = (WebhookSettings::default(), RetryProfile::Spec);
    let mut world = World::start(dir.path(), count, settings, retry, manner).await?;
    let events = usize::try_from(scale.count(10_000, 100))?;
    let (mut ours, mut limits, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..scale.count(3, 1) {
        let (begun, good) = (Instant::now(), events - events / 10);
        bare::send(&world.good(), world.body(), good).await?;
        arrived(&mut world, good).await?;
        let limit = good as f64 / begun.elapsed().as_secs_f64();
        let put = world.put(events).await?;
        let begun = Instant::now();
        world.bench.engine.webhooks().nudge(&put.queued);
        arrived(&mut world, put.good).await?;
        let rate = put.good as f64 / begun.elapsed().as_secs_f64();
        ours.push(rate);
        limits.push(limit);
        ratios.push(rate / limit);
    }
    let receivers = Unit::Count.show(count as f64);
    // Of a single one no tenth is dead.
    let what = match count {
        1 => "webhooks to 1 receiver".to_owned(),
        _ => format!("webhooks to {receivers} receivers, a tenth dead"),
    };
    let figure = Figure::new(what, median(ours), Unit::PerSecond);
    sheet.note(&figure.beside("bare reqwest", median(limits), median(ratios)))
}

async fn arrived(world: &mut World, count: usize) -> Result<()> {
    for number in 0..count {
        let next = world.receivers.next(PATIENCE).await;
        next.with_context(|| format!("only {number} of {count} webhooks came"))?;
    }
    Ok(())
}

/// How long good receivers wait at a steady rate, a tenth of all dead and a tenth slow.
async fn delay(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let count = usize::try_from(scale.count(10_000, 100))?;
    let manner = |number| match number % 10 {
        9 => DEAD,
        8 => SLOW,
        _ => GOOD,
    };
    let dir = subject::folder()?;
    let (settings, delays) = (WebhookSettings::default(), SHORTEST.to_vec());
    let retry = RetryProfile::Custom { delays };
    let mut world = World::start(dir.path(), count, settings, retry, manner).await?;
    let (begun, begun_at) = (Instant::now(), Clock::wall().now());
    let (mut due, mut at_dead) = (BTreeMap::new(), 0);
    let together = TOGETHER as u64;
    let steps = scale.time(OFFERING).as_millis() as u64 * OFFERED / 1_000 / together;
    for step in 0..steps {
        let at = Duration::from_secs_f64((step * together) as f64 / OFFERED as f64);
        tokio::time::sleep_until(begun + at).await;
        let put = world.put(TOGETHER).await?;
        world.bench.engine.webhooks().nudge(&put.queued);
        at_dead += put.dead;
        // When it was to be made, not when it was: a commit before it that takes long makes it
        // late.
        let due_at = begun_at.plus(at);
        due.extend(put.events.into_iter().map(|event| (event, due_at)));
    }
    let offered = (steps * together) as f64 / begun.elapsed().as_secs_f64();
    let retries = world.receivers.attempts_at_dead().saturating_sub(at_dead);
    let mut delays = Vec::with_capacity(due.len());
    while !due.is_empty() {
        let Some(arrival) = world.receivers.next(PATIENCE).await else {
            break;
        };
        // An earlier arrival is a retry: its delay counts once.
        if let Some(due_at) = due.remove(&arrival.event) {
            delays.push(arrival.at.since(due_at));
        }
    }
    let what = format!(
        "webhooks to {} receivers, a tenth dead, a tenth slow",
        Unit::Count.show(count as f64)
    );
    let retries = retries as f64 / (count as f64 / 10.0);
    for (name, value, unit) in [
        ("offered", offered, Unit::PerSecond),
        (
            "retries at each of the dead meanwhile",
            retries,
            Unit::Count,
        ),
    ] {
        sheet.note(&Figure::new(format!("{what}: {name}"), value, unit))?;
    }
    shares(&what, delays, sheet)?;
    let lost = Figure::new(
        "healthy receivers' webhooks that never came",
        due.len() as f64,
        Unit::Count,
    );
    sheet.note(&lost.bar(Bar::AtMost(0.0)))
}

fn shares(what: &str, mut delays: Vec<Duration>, sheet: &mut Sheet) -> Result<()> {
    ensure!(!delays.is_empty(), "nothing was delivered");
    delays.sort_unstable();
    for (name, share, bar) in [
        ("p50", 0.5, None),
        ("p99", 0.99, Some(Bar::AtMost(1_000.0))),
        ("most", 1.0, None),
    ] {
        let at = ((delays.len() - 1) as f64 * share) as usize;
        let what = format!("{what}: {name} delay at the healthy");
        let mut figure = Figure::new(what, delays[at].as_secs_f64() * 1_000.0, Unit::Millis);
        figure.bar = bar;
        sheet.note(&figure)?;
    }
    Ok(())
}

/// Whether the second attempt at a receiver that refuses comes before its time.
async fn retries(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let settings = WebhookSettings {
        interval: INTERVAL,
        retries: 2,
        ..WebhookSettings::default()
    };
    let dir = subject::folder()?;
    let retry = RetryProfile::Spec;
    let mut world = World::start(dir.path(), 100, settings, retry, |_| REFUSING).await?;
    let events = usize::try_from(scale.count(2_000, 50))?;
    let put = world.put(events).await?;
    world.bench.engine.webhooks().nudge(&put.queued);
    let mut last: BTreeMap<_, Timestamp> = BTreeMap::new();
    let mut gaps = Vec::new();
    while gaps.len() < 2 * events {
        let came = world.receivers.next(PATIENCE).await;
        let came = came.with_context(|| format!("only {} retries came", gaps.len()))?;
        if let Some(before) = last.insert(came.event, came.at) {
            gaps.push(came.at.as_micros() - before.as_micros());
        }
    }
    gaps.sort_unstable();
    let late = |gap: i64| (gap as f64 - INTERVAL.as_micros() as f64) / 1_000.0;
    let first = Figure::new(
        "webhook retries: the earliest, after its time",
        late(gaps[0]),
        Unit::Millis,
    );
    sheet.note(&first.bar(Bar::AtLeast(0.0)))?;
    let p99 = late(gaps[(gaps.len() - 1) * 99 / 100]);
    sheet.note(&Figure::new(
        "webhook retries: p99 after their time",
        p99,
        Unit::Millis,
    ))
}
