//! `cargo xtask bench`: builds the measurements optimised, and runs them.

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::run::{cargo, must, program, root, target};

/// Measure speed and size on this machine, each figure beside a limit measured in the same run
///
/// Prints a table. When everything is measured it also writes docs/benchmarks.md, with the machine,
/// the commit and the method. That takes some twenty minutes; the machine should have nothing else
/// to do.
#[derive(Args)]
#[command(after_help = PARTS)]
pub struct Bench {
    /// Parts to measure [default: all]
    #[arg(value_name = "PART", value_parser = names(), hide_possible_values = true)]
    parts: Vec<String>,
    /// Run so few repetitions that the figures mean nothing, to check that every part works
    #[arg(long)]
    tiny: bool,
}

/// A test of the measurements holds that these are theirs.
const PARTS: &str = "\
Parts:
  commit      A durable commit of the store, beside append and fdatasync
  initialize  POST /v1/payments/initialize, beside bare axum
  pay         From initialize to a payment that has succeeded, beside bare axum
  steady      Payments at 400 a second for two minutes: tail latency and bytes written to the disk
  verify      GET /v1/payments/{id}/verify, beside bare axum
  retrieve    GET /v1/payments/{id}, beside bare axum
  list        GET /v1/payments, beside bare axum
  webhooks    Deliveries to 1, 100 and 10,000 receivers, beside bare reqwest; delays with dead and slow ones among them
  gateway     A call of a gateway, payments through it and its upgrades under load
  waiting     Memory of a million waiting payments
  actors      Memory of 100,000 live actors
  restart     Start after a kill -9 with 100,000 and with a million open payments
  history     The cost of one more payment with 10,000 and with a million stored
  console     Pages of the console and the export with a million payments stored

Example:
  cargo xtask bench initialize retrieve";

fn names() -> PossibleValuesParser {
    let parts = PARTS.lines().filter_map(|line| line.strip_prefix("  "));
    let names = parts.filter_map(|line| line.split_once("  "));
    PossibleValuesParser::new(names.map(|(name, _)| name))
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
        let mut bench = program(target().join("release/switchyard-bench"));
        bench.args(&self.parts);
        if self.tiny {
            bench.arg("--tiny");
        } else if self.parts.is_empty() {
            bench.arg("--write").arg(root().join("docs/benchmarks.md"));
        }
        must(&mut bench)
    }
}
