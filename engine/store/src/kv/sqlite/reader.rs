//! Connections that read a database beside the server, in its process or in another one: checks,
//! backups and queries.
//!
//! A read that lasts is right only while the server sees it, through the index of the log. It ends
//! soon after the index was lost, and its result does not count: see [`InPlace`].

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tokio::time::Instant;

use super::super::KvError;
use super::in_place::{InPlace, Opener};
use super::{FILE, first_read, pages};

/// The use of the database file by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// A server writes to it.
    Running,
    /// No server has it open, but one may be started.
    Stopped,
    /// No process changes it: a backup. Nothing is made beside it.
    Copy,
}

/// A read-only connection.
pub(super) struct Reader {
    connection: Connection,
    access: Access,
    /// `None`: a backup. Ends after the connection.
    files: Option<Arc<InPlace>>,
}

impl Reader {
    /// Opens the database in a folder. Beside a server that opens it again, waits for seconds.
    ///
    /// # Errors
    /// When it cannot be read. [`KvError::IndexNotInPlace`] when the server does not make a new
    /// index.
    pub(super) fn open(folder: &Path, access: Access) -> Result<Self, KvError> {
        let begun = Instant::now();
        loop {
            match Self::open_now(folder, access) {
                Err(KvError::IndexNotInPlace) if begun.elapsed() < RETRY_WINDOW => {
                    thread::sleep(AGAIN);
                }
                opened => return opened,
            }
        }
    }

    fn open_now(folder: &Path, access: Access) -> Result<Self, KvError> {
        let opener = match access {
            Access::Running => Opener::BesideServer,
            Access::Stopped => Opener::Alone,
            Access::Copy => {
                return Ok(Self {
                    connection: connect(folder, access)?,
                    access,
                    files: None,
                });
            }
        };
        let (mut connection, files) = InPlace::open(folder, opener, || {
            let connection = connect(folder, access)?;
            first_read(&connection)?;
            Ok(connection)
        })?;
        let (watched, mut verified) = (files.clone(), Instant::now());
        let must_end = move || {
            let is_due = verified.elapsed() >= AGAIN;
            if is_due {
                verified = Instant::now();
            }
            is_due && watched.verify().is_err()
        };
        connection.progress_handler(STEPS, Some(must_end))?;
        Ok(Self {
            connection,
            access,
            files: Some(files),
        })
    }

    /// Verifies the place of the files.
    pub(super) fn verify(&self) -> Result<(), KvError> {
        match &self.files {
            Some(files) => files.verify().map(drop),
            None => Ok(()),
        }
    }

    /// Waits until a server has verified its files once more: an index that was lost before the
    /// call is known then.
    pub(super) fn verify_with_server(&self) -> Result<(), KvError> {
        let begun = Instant::now();
        while self.access == Access::Running && begun.elapsed() < VERIFIED {
            self.verify()?;
            thread::sleep(AGAIN);
        }
        self.verify()
    }
}

impl Deref for Reader {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

pub(super) fn connect(folder: &Path, access: Access) -> Result<Connection, KvError> {
    let file = folder.join(FILE);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match access {
        Access::Running | Access::Stopped => pages::open(&file, flags)?,
        Access::Copy => pages::open_immutable(&file, flags)?,
    };
    connection.busy_timeout(BUSY)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

const BUSY: Duration = Duration::from_secs(5);
/// How long a reader waits for a server that opens its database again.
const RETRY_WINDOW: Duration = Duration::from_secs(10);
/// Time between two verifications of a read that lasts.
const AGAIN: Duration = Duration::from_millis(50);
/// Time within which a server has verified its files, which it does once a second.
const VERIFIED: Duration = Duration::from_millis(1_200);
/// Steps of SQLite between two looks at the time: each may read a page.
const STEPS: i32 = 32;
