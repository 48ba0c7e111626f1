//! `cargo xtask model`: builds the model checker of the transaction core and runs it.

use clap::Args;

use crate::coverage;
use crate::run::{cargo, must, quiet, root};

/// Explore every history of one payment or payout up to a bound
#[derive(Args)]
pub struct Model {
    /// Update tests/model/rules.txt, the list of rules that histories reach
    #[arg(long)]
    write_rules: bool,
    /// Check tests/model/unreached.txt, the lines of the core that no history reaches
    #[arg(long)]
    coverage: bool,
    /// `--attempts N`, `--only TEXT`, `--threads N`, `--rules`; `-- --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    what: Vec<String>,
}

impl Model {
    pub fn run(&self) -> anyhow::Result<()> {
        if self.coverage {
            return coverage::check();
        }
        let mut run = cargo();
        run.arg("run").args(quiet());
        run.args(["--package", "switchyard-model", "--"]);
        if self.write_rules {
            let file = root().join("tests/model/rules.txt");
            run.arg("--write-rules").arg(file);
        }
        must(run.args(&self.what))
    }
}
