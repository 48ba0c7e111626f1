//! The log, on standard error: readable sentences with dotted fields (`request.id`, `transaction.id`), as text or as JSON.
//!
//! What is never logged: keys and tokens, credentials of gateways, webhook and mail secrets, request bodies, phone numbers. Types that
//! hold such things have no readable `Debug`; handlers log ids and outcomes, never what was sent.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::util::TryInitError;

use crate::config::{LogFormat, Settings};

/// Starts the log. Can be done once in a process.
///
/// # Errors
/// When something else has started one before.
pub fn start(settings: &Settings) -> Result<(), TryInitError> {
    // The level was checked with the other settings. What it says of these parts comes later, and wins.
    let filter = EnvFilter::new(format!("{QUIET},{}", settings.log.level));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match settings.log.format {
        LogFormat::Json => log.json().flatten_event(true).finish().try_init(),
        LogFormat::Text => log
            .with_ansi(std::io::stderr().is_terminal())
            .finish()
            .try_init(),
    }
}

/// Parts that say much at `info` that is of no use to an operator.
const QUIET: &str = "fjall=warn,lsm_tree=warn,sled=warn";
