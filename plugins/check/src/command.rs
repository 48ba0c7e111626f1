//! The command that checks a library, of this package's program and of `switchyard`.

#![expect(clippy::print_stdout, reason = "output of a command")]

use std::path::PathBuf;

use clap::Args;
use switchyard_gateway_host::{WALLS, WorkerSettings};
use switchyard_progress::{Progress, Unit};

use crate::{Samples, Step, check};

/// Check a built gateway: its file, its imports, and its handling of every kind of response
#[derive(Args, Clone, Debug)]
pub struct CheckGateway {
    /// The library: target/debug/libgateway_NAME.so
    library: PathBuf,
    /// Normal responses of its provider [default: the check.json beside its gateway.json]
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
}

impl CheckGateway {
    /// Prints the report, as a table or as JSON. Returns whether nothing failed.
    ///
    /// The child process that the library runs in is the current program again, with the argument
    /// `gateway-worker`.
    ///
    /// # Errors
    /// When the samples cannot be read.
    pub async fn run(&self, is_json: bool) -> anyhow::Result<bool> {
        let samples = match &self.samples {
            Some(file) => Samples::read(file)?,
            None => Samples::beside(&self.library)?,
        };
        let settings = WorkerSettings {
            // Authors run their own library, on whatever machine they have.
            accepted: WALLS.map(str::to_owned).to_vec(),
            ..WorkerSettings::default()
        };
        let progress = Progress::begin("load", None, Unit::Time);
        let mut begins = |step: Step| {
            if step.done == 0 {
                progress.stage("check", Some(step.total), Unit::Things("operations"));
            }
            progress.name(&format!("check {}", step.operation.as_str()));
            progress.at(step.done);
        };
        let report = check(&self.library, &samples, &settings, &mut begins).await;
        drop(progress);
        match is_json {
            true => println!("{}", serde_json::to_string_pretty(&report)?),
            false => print!("{report}"),
        }
        Ok(report.is_good())
    }
}
