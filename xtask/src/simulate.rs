//! `cargo xtask simulate`: builds the simulation and runs it.

use clap::Args;

use crate::run::{cargo, must, program, target};

/// Run the engine in a world that loses, delays, lies and kills, by seed
#[derive(Args)]
pub struct Simulate {
    /// `--seeds N --seconds S`, `--seed X` to replay one, `--plant N` to look for planted faults; `-- --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    what: Vec<String>,
}

/// As `cargo xtask test` runs it.
pub fn test() -> anyhow::Result<()> {
    let what = ["--seeds", "10000", "--seconds", "60"];
    Simulate {
        what: what.map(str::to_owned).to_vec(),
    }
    .run()
}

impl Simulate {
    pub fn run(&self) -> anyhow::Result<()> {
        let mut build = cargo();
        // The whole workspace's features, so that all that the other steps have compiled is used again; the engine alone is optimised.
        build.args(["build", "--quiet", "--workspace", "--bin", "simulate"]);
        for package in [
            "switchyard-engine",
            "switchyard-gateway",
            "switchyard-simulation",
        ] {
            let optimised = format!("profile.dev.package.{package}.opt-level=1");
            build.args(["--config", &optimised]);
        }
        must(&mut build)?;
        must(program(target().join("debug/simulate")).args(&self.what))
    }
}
