//! `cargo xtask bench`: speed and size, each printed beside a limit that was measured in the same
//! run.
//!
//! Machines are noisy; ratios of two things measured in turns on the same machine are less so.
//! Nothing here fails because of a figure.

mod bare;
mod charts;
mod figure;
mod load;
mod machine;
mod parts;
#[cfg(test)]
mod record;
mod report;
mod run;
mod subject;
mod versus;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::parts::{Part, Scale};

/// As in the program that is measured.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[derive(Parser)]
#[command(
    about = "Measures Switchyard on this machine.",
    args_conflicts_with_subcommands = true
)]
struct Arguments {
    /// Parts to measure [default: all]
    part: Vec<Part>,
    /// Run so few repetitions that the figures mean nothing, to check that every part works
    #[arg(long)]
    tiny: bool,
    /// Write the figures to this file, as a page of the documentation
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    #[command(subcommand)]
    hidden: Option<Hidden>,
}

/// Subprocesses that this program starts of itself.
#[derive(Subcommand)]
enum Hidden {
    /// Measures one part in this process.
    #[command(hide = true)]
    Measure {
        part: Part,
        /// File for the figures.
        figures: PathBuf,
        #[arg(long)]
        tiny: bool,
    },
    /// Fills a store with waiting payments, for a measurement that must not have made them itself.
    #[command(hide = true)]
    Fill { folder: PathBuf, payments: u64 },
    /// The receivers of webhooks.
    #[command(hide = true)]
    Receive,
    /// A worker, as the engine starts it: here this program has to be one, too.
    #[command(hide = true)]
    GatewayWorker { sha256: String },
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match arguments.hidden {
        // Before there is a runtime, as in the program that is measured.
        Some(Hidden::GatewayWorker { sha256 }) => {
            switchyard_gateway_host::run_worker(&sha256);
            anyhow::bail!("no engine is at the other end")
        }
        Some(hidden) => runtime()?.block_on(inside(hidden)),
        None => {
            let scale = Scale {
                tiny: arguments.tiny,
            };
            runtime()?.block_on(run::all(&arguments.part, scale, arguments.write.as_deref()))
        }
    }
}

async fn inside(hidden: Hidden) -> Result<()> {
    match hidden {
        Hidden::Measure {
            part,
            figures,
            tiny,
        } => run::one(part, &figures, Scale { tiny }).await,
        Hidden::Fill { folder, payments } => parts::fill(&folder, payments).await,
        Hidden::Receive => parts::receive().await,
        Hidden::GatewayWorker { .. } => anyhow::bail!("a worker has no runtime"),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    Ok(builder.enable_all().build()?)
}
