//! `cargo xtask sweep`: kills the real program under load, or restores backups of it, and prints
//! the figures by the provider's books.

use std::path::PathBuf;

use clap::Args;

use crate::run::{cargo, must, program, root, target};
use crate::stage::Stage;

/// Kill the real program again and again under load, or restore backups of it; fails when anything
/// is lost or doubled, by the books
#[derive(Args)]
pub struct Sweep {
    /// How often
    #[arg(long, default_value_t = 200)]
    kills: u32,
    /// Kill once after each of so many backups, restore the backup and release the hold, instead
    #[arg(long, conflicts_with = "kills")]
    restores: Option<u32>,
    /// Orders a second: payments through the page and payouts, half and half
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// The program optimised, as it is deployed
    #[arg(long)]
    release: bool,
    /// File for the chart of the time after each kill until the program was ready
    /// [default: target/charts/recovery.svg]
    #[arg(long, value_name = "FILE", conflicts_with = "restores")]
    chart: Option<PathBuf>,
}

impl Sweep {
    pub fn run(&self) -> anyhow::Result<()> {
        let staged = Stage {
            release: self.release,
            auditable: false,
            names_commit: false,
        }
        .run()?;
        // What kills and counts is not measured. One build of the whole, as for the tests.
        must(cargo().args(["build", "--workspace"]))?;
        let mut sweep = program(target().join("debug/sweep"));
        sweep.env("SWITCHYARD_STAGE", staged.folder);
        let (what, times) = match self.restores {
            Some(restores) => ("restores", restores),
            None => ("kills", self.kills),
        };
        sweep.args([what, &times.to_string(), &self.rate.to_string()]);
        if self.restores.is_none() {
            let usual = || target().join("charts/recovery.svg");
            let given = self.chart.as_ref().map(|file| root().join(file));
            sweep.arg(given.unwrap_or_else(usual));
        }
        must(&mut sweep)
    }
}
