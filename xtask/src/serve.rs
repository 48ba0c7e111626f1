//! `cargo xtask serve`: from a fresh clone to a running engine in one command.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use clap::Args;

use crate::stage::Stage;

/// Build everything and serve in development mode: a seeded app, its keys printed, the test gateway
/// loaded
#[derive(Args)]
pub struct Serve {
    /// Port to listen on
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Folder for everything that is stored; made if missing
    #[arg(long, default_value = "data")]
    data: PathBuf,
    /// Fill a new data folder with 300 payments and payouts of the last 30 days
    #[arg(long)]
    demo: bool,
    /// Requests a key may make in a minute; 0 turns the limit off
    #[arg(long, value_name = "N")]
    rate_limit: Option<u32>,
    /// Optimised, as it is deployed
    #[arg(long)]
    release: bool,
}

impl Serve {
    pub fn run(&self) -> anyhow::Result<()> {
        let staged = Stage {
            release: self.release,
            auditable: false,
            names_commit: false,
        }
        .run()?;
        let mut server = std::process::Command::new(staged.program());
        server.args(["serve", "--development"]);
        server
            .arg("--data")
            .arg(&self.data)
            .arg("--gateways")
            .arg(staged.gateways());
        server.arg("--port").arg(self.port.to_string());
        server.args(self.demo.then_some("--demo"));
        if let Some(limit) = self.rate_limit {
            server.arg("--rate-limit").arg(limit.to_string());
        }
        // The server takes our place, so that a signal to us is a signal to it.
        Err(anyhow::Error::new(server.exec()).context("cannot start the server"))
    }
}
