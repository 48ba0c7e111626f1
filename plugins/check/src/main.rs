//! `switchyard-gateway-check FILE`: the whole check, as a table or as JSON.
//! `cargo xtask gateway check` builds and runs it. `switchyard gateway check` is the same command.

use std::process::ExitCode;

use clap::Parser;
use switchyard_gateway_check::CheckGateway;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    check: CheckGateway,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    // The child process that the library runs in is this program again.
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("gateway-worker") {
        return switchyard_gateway_host::run_worker(&arguments.next().unwrap_or_default());
    }
    let line = Line::parse();
    match run(&line) {
        Ok(is_good) => ExitCode::from(u8::from(!is_good)),
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(line: &Line) -> anyhow::Result<bool> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(line.check.run(line.json))
}
