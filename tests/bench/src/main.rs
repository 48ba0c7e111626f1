//! `cargo xtask bench`: speed and size, each printed beside a limit that was measured in the same run.
//!
//! Machines are noisy; ratios of two things measured in turns on the same machine are less so. Nothing here fails because of a figure.

mod history;
mod initialize;
mod load;
mod memory;
mod restart;
mod subject;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// As in the program that is measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(about = "Measures Switchyard on this machine.")]
struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Clone, Subcommand)]
enum What {
    /// `POST /v1/payments/initialize` over 64 connections, beside a bare axum handler.
    Initialize,
    /// The cost of one more payment with 10,000 and with a million stored.
    History {
        #[arg(long, default_value_t = 1_000_000)]
        payments: u64,
    },
    /// Resident memory with many waiting payments.
    Waiting {
        #[arg(long, default_value_t = 1_000_000)]
        payments: u64,
    },
    /// Resident memory of live actors.
    Actors {
        #[arg(long, default_value_t = 100_000)]
        actors: u64,
    },
    /// Time from the start after a kill -9 until the first request is served.
    Restart {
        #[arg(long, default_value_t = 100_000)]
        payments: u64,
    },
    /// A process of the measurement itself: fills a store and waits to be killed.
    #[command(hide = true)]
    FillAndWait { dir: PathBuf, payments: u64 },
    /// A process of the measurement itself: opens a store and says how long it took.
    #[command(hide = true)]
    Open { dir: PathBuf },
}

fn main() -> Result<()> {
    match Arguments::parse().what {
        Some(what) => run(what),
        None => all(),
    }
}

/// Every measurement in a process of its own, so that none inherits another's memory.
fn all() -> Result<()> {
    let program = std::env::current_exe()?;
    for name in ["initialize", "history", "waiting", "actors", "restart"] {
        let status = std::process::Command::new(&program).arg(name).status()?;
        anyhow::ensure!(status.success(), "the measurement {name} failed");
    }
    Ok(())
}

fn run(what: What) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match what {
            What::Initialize => initialize::measure().await,
            What::History { payments } => history::measure(payments).await,
            What::Waiting { payments } => memory::waiting(payments).await,
            What::Actors { actors } => memory::actors(actors).await,
            What::Restart { payments } => restart::measure(payments).await,
            What::FillAndWait { dir, payments } => restart::fill_and_wait(&dir, payments).await,
            What::Open { dir } => restart::open(&dir).await,
        }
    })
}
