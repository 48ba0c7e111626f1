//! The command line.
//!
//! Exit codes: 0 done; 1 it did not work; 2 wrong usage, or settings that are refused.

mod local;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A payment and payout engine: one API for merchants, any provider behind it.
#[derive(Parser)]
#[command(name = "switchyard", version, propagate_version = true)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server
    Serve(serve::Serve),
    /// Make a master key in a new file
    MasterKey(local::NewMasterKey),
    /// Make an operator token for the settings file
    OperatorToken(local::NewToken),
}

/// The program.
pub fn main() -> ExitCode {
    let line = Line::parse();
    // One provider of cryptography for every TLS client in the process. That there is one already can only mean that it is this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(run(line)),
        Err(why) => {
            failed(&anyhow::Error::new(why).context("the operating system gives no threads"))
        }
    }
}

async fn run(line: Line) -> ExitCode {
    let done = match line.command {
        Command::Serve(serve) => return serve.run().await,
        Command::MasterKey(new) => new.run(),
        Command::OperatorToken(new) => new.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => failed(&why),
    }
}

fn failed(why: &anyhow::Error) -> ExitCode {
    eprintln!("switchyard: {why:#}");
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Line::command().debug_assert();
    }

    #[test]
    fn commands_read_as_people_write_them() {
        for line in [
            "switchyard serve --config switchyard.toml",
            "switchyard serve --development --data d --gateways g --port 8080 --rate-limit 0",
        ] {
            assert!(Line::try_parse_from(line.split(' ')).is_ok(), "{line}");
        }
    }
}
