//! `switchyard gateway-worker`: the worker process of a gateway, started by the engine. Internal.

use std::process::ExitCode;

use clap::Args;
use switchyard_gateway_host as gateway;

#[derive(Args)]
pub struct GatewayWorker {
    /// SHA-256 of the library to load
    #[arg(required_unless_present = "missing_walls")]
    sha256: Option<String>,
    /// Load nothing, and print the sandbox restrictions that this system refuses
    #[arg(long, conflicts_with = "sha256")]
    missing_walls: bool,
}

impl GatewayWorker {
    /// Serves the engine over standard input and output until the input ends.
    pub fn run(&self) -> ExitCode {
        match &self.sha256 {
            Some(sha256) => gateway::run_worker(sha256),
            None => gateway::missing_walls(),
        }
    }
}
