//! Parts of the benchmark, one file each.

mod commit;
mod console;
mod gateway;
mod history;
mod initialize;
mod memory;
mod pay;
mod read;
mod restart;
mod webhooks;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;

use crate::figure::Sheet;

/// A part of the measurements. Each runs in a process of its own, so that none inherits another's
/// memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// A durable commit of the store, beside append and fdatasync
    Commit,
    /// POST /v1/payments/initialize, beside bare axum
    Initialize,
    /// From initialize to a payment that has succeeded, beside bare axum
    Pay,
    /// Payments at 400 a second for two minutes: tail latency and bytes written to the disk
    Steady,
    /// GET /v1/payments/{id}/verify, beside bare axum
    Verify,
    /// GET /v1/payments/{id}, beside bare axum
    Retrieve,
    /// GET /v1/payments, beside bare axum
    List,
    /// Deliveries to 1, 100 and 10,000 receivers, beside bare reqwest; delays with dead and slow
    /// ones among them
    Webhooks,
    /// A call of a gateway, payments through it and its upgrades under load
    Gateway,
    /// Memory of a million waiting payments
    Waiting,
    /// Memory of 100,000 live actors
    Actors,
    /// Start after a kill -9 with 100,000 and with a million open payments
    Restart,
    /// The cost of one more payment with 10,000 and with a million stored
    History,
    /// Pages of the console and the export with a million payments stored
    Console,
}

impl Part {
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Description of the part, as a sentence without its full stop.
    pub fn does(self) -> String {
        let value = self.to_possible_value();
        let help = value.and_then(|value| value.get_help().map(ToString::to_string));
        help.unwrap_or_default()
    }

    pub async fn measure(self, scale: Scale, sheet: &mut Sheet) -> Result<()> {
        match self {
            Self::Commit => commit::measure(scale, sheet).await,
            Self::Initialize => initialize::measure(scale, sheet).await,
            Self::Pay => pay::measure(scale, sheet).await,
            Self::Steady => pay::steady(scale, sheet).await,
            Self::Verify => read::verify(scale, sheet).await,
            Self::Retrieve => read::retrieve(scale, sheet).await,
            Self::List => read::list(scale, sheet).await,
            Self::Webhooks => webhooks::measure(scale, sheet).await,
            Self::Gateway => gateway::measure(scale, sheet).await,
            Self::Waiting => memory::waiting(scale, sheet).await,
            Self::Actors => memory::actors(scale, sheet).await,
            Self::Restart => restart::measure(scale, sheet).await,
            Self::History => history::measure(scale, sheet).await,
            Self::Console => console::measure(scale, sheet).await,
        }
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Few repetitions, to check that every part works; the figures mean nothing.
    pub tiny: bool,
}

impl Scale {
    pub fn count(self, full: u64, tiny: u64) -> u64 {
        if self.tiny { tiny } else { full }
    }

    pub fn time(self, full: Duration) -> Duration {
        if self.tiny { TINY } else { full }
    }
}

/// Fills a store with waiting payments, for a measurement that must not have made them itself.
pub async fn fill(folder: &Path, payments: u64) -> Result<()> {
    memory::fill(folder, payments).await
}

/// The receivers of webhooks, in a process of their own.
pub async fn receive() -> Result<()> {
    webhooks::serve().await
}

const TINY: Duration = Duration::from_millis(200);
