//! Whether the files of an open database are still those at its path. A connection that is opened
//! later would read another file.
//!
//! Connections find the pages of the log, and tell each other of their reads, through an index in
//! shared memory, a third file. Everything in it can be read from the log. When it was deleted or
//! replaced, other processes do not see the reads and writes of this one. When it was overwritten
//! with an older one, this process sees an older end of the log: the last commit group is compared
//! in each transaction. In both cases the database is opened again, and reads its log anew.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::KvError;
use super::{database_of, frames, index_of};
use crate::opened::{FileIdentity, Opened, identity_of};

/// The files of an open database.
pub(super) struct InPlace {
    database: Opened,
    log: Opened,
    index: Opened,
    /// Length of the database that it keeps.
    kept: AtomicU64,
}

/// Lengths of the files.
pub(super) struct Lengths {
    pub database: u64,
    pub log: u64,
}

/// Identity of the database file in `folder`.
pub(super) fn identity(folder: &Path) -> io::Result<FileIdentity> {
    fs::metadata(database_of(folder)).map(|file| identity_of(&file))
}

impl InPlace {
    /// The files in `folder`, which a connection has opened.
    pub(super) fn of(folder: &Path) -> Result<Self, KvError> {
        Ok(Self {
            database: Opened::at(database_of(folder))?,
            log: Opened::at(frames::log_of(folder))?,
            index: Opened::at(index_of(folder))?,
            kept: AtomicU64::new(0),
        })
    }

    /// Whether the database is the file with this identity.
    pub(super) fn must_be(&self, identity: FileIdentity) -> Result<(), KvError> {
        match self.database.is(identity) {
            true => Ok(()),
            false => Err(self.database.fault("was replaced")),
        }
    }

    /// Verifies the files.
    ///
    /// # Errors
    /// [`KvError::NotInPlace`] when the database or its log is gone or another one, or the database
    /// was cut off. [`KvError::IndexNotInPlace`] when only the index is not in its place.
    pub(super) fn verify(&self) -> Result<Lengths, KvError> {
        let database = self.database.verify()?;
        if database < self.kept() {
            return Err(self.database.fault("was cut off"));
        }
        let log = self.log.verify()?;
        match self.index.verify() {
            Err(KvError::NotInPlace(_)) => return Err(KvError::IndexNotInPlace),
            verified => verified?,
        };
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
