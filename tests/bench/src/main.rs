//! `cargo xtask bench`: speed and size, each printed beside a limit that was measured in the same run.
//!
//! Machines are noisy; ratios of two things measured in turns on the same machine are less so. Nothing here fails because of a figure.

mod gateway;
mod history;
mod initialize;
mod load;
mod memory;
mod restart;
mod subject;
mod webhooks;

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
    /// Fills a store with waiting payments, for a measurement that must not have made them itself.
    #[command(hide = true)]
    Fill {
        folder: std::path::PathBuf,
        payments: u64,
    },
    /// Time from the start of the real program after a kill -9 until it has answered its first request.
    Restart {
        #[arg(long, default_value_t = 100_000)]
        payments: u64,
    },
    /// Deliveries to 1, 100 and 10,000 webhooks, a tenth dead; the delay while another tenth is slow.
    Webhooks,
    /// A call of a gateway and a whole payment, in process and in a worker.
    Gateway,
    /// A worker, as the engine starts it: here this program has to be one, too.
    #[command(hide = true)]
    GatewayWorker { sha256: String },
}

fn main() -> Result<()> {
    match Arguments::parse().what {
        Some(What::GatewayWorker { sha256 }) => work(&sha256),
        Some(what) => run(what),
        None => all(),
    }
}

/// Before there is a runtime, as in the program that is measured.
fn work(sha256: &str) -> Result<()> {
    switchyard_engine::gateway::run_worker(sha256);
    anyhow::bail!("no engine is at the other end")
}

/// Every measurement in a process of its own, so that none inherits another's memory.
fn all() -> Result<()> {
    let program = std::env::current_exe()?;
    for name in [
        "initialize",
        "history",
        "waiting",
        "actors",
        "restart",
        "webhooks",
        "gateway",
    ] {
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
            What::Fill { folder, payments } => memory::fill(&folder, payments).await,
            What::Restart { payments } => restart::measure(payments).await,
            What::Webhooks => webhooks::measure().await,
            What::Gateway => gateway::measure().await,
            What::GatewayWorker { sha256 } => work(&sha256),
        }
    })
}
