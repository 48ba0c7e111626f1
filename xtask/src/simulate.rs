//! `cargo xtask simulate`: builds the simulation and runs it.

use std::path::PathBuf;

use clap::Args;

use crate::run::{cargo, must, program, quiet, target};

/// Run the engine in a world that loses, delays, lies and kills, by seed
#[derive(Args)]
pub struct Simulate {
    /// `--seeds N --seconds S`, `--seed X` to replay one, `--plant N` to look for planted faults;
    /// `-- --help` lists them. With `--optimised`, which takes minutes to build and saves a fifth
    /// of the time, for long runs
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    what: Vec<String>,
}

const OPTIMISED: &str = "--optimised";

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
        let what = self.what.iter().filter(|word| *word != OPTIMISED);
        let built = match self.what.iter().any(|word| word == OPTIMISED) {
            true => optimised()?,
            false => for_development()?,
        };
        must(program(built).args(what))
    }
}

/// A cold build of all dependencies with optimisation costs more than it saves in a run of a
/// minute.
fn optimised() -> anyhow::Result<PathBuf> {
    let mut build = cargo();
    build
        .args(["build", "--profile", "simulation"])
        .args(quiet());
    must(build.args(["--package", "switchyard-simulation", "--bin", "simulate"]))?;
    Ok(target().join("simulation/simulate"))
}

fn for_development() -> anyhow::Result<PathBuf> {
    let mut build = cargo();
    // The whole workspace's features, so that all that the other steps have compiled is used again;
    // the engine alone is optimised.
    build
        .args(["build", "--workspace", "--bin", "simulate"])
        .args(quiet());
    for package in [
        "switchyard-engine",
        "switchyard-gateway",
        "switchyard-simulation",
    ] {
        let optimised = format!("profile.dev.package.{package}.opt-level=1");
        build.args(["--config", &optimised]);
    }
    must(&mut build)?;
    Ok(target().join("debug/simulate"))
}
