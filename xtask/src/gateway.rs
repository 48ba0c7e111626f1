//! `cargo xtask gateway`: creation and check of a gateway in a clone. `switchyard gateway new` and
//! `switchyard gateway check` do the same without one.

use clap::{Args, Subcommand};
use switchyard_gateway_template::NewGateway;

use crate::run::{self, must};

/// Begin a gateway, or check one that is built
#[derive(Subcommand)]
pub enum Gateway {
    New(NewGateway),
    Check(Check),
}

/// Check a built gateway: its file, its imports, and its handling of every kind of response
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Check {
    /// Arguments of `switchyard gateway check`: FILE [--samples FILE] [--json]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Gateway {
    pub fn run(&self) -> anyhow::Result<()> {
        match self {
            Self::New(new) => create(new),
            Self::Check(check) => check.run(),
        }
    }
}

/// Outside of the clone, the new gateway builds against the SDK of the clone.
fn create(new: &NewGateway) -> anyhow::Result<()> {
    let mut new = new.clone();
    let sdk = run::root().join("plugins/sdk");
    new.sdk.get_or_insert(sdk);
    let created = new.create(Some(run::root()))?;
    let file = format!("libgateway_{}.so", new.name);
    let folder = created.folder.display();
    let (test, library) = match created.is_inside {
        true => {
            let package = format!("gateway-{}", new.name.replace('_', "-"));
            (
                format!("cargo test -p {package} && cargo build -p {package}"),
                format!("target/debug/{file}"),
            )
        }
        false => (
            format!("(cd {folder} && cargo test && cargo build)"),
            format!("{folder}/target/debug/{file}"),
        ),
    };
    println!(
        "{folder} is a gateway for an imaginary provider. Next:\n  {test}\n  \
         cargo xtask gateway check {library}\nThen make it yours: docs/for-integrators.md."
    );
    Ok(())
}

impl Check {
    /// The kit is built when it is needed, so that all else in here stays quick to build.
    fn run(&self) -> anyhow::Result<()> {
        let mut build = run::cargo();
        // With the features of the whole workspace, so that it shares its dependencies with what
        // `serve` builds.
        build.args(["build", "--workspace", "--bin", PACKAGE]);
        must(build.args(run::quiet()))?;
        let mut check = std::process::Command::new(run::target().join("debug").join(PACKAGE));
        let status = check.args(&self.arguments).status()?;
        std::process::exit(status.code().unwrap_or(2))
    }
}

const PACKAGE: &str = "switchyard-gateway-check";
