//! `cargo xtask sweep`: kills the real program under load, and prints what the provider's books say.

use clap::Args;

use crate::run::{cargo, must, program, target};
use crate::stage::Stage;

/// Kill the real program again and again under load; fails when anything is lost or doubled, by the books
#[derive(Args)]
pub struct Sweep {
    /// How often
    #[arg(long, default_value_t = 200)]
    kills: u32,
    /// Orders a second: payments through the page and payouts, half and half
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// The program optimised, as it is deployed
    #[arg(long)]
    release: bool,
}

impl Sweep {
    pub fn run(&self) -> anyhow::Result<()> {
        let staged = Stage {
            release: self.release,
        }
        .run()?;
        // What kills and counts is not measured. One build of the whole, as for the tests.
        must(cargo().args(["build", "--workspace"]))?;
        let mut sweep = program(target().join("debug/sweep"));
        sweep.env("SWITCHYARD_STAGE", staged.folder);
        sweep.args([self.kills.to_string(), self.rate.to_string()]);
        must(&mut sweep)
    }
}
