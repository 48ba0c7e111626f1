//! `cargo xtask mutants`: changes the rules of the core one at a time, and counts which changes the
//! tests find.

use anyhow::{Context, bail};
use clap::Args;

use crate::run::{self, cargo, must, program};
use crate::tools;

/// Change each rule about transactions, money and routing, and count what the tests find
#[derive(Args)]
pub struct Mutants {
    /// Only one of several samples, such as `0/8`
    #[arg(long, value_name = "K/N")]
    shard: Option<String>,
    /// Give what the unit tests did not find to the model checker, a minute each
    #[arg(long)]
    model: bool,
    /// Only changes whose description matches this expression
    #[arg(long, value_name = "REGEX")]
    only: Option<String>,
}

const FILES: [&str; 3] = [
    "engine/core/src/transaction/**",
    "engine/core/src/money/**",
    "engine/core/src/routing/**",
];
const PROFILE: &str = "--profile=mutants";
const UNIT_TESTS: [&str; 2] = ["--package", "switchyard-core"];
const MODEL: [&str; 2] = ["--package", "switchyard-model"];
const OPTIMISED: [&str; 2] = [
    "--config=profile.mutants.package.switchyard-core.opt-level=2",
    "--config=profile.mutants.package.switchyard-model.opt-level=2",
];

impl Mutants {
    pub fn run(&self) -> anyhow::Result<()> {
        // Without a change they pass.
        must(
            cargo()
                .args(["test", PROFILE])
                .args(UNIT_TESTS)
                .arg("--lib"),
        )?;
        self.pass("switchyard-core", &["--lib"], false)?;
        if self.model {
            must(cargo().args(["test", PROFILE]).args(OPTIMISED).args(MODEL))?;
            let [core, model] = OPTIMISED;
            self.pass("switchyard-model", &["--test=model", core, model], true)?;
        }
        println!("the lists are in {}", run::target().display());
        Ok(())
    }

    /// `again`: only what was not found before.
    fn pass(&self, package: &str, tests: &[&str], again: bool) -> anyhow::Result<()> {
        let mut mutants = program(tools::cargo_mutants()?);
        mutants.args(["mutants", "--package", "switchyard-core"]);
        mutants.args(["--test-package", package, PROFILE]);
        mutants.args(["--baseline=skip", "--jobs=1"]);
        mutants.args(FILES.iter().flat_map(|files| ["--file", files]));
        mutants.args(tests.iter().map(|test| format!("--cargo-arg={test}")));
        mutants
            .arg("--timeout")
            .arg(if again { "300" } else { "20" });
        mutants.arg("--output").arg(run::target());
        mutants.args(again.then_some("--iterate"));
        if let Some(shard) = &self.shard {
            mutants.args(["--sharding=round-robin", "--shard", shard]);
        }
        mutants.args(self.only.iter().flat_map(|only| ["--re", only]));
        let status = mutants.status().context("cannot start cargo-mutants")?;
        // 2: some mutants survived. 3: some timed out, which counts as caught.
        match status.code() {
            Some(0 | 2 | 3) => Ok(()),
            _ => bail!("cargo-mutants ended with {status}"),
        }
    }
}
