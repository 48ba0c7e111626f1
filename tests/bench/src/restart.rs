//! Time from the start after a kill -9 until the engine serves, with open payments in the store.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::time::Instant;

use crate::{initialize, subject};

const FILLED: &str = "filled";

pub async fn measure(payments: u64) -> Result<()> {
    let dir = tempfile::tempdir_in(".")?;
    let program = std::env::current_exe()?;
    let mut filler = Command::new(&program)
        .arg("fill-and-wait")
        .arg(dir.path())
        .arg(payments.to_string())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = filler.stdout.take().context("the filler has no output")?;
    let filled = BufReader::new(output)
        .lines()
        .map_while(Result::ok)
        .any(|line| line == FILLED);
    ensure!(filled, "the filler ended before it had filled the store");
    filler.kill()?;
    filler.wait()?;
    println!("start after a kill -9");
    let opened = Command::new(&program)
        .arg("open")
        .arg(dir.path())
        .status()?;
    ensure!(opened.success(), "the store did not open again");
    println!("  open payments in the store        {payments:>8}");
    Ok(())
}

pub async fn fill_and_wait(dir: &Path, payments: u64) -> Result<()> {
    let bench = subject::start(dir).await?;
    subject::fill(&bench, payments, 0).await?;
    println!("{FILLED}");
    // Payments go on coming until the kill, so that it strikes in the middle of work.
    loop {
        subject::fill(&bench, 1_000, payments).await?;
    }
}

pub async fn open(dir: &Path) -> Result<()> {
    let start = Instant::now();
    let bench = subject::start(dir).await?;
    let address = initialize::serve(subject::router(&bench)).await?;
    initialize::drive(address, &bench, Duration::from_millis(1)).await?;
    println!(
        "  until requests were answered      {:>8.2} s  (bar: 3 s)",
        start.elapsed().as_secs_f64()
    );
    Ok(())
}
