//! The log, on standard error or in a file: readable sentences with dotted fields (`request.id`,
//! `transaction.id`), as text or as JSON.
//!
//! A line that cannot be written, on a full disk or into a closed pipe, is dropped and counted.
//! Nothing else fails because of it.
//!
//! Each answered request is one line at `info` (setting `log.requests`), with its id, its
//! transaction, the route, the status and the time.
//!
//! Never logged: keys and tokens, credentials of gateways, webhook and mail secrets, request
//! bodies, phone numbers. Types that hold such things have no readable `Debug`; handlers log ids
//! and outcomes, never bodies.

use std::fs::File;
use std::io::{self, IsTerminal as _, Stderr, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use parking_lot::RwLock;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{LogFormat, Settings};

/// Handle on the log that was started.
pub struct Log {
    set_filter: Box<dyn Fn(EnvFilter) -> Result<(), reload::Error> + Send + Sync>,
    output: Output,
}

/// Starts the log. Can be done once in a process.
///
/// # Errors
/// When something else has started one before, or the log file cannot be opened.
pub fn start(settings: &Settings) -> anyhow::Result<Log> {
    let output = Output::open(settings.log.file.as_deref())?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter(settings))
        // It would write about lost lines to standard error, and panic where that is closed.
        .log_internal_errors(false)
        .with_writer(output.clone());
    let set_filter: Box<dyn Fn(EnvFilter) -> _ + Send + Sync> = match settings.log.format {
        LogFormat::Json => {
            let log = log.json().flatten_event(true).with_filter_reloading();
            let handle = log.reload_handle();
            log.finish().try_init()?;
            Box::new(move |filter| handle.reload(filter))
        }
        LogFormat::Text => {
            let is_terminal = settings.log.file.is_none() && io::stderr().is_terminal();
            let log = log.with_ansi(is_terminal).with_filter_reloading();
            let handle = log.reload_handle();
            log.finish().try_init()?;
            Box::new(move |filter| handle.reload(filter))
        }
    };
    Ok(Log { set_filter, output })
}

impl Log {
    /// Reopens the log file, and applies `log.level` and `log.requests` from `settings`.
    ///
    /// # Errors
    /// When the file cannot be opened: the log then goes on in the one that is open.
    pub fn reload(&self, settings: &Settings) -> anyhow::Result<()> {
        (self.set_filter)(filter(settings))?;
        self.output.reopen()
    }
}

/// Which lines are written. The settings were checked before.
fn filter(settings: &Settings) -> EnvFilter {
    // The directives of the level come later and override these.
    let requests = if settings.log.requests {
        ""
    } else {
        NO_REQUESTS
    };
    EnvFilter::new(format!("{QUIET},{}{requests}", settings.log.level))
}

/// Destination of log lines.
#[derive(Clone)]
enum Output {
    Stderr,
    File(Arc<LogFile>),
}

struct LogFile {
    path: PathBuf,
    open: RwLock<Arc<File>>,
}

impl Output {
    fn open(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else {
            return Ok(Self::Stderr);
        };
        Ok(Self::File(Arc::new(LogFile {
            path: path.to_owned(),
            open: RwLock::new(Arc::new(appended(path)?)),
        })))
    }

    fn reopen(&self) -> anyhow::Result<()> {
        if let Self::File(file) = self {
            let again = Arc::new(appended(&file.path)?);
            *file.open.write() = again;
        }
        Ok(())
    }
}

fn appended(path: &Path) -> anyhow::Result<File> {
    let mut options = File::options();
    options.create(true).append(true).mode(0o640);
    let opened = options.open(path);
    opened.with_context(|| format!("failed to open the log file {} (log.file)", path.display()))
}

/// Writer of one line.
enum LineWriter {
    Stderr(Stderr),
    File(Arc<File>),
}

impl<'a> MakeWriter<'a> for Output {
    type Writer = LineWriter;

    fn make_writer(&'a self) -> LineWriter {
        match self {
            Self::Stderr => LineWriter::Stderr(io::stderr()),
            Self::File(file) => {
                let open = file.open.read();
                LineWriter::File(open.clone())
            }
        }
    }
}

impl LineWriter {
    fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stderr(stderr) => stderr.write(bytes),
            Self::File(file) => file.as_ref().write(bytes),
        }
    }
}

impl Write for LineWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.try_write(bytes) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                metrics::counter!("switchyard_log_lines_lost_total").increment(1);
                Ok(bytes.len())
            }
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        // Neither output has a buffer.
        Ok(())
    }
}

/// Parts that say much at `info` that is of no use to an operator.
const QUIET: &str = "sled=warn";
/// The name under which answered requests are logged.
pub const REQUESTS: &str = "switchyard::requests";
const NO_REQUESTS: &str = ",switchyard::requests=off";
