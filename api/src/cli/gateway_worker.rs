//! `switchyard gateway-worker`: what the engine starts for a gateway that has a process of its own. Not for people.

use std::process::ExitCode;

use clap::Args;
use switchyard_engine::gateway;

#[derive(Args)]
pub struct GatewayWorker {
    /// Which library the engine is to name: its hash
    sha256: String,
}

impl GatewayWorker {
    /// Serves the engine at the other end of standard input and output until that ends.
    pub fn run(&self) -> ExitCode {
        gateway::run_worker(&self.sha256)
    }
}
