//! `cargo xtask gateway`: creation and check of a gateway by its author.
//!
//! - `new` writes a small gateway that works, to be changed into the one that is wanted;
//! - `check` looks at a built one from all sides, as `plugins/check` says.

mod new;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::run::{self, must};

/// Begin a gateway, or check one that is built
#[derive(Subcommand)]
pub enum Gateway {
    New(new::New),
    Check(Check),
}

/// Check a built gateway: its file, its imports, and its handling of every kind of response
#[derive(Args)]
pub struct Check {
    /// The library: target/debug/libgateway_NAME.so
    library: PathBuf,
    /// Normal responses of its provider [default: the check.json beside its gateway.json]
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

impl Gateway {
    pub fn run(&self) -> anyhow::Result<()> {
        match self {
            Self::New(new) => new.run(),
            Self::Check(check) => check.run(),
        }
    }
}

impl Check {
    /// The kit is built when it is needed, so that all else in here stays quick to build.
    fn run(&self) -> anyhow::Result<()> {
        let mut build = run::cargo();
        // With the features of the whole workspace, so that it shares its dependencies with what
        // `serve` builds.
        must(build.args(["build", "--quiet", "--workspace", "--bin", PACKAGE]))?;
        let mut check = std::process::Command::new(run::target().join("debug").join(PACKAGE));
        check.arg(&self.library);
        if let Some(samples) = &self.samples {
            check.arg("--samples").arg(samples);
        }
        if self.json {
            check.arg("--json");
        }
        let status = check.status()?;
        std::process::exit(status.code().unwrap_or(2))
    }
}

const PACKAGE: &str = "switchyard-gateway-check";
