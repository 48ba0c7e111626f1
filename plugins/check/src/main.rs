//! `switchyard-gateway-check FILE`: the whole check, as a table or as JSON.
//! `cargo xtask gateway check` builds and runs it.

#![expect(clippy::print_stdout, reason = "output of a command")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use switchyard_gateway_check::{Samples, check};
use switchyard_gateway_host::{WALLS, WorkerSettings};

/// Check a built gateway
#[derive(Parser)]
struct Check {
    /// The library
    library: PathBuf,
    /// Normal responses of its provider [default: the check.json beside its gateway.json]
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    // The child process that the library runs in is this program again.
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("gateway-worker") {
        return switchyard_gateway_host::run_worker(&arguments.next().unwrap_or_default());
    }
    match Check::parse().run() {
        Ok(is_good) => ExitCode::from(u8::from(!is_good)),
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

impl Check {
    fn run(&self) -> anyhow::Result<bool> {
        let samples = match &self.samples {
            Some(file) => Samples::read(file)?,
            None => Samples::beside(&self.library)?,
        };
        let runtime = tokio::runtime::Runtime::new()?;
        let settings = WorkerSettings {
            // Authors run their own library, on whatever machine they have.
            accepted: WALLS.map(str::to_owned).to_vec(),
            ..WorkerSettings::default()
        };
        let report = runtime.block_on(check(&self.library, &samples, &settings));
        if self.json {
            println!("{}", serde_json::to_string_pretty(&report)?);
        } else {
            print!("{report}");
        }
        Ok(report.is_good())
    }
}
