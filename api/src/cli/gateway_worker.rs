//! `switchyard gateway-worker`: the worker process of a gateway, started by the engine. Internal.

use std::process::ExitCode;

use clap::Args;
use switchyard_engine::gateway;

#[derive(Args)]
pub struct GatewayWorker {
    /// SHA-256 of the library to load
    sha256: String,
}

impl GatewayWorker {
    /// Serves the engine over standard input and output until the input ends.
    pub fn run(&self) -> ExitCode {
        gateway::run_worker(&self.sha256)
    }
}
