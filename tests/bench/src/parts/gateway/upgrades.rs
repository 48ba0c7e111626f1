//! A gateway is upgraded a hundred times while payments go through it at a fixed rate; in turns
//! with the same rate and no upgrade.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use switchyard_gateway_host::Gateways;
use tokio::time::Instant;

use super::{Scale, payments};
use crate::figure::{Bar, Figure, Sheet, Unit};
use crate::load::{Load, open};
use crate::subject;

/// Payments a second.
const RATE: u64 = 200;
const ROUNDS: u64 = 4;
const UPGRADES_A_ROUND: u64 = 25;
const ROUND: Duration = Duration::from_secs(8);
/// A busy machine needs as long for one upgrade of a development build.
const SHORTEST_ROUND: Duration = Duration::from_secs(1);

pub async fn measure(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let dir = subject::folder()?;
    let bench = payments::engine(dir.path()).await?;
    let payer = payments::Payer::of(&bench);
    let (rate, round) = (scale.count(RATE, 20), scale.time(ROUND).max(SHORTEST_ROUND));
    let (mut without, mut with, mut upgrades) = (Load::default(), Load::default(), 0);
    // The first round only warms up.
    open(&payer, rate, scale.time(Duration::from_secs(2)))
        .await?
        .whole()?;
    // A busy machine does fewer upgrades in the time of a round: then there are more rounds.
    let wanted = usize::try_from(scale.count(ROUNDS * UPGRADES_A_ROUND, 1))?;
    for number in 0..scale.count(3 * ROUNDS, 20) {
        if upgrades >= wanted {
            break;
        }
        without = without.join(open(&payer, rate, round).await?.whole()?);
        let files = versions(dir.path(), number, scale.count(UPGRADES_A_ROUND, 2))?;
        let end = Instant::now() + round;
        let upgrading = upgrade(bench.engine.gateways(), files, round);
        let (load, upgraded) = tokio::join!(open(&payer, rate, round), upgrading);
        let in_time = upgraded?.into_iter().filter(|at| *at <= end).count();
        (with, upgrades) = (with.join(load?), upgrades + in_time);
    }
    ensure!(upgrades > 0, "no upgrade was done within {round:?}");
    let of = |what: &str| format!("{rate} payments/s, {upgrades} upgrades: {what}");
    let failed = Figure::new(of("failed payments"), with.failed as f64, Unit::Count);
    sheet.note(&failed.bar(Bar::AtMost(0.0)))?;
    for (name, share, bar) in [
        ("p50", 0.5, None),
        ("p99", 0.99, Some(Bar::RatioAtMost(1.5))),
    ] {
        let (ours, limit) = (with.percentile_ms(share), without.percentile_ms(share));
        let mut figure = Figure::new(of(name), ours, Unit::Millis);
        figure.bar = bar;
        sheet.note(&figure.beside("without upgrades", limit, ours / limit))?;
    }
    match with.first_failure {
        Some(why) => anyhow::bail!("a payment failed during an upgrade: {why}"),
        None => Ok(()),
    }
}

/// Takes the files on, one after the other and evenly within `time`. When each was done.
async fn upgrade(gateways: &Gateways, files: Vec<PathBuf>, time: Duration) -> Result<Vec<Instant>> {
    let start = Instant::now();
    let pause = time / u32::try_from(files.len())?;
    let mut done = Vec::new();
    for (number, file) in files.iter().enumerate() {
        tokio::time::sleep_until(start + pause * u32::try_from(number)?).await;
        gateways.add(file).await?;
        done.push(Instant::now());
    }
    Ok(done)
}

/// The test gateway in new versions: files of their own hash, because the manifest in each names
/// another version.
fn versions(folder: &Path, round: u64, count: u64) -> Result<Vec<PathBuf>> {
    const OLD: &[u8] = br#""version": "1.0.0""#;
    let mut bytes = std::fs::read(subject::built("libgateway_demo.so")?)?;
    let places: Vec<_> = (0..bytes.len().saturating_sub(OLD.len()))
        .filter(|at| bytes[*at..].starts_with(OLD))
        .collect();
    ensure!(!places.is_empty(), "the test gateway has another version");
    let mut files = Vec::new();
    for number in 1..=count {
        let version = round * UPGRADES_A_ROUND + number;
        // As long as the old one, so that nothing else moves.
        let (major, minor, patch) = (2 + version / 100, version / 10 % 10, version % 10);
        let new = format!("\"version\": \"{major}.{minor}.{patch}\"");
        for at in &places {
            bytes[*at..*at + OLD.len()].copy_from_slice(new.as_bytes());
        }
        let file = folder.join(format!("{version}.so"));
        write(&file, &bytes).context("no room for another version")?;
        files.push(file);
    }
    Ok(files)
}

/// On the disk, as what an operator brings is: else the system writes hundreds of megabytes of ours
/// out while payments are measured.
fn write(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(file)?;
    file.write_all(bytes)?;
    file.sync_all()
}
