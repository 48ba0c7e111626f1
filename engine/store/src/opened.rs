//! A file that is open, and whether its path still leads to it.
//!
//! Writes to a file that was deleted or moved succeed, and are gone when it is closed.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::kv::KvError;

/// A file or folder that is open.
pub(super) struct Opened {
    path: PathBuf,
    identity: FileIdentity,
}

/// Device and number of a file.
pub(super) type FileIdentity = (u64, u64);

impl Opened {
    /// The file that its path leads to now.
    pub(super) fn at(path: PathBuf) -> io::Result<Self> {
        let identity = identity_of(&fs::metadata(&path)?);
        Ok(Self { path, identity })
    }

    pub(super) fn is(&self, identity: FileIdentity) -> bool {
        self.identity == identity
    }

    /// Returns the length.
    ///
    /// # Errors
    /// [`KvError::NotInPlace`] when its path leads to nothing, or to another file.
    pub(super) fn verify(&self) -> Result<u64, KvError> {
        match found(&self.path)? {
            Some(found) if self.is(identity_of(&found)) => Ok(found.len()),
            Some(_) => Err(self.fault("was replaced")),
            None => Err(self.fault("is gone")),
        }
    }

    pub(super) fn fault(&self, fault: &str) -> KvError {
        let path = self.path.display();
        KvError::NotInPlace(format!(
            "the file {path} {fault} while the store is open: put it back while the server runs, \
             which has it open, or restore a backup"
        ))
    }
}

/// The file that a path leads to. `None`: there is none.
pub(super) fn found(path: &Path) -> io::Result<Option<fs::Metadata>> {
    match fs::metadata(path) {
        Err(error) if IS_GONE.contains(&error.kind()) => Ok(None),
        found => found.map(Some),
    }
}

pub(super) fn identity_of(file: &fs::Metadata) -> FileIdentity {
    (file.dev(), file.ino())
}

/// Errors of a file that was deleted, moved or unmounted.
pub(super) const IS_GONE: [io::ErrorKind; 3] = [
    io::ErrorKind::NotFound,
    io::ErrorKind::NotADirectory,
    io::ErrorKind::StaleNetworkFileHandle,
];
