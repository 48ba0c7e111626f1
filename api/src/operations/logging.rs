//! The log, on standard error: readable sentences with dotted fields (`request.id`, `transaction.id`), as text or as JSON.
//!
//! Each answered request is one line at `info` (setting `log.requests`), with its id, its transaction, the route, the status and the time.
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
    let requests = if settings.log.requests {
        ""
    } else {
        NO_REQUESTS
    };
    let filter = EnvFilter::new(format!("{QUIET},{}{requests}", settings.log.level));
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
/// The name under which answered requests are logged.
pub const REQUESTS: &str = "switchyard::requests";
const NO_REQUESTS: &str = ",switchyard::requests=off";
