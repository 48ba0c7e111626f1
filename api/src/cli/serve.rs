//! `switchyard serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::failed;
use crate::config::Overrides;
use crate::serve::{self, Failure, Loss, Source, Start};

#[derive(Args)]
pub struct Serve {
    /// Settings file; examples/switchyard.toml explains every setting
    #[arg(long, env = "SWITCHYARD_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Development mode: a seeded app, its keys shown. Never for real money
    #[arg(long)]
    development: bool,
    /// Fill a new data folder with 300 payments and payouts of the last 30 days, made through the
    /// test gateway
    #[arg(long, requires = "development")]
    demo: bool,
    /// Address and port to listen on, in place of server.listen
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Port to listen on; 0: any that is free
    #[arg(long)]
    port: Option<u16>,
    /// Data folder, instead of data.dir
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Folder of the gateways, in place of gateways.dir
    #[arg(long, value_name = "FOLDER")]
    gateways: Option<PathBuf>,
    /// Requests that a key may make in a minute, in place of rate_limit.per_minute; 0: no limit
    #[arg(long, value_name = "N")]
    rate_limit: Option<u32>,
    /// Open a store that has lost acknowledged transactions, for example an older copy. The engine
    /// does not know the lost ones: a repeated request moves money a second time
    #[arg(long)]
    accept_loss: bool,
    /// Start held: send no payout and start no payment attempt until `switchyard release`. A
    /// restored store starts held without it
    #[arg(long)]
    held: bool,
}

impl Serve {
    pub async fn run(self) -> ExitCode {
        let overrides = Overrides {
            development: self.development,
            listen: self.listen,
            port: self.port,
            data: self.data,
            gateways: self.gateways,
            rate_limit: self.rate_limit,
        };
        let source = Source {
            file: self.config,
            overrides,
        };
        let loss = match self.accept_loss {
            false => Loss::Refuse,
            true => Loss::Accept,
        };
        let start = Start {
            loss,
            is_held: self.held,
            is_demo: self.demo,
        };
        match serve::run(source, start).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(Failure::Refused(refusals)) => refused(&refusals),
            Err(Failure::Other(why)) => failed(&why),
        }
    }
}

fn refused(refusals: &[String]) -> ExitCode {
    for refusal in refusals {
        eprintln!("switchyard: not started: {refusal}");
    }
    ExitCode::from(2)
}
