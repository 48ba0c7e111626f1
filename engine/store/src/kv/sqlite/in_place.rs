//! Whether the files of an open database are still those at its path.
//!
//! Writes to a file that was deleted or moved succeed, and are gone when it is closed. A connection
//! that is opened later would read another file.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::KvError;
use super::{database_of, frames};
use crate::copier::IS_GONE;

/// The files of an open database.
pub(super) struct InPlace {
    database: Opened,
    log: Opened,
    /// Length of the database that it keeps.
    kept: AtomicU64,
}

/// Lengths of the files.
pub(super) struct Lengths {
    pub database: u64,
    pub log: u64,
}

/// A file that is open.
struct Opened {
    path: PathBuf,
    identity: Identity,
}

/// Device and number of a file.
type Identity = (u64, u64);

/// Identity of the database file in `folder`.
pub(super) fn identity(folder: &Path) -> io::Result<Identity> {
    fs::metadata(database_of(folder)).map(|file| identity_of(&file))
}

impl InPlace {
    /// The files in `folder`, which a connection has opened.
    pub(super) fn of(folder: &Path) -> Result<Self, KvError> {
        let opened = |path: PathBuf| {
            let identity = identity_of(&fs::metadata(&path)?);
            io::Result::Ok(Opened { path, identity })
        };
        Ok(Self {
            database: opened(database_of(folder))?,
            log: opened(frames::log_of(folder))?,
            kept: AtomicU64::new(0),
        })
    }

    /// Whether the database is the file with this identity.
    pub(super) fn must_be(&self, identity: Identity) -> Result<(), KvError> {
        match self.database.identity == identity {
            true => Ok(()),
            false => Err(self.database.fault("was replaced")),
        }
    }

    /// Verifies both files.
    ///
    /// # Errors
    /// [`KvError::NotInPlace`] when one is gone or another one, or the database was cut off.
    pub(super) fn verify(&self) -> Result<Lengths, KvError> {
        let database = self.database.verify()?;
        if database < self.kept() {
            return Err(self.database.fault("was cut off"));
        }
        let log = self.log.verify()?;
        Ok(Lengths { database, log })
    }

    /// Length that the database had and must keep.
    pub(super) fn kept(&self) -> u64 {
        self.kept.load(Ordering::Relaxed)
    }

    /// Notes that the database has this length, and pages in all of it. Behind its last page it may
    /// become shorter.
    pub(super) fn keep(&self, length: u64) {
        self.kept.fetch_max(length, Ordering::Relaxed);
    }

    /// The error for a log that lacks pages.
    pub(super) fn log_is_cut_off(&self) -> KvError {
        self.log.fault("was cut off")
    }
}

impl Opened {
    /// Returns the length.
    fn verify(&self) -> Result<u64, KvError> {
        match fs::metadata(&self.path) {
            Ok(found) if identity_of(&found) == self.identity => Ok(found.len()),
            Ok(_) => Err(self.fault("was replaced")),
            Err(error) if IS_GONE.contains(&error.kind()) => Err(self.fault("is gone")),
            Err(error) => Err(error.into()),
        }
    }

    fn fault(&self, fault: &str) -> KvError {
        let path = self.path.display();
        KvError::NotInPlace(format!(
            "the file {path} {fault} while the store is open: put it back while the server runs, \
             which has it open, or restore a backup"
        ))
    }
}

fn identity_of(file: &fs::Metadata) -> Identity {
    (file.dev(), file.ino())
}
