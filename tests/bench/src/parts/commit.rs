//! A durable commit of the default store, beside the least that any store has to do: append the
//! same bytes to a file, and `fdatasync`.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use switchyard_store::{Batch, Store, Table};
use tokio::time::Instant;

use super::Scale;
use crate::figure::{Figure, Sheet, Unit, median};
use crate::load::{CLIENTS, Work, closed};
use crate::subject;

/// About what a new payment and its events weigh.
const BYTES: usize = 1_200;

pub async fn measure(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let dir = subject::folder()?;
    let committer = Committer(subject::store(dir.path())?);
    let raw = dir.path().join("raw");
    let round = scale.time(Duration::from_secs(2));
    for (what, clients) in [
        ("commits, one after the other", 1),
        ("commits, 64 at once", CLIENTS),
    ] {
        let (mut ours, mut limits, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..scale.count(5, 1) {
            let limit = append(&raw, clients, round)?;
            let load = closed(&committer, clients, round).await?;
            ratios.push(load.per_second() / limit);
            limits.push(limit);
            ours.push(load.per_second());
        }
        let figure = Figure::new(what, median(ours), Unit::PerSecond);
        let limit = "append and fdatasync";
        sheet.note(&figure.beside(limit, median(limits), median(ratios)))?;
    }
    Ok(())
}

/// How many commits a second a file takes, when `together` of them share a write and a flush.
fn append(path: &Path, together: u64, time: Duration) -> Result<f64> {
    let mut file = File::create(path)?;
    let bytes = vec![7; BYTES * usize::try_from(together)?];
    let begun = Instant::now();
    let mut commits = 0;
    while begun.elapsed() < time {
        file.write_all(&bytes)?;
        file.sync_data()?;
        commits += together;
    }
    Ok(commits as f64 / begun.elapsed().as_secs_f64())
}

#[derive(Clone)]
struct Committer(Store);

impl Work for Committer {
    type Line = ();

    async fn begin(&self) -> Result<()> {
        Ok(())
    }

    async fn once(&self, (): &mut (), number: u64) -> Result<()> {
        let mut batch = Batch::new();
        let mut key = b"bench".to_vec();
        key.extend_from_slice(&number.to_be_bytes());
        batch.put(Table::Event, key, vec![7; BYTES]);
        self.0.commit(batch).await?;
        Ok(())
    }
}
