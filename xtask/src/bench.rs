//! `cargo xtask bench`: builds the measurements optimised, and runs them.

use clap::Args;

use crate::run::{cargo, must, program, target};

/// Measure speed and size on this machine, as ratios to limits measured in the same run
#[derive(Args)]
pub struct Bench {
    /// One measurement and its options; all of them without it. `-- --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    what: Vec<String>,
}

impl Bench {
    pub fn run(&self) -> anyhow::Result<()> {
        // The program itself is measured as well.
        let packages = [
            "switchyard-bench",
            "switchyard",
            "gateway-demo",
            "gateway-misbehaving",
        ]
        .map(|name| ["--package", name]);
        must(cargo().args(["build", "--release"]).args(packages.concat()))?;
        must(program(target().join("release/switchyard-bench")).args(&self.what))
    }
}
