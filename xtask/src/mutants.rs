//! `cargo xtask mutants`: changes the rules of one area at a time, and counts the changes that the
//! unit tests find.

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};

use crate::run::{self, cargo, must, program};
use crate::tools;

/// Change each rule of an area, such as the core, and count what the unit tests find
#[derive(Args)]
pub struct Mutants {
    /// Part of the code that is changed
    #[arg(long, value_enum, default_value_t = Area::Core)]
    area: Area,
    /// Only one of several samples, such as `0/8`
    #[arg(long, value_name = "K/N")]
    shard: Option<String>,
    /// Give what the unit tests of the core did not find to the model checker, a minute each
    #[arg(long)]
    model: bool,
    /// Only changes whose description matches this expression
    #[arg(long, value_name = "REGEX")]
    only: Option<String>,
}

/// Part of the code with a score of its own in `docs/proofs.md`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Area {
    Core,
    Idempotency,
    Callbacks,
    Queue,
    Webhooks,
    Gateway,
    Access,
    ExchangeRates,
}

/// Files of an area, and the tests that run for each change.
struct Target {
    package: &'static str,
    files: &'static [&'static str],
    /// Parts of the names of the tests: those of the area and of its users. Empty: all tests of
    /// the package.
    tests: &'static [&'static str],
    /// Seconds after which the tests of one change are stopped. The change counts as found.
    timeout: &'static str,
}

const ENGINE: &str = "switchyard-engine";
const PROFILE: &str = "--profile=mutants";
const MODEL: &str = "switchyard-model";
const OPTIMISED: [&str; 2] = [
    "--config=profile.mutants.package.switchyard-core.opt-level=2",
    "--config=profile.mutants.package.switchyard-model.opt-level=2",
];

impl Area {
    fn target(self) -> Target {
        let engine = |files, tests| Target {
            package: ENGINE,
            files,
            tests,
            timeout: "120",
        };
        match self {
            Self::Core => Target {
                package: "switchyard-core",
                files: &[
                    "engine/core/src/transaction/**",
                    "engine/core/src/money/**",
                    "engine/core/src/routing/**",
                ],
                tests: &[],
                timeout: "20",
            },
            Self::Gateway => Target {
                package: "switchyard-gateway-host",
                files: &[
                    "engine/gateway/src/journal.rs",
                    "engine/gateway/src/outcome.rs",
                    "engine/gateway/src/redact.rs",
                    "engine/gateway/src/redact/**",
                ],
                tests: &["journal", "outcome", "redact", "drive", "not_found"],
                timeout: "120",
            },
            Self::Idempotency => engine(&["engine/src/idempotency/**"], &["idempotency::"]),
            Self::Callbacks => engine(&["engine/src/callback/**"], &["callback::"]),
            Self::Queue => engine(
                &["engine/src/queue/**"],
                &["queue::", "webhook::", "mail::", "processing::"],
            ),
            Self::Webhooks => engine(
                &[
                    "engine/src/webhook/policy.rs",
                    "engine/src/webhook/signing.rs",
                ],
                &["webhook::"],
            ),
            Self::Access => engine(&["engine/src/access/**"], &["access::"]),
            Self::ExchangeRates => engine(&["engine/src/exchange_rates/**"], &["exchange_rates::"]),
        }
    }
}

impl Mutants {
    pub fn run(&self) -> anyhow::Result<()> {
        ensure!(
            !self.model || self.area == Area::Core,
            "the model checker runs the core only: omit --model or --area"
        );
        let target = self.area.target();
        // Without a change they pass.
        must(
            cargo()
                .args(["test", PROFILE, "--package", target.package, "--lib", "--"])
                .args(target.tests),
        )?;
        self.pass(&target, target.package, &["--lib"], target.timeout)?;
        if self.model {
            must(
                cargo()
                    .args(["test", PROFILE, "--package", MODEL])
                    .args(OPTIMISED),
            )?;
            let [core, model] = OPTIMISED;
            self.pass(&target, MODEL, &["--test=model", core, model], "300")?;
        }
        println!("the lists are in {}", run::target().display());
        Ok(())
    }

    /// Runs the tests of `package` for each change. The model checker runs for the changes that
    /// the unit tests did not find.
    fn pass(
        &self,
        target: &Target,
        package: &str,
        arguments: &[&str],
        timeout: &str,
    ) -> anyhow::Result<()> {
        let mut mutants = program(tools::cargo_mutants()?);
        mutants.args(["mutants", "--package", target.package]);
        mutants.args(["--test-package", package, PROFILE]);
        mutants.args(["--baseline=skip", "--jobs=1", "--timeout", timeout]);
        mutants.args(target.files.iter().flat_map(|files| ["--file", files]));
        mutants.args(arguments.iter().map(|one| format!("--cargo-arg={one}")));
        mutants.arg("--output").arg(run::target());
        mutants.args((package == MODEL).then_some("--iterate"));
        if let Some(shard) = &self.shard {
            mutants.args(["--sharding=round-robin", "--shard", shard]);
        }
        mutants.args(self.only.iter().flat_map(|only| ["--re", only]));
        // The arguments of the test program stand behind the second pair of dashes.
        mutants.args(["--", "--"]).args(target.tests);
        let status = mutants.status().context("cannot start cargo-mutants")?;
        // 2: some mutants survived. 3: some timed out, which counts as caught.
        match status.code() {
            Some(0 | 2 | 3) => Ok(()),
            _ => bail!("cargo-mutants ended with {status}"),
        }
    }
}
