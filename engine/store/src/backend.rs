//! The backends of the store: how each is opened, and its log verified.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::error::OpenError;
use super::kv::checksum::WithChecksums;
use super::kv::sqlite::frames;
use super::kv::sqlite::tail::Tail;
use super::kv::sqlite::{Sqlite, database_of};
use super::kv::{Kv, KvError, memory, sled};
use super::mark::MarkPlace;
use super::place::StoreDirectory;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Sqlite,
    Sled,
    Memory,
}

impl Backend {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Sled => "sled",
            Self::Memory => "memory",
        }
    }

    pub(super) fn open(
        self,
        place: &StoreDirectory,
        cache_bytes: u64,
        tail: &Arc<Tail>,
    ) -> Result<Box<dyn Kv>, OpenError> {
        let open = |path: &Path| {
            self.open_at(path, cache_bytes, tail.clone())
                .map_err(|error| MarkPlace::of(place.path()).refusal(&error))
        };
        let path = place.backend_path(|path| open(path).map(drop))?;
        open(&path)
    }

    /// Opens a backend again that was open before. Nothing is made in place of missing files.
    pub(super) fn reopen(
        self,
        place: &StoreDirectory,
        cache_bytes: u64,
        tail: &Arc<Tail>,
    ) -> Result<Box<dyn Kv>, OpenError> {
        let path = place.path().join(self.name());
        let opened = match path.is_dir() {
            true => self.open_at(&path, cache_bytes, tail.clone()),
            false => {
                let fault = format!("its folder {} is missing", path.display());
                Err(KvError::DamagedDatabase(fault))
            }
        };
        opened.map_err(|error| MarkPlace::of(place.path()).refusal(&error))
    }

    /// Whether the files of the database are there and this user may write them. SQLite opens a
    /// database that this user may not write for reading only.
    pub(super) fn verify_files(self, place: &StoreDirectory) -> Result<(), OpenError> {
        match self {
            Self::Sqlite => sqlite_files(&place.path().join(self.name()))
                .map_err(|refused| MarkPlace::of(place.path()).complete(refused)),
            Self::Sled | Self::Memory => Ok(()),
        }
    }

    /// Whether the log is whole and belongs to the database, as far as the files can tell.
    pub(super) fn verify_log(self, place: &StoreDirectory) -> Result<(), OpenError> {
        match self {
            Self::Sqlite => frames::verify(&place.path().join(self.name()))
                .map_err(|refused| MarkPlace::of(place.path()).complete(refused)),
            Self::Sled | Self::Memory => Ok(()),
        }
    }

    /// Keeps the part of a damaged log that is whole, and nothing of a log that does not belong to
    /// the database. The log as it was is kept under another name.
    pub(super) fn set_log_aside(self, place: &StoreDirectory) -> Result<(), OpenError> {
        match self {
            Self::Sqlite => frames::set_aside(&place.path().join(self.name())),
            Self::Sled | Self::Memory => Ok(()),
        }
    }

    pub(super) fn open_at(
        self,
        path: &Path,
        cache_bytes: u64,
        tail: Arc<Tail>,
    ) -> Result<Box<dyn Kv>, KvError> {
        Ok(match self {
            Self::Sled => Box::new(WithChecksums(sled::Sled::open(path, cache_bytes)?)),
            Self::Sqlite => Box::new(WithChecksums(Sqlite::open(path, cache_bytes, tail)?)),
            Self::Memory => Box::new(memory::Memory::default()),
        })
    }
}

/// Checks the folder of an SQLite store, in which SQLite makes its log, and the files in it. A new
/// store has none.
fn sqlite_files(folder: &Path) -> Result<(), OpenError> {
    let is_new = fs::read_dir(folder).map_or(true, |mut files| files.next().is_none());
    let database = database_of(folder);
    if let Err(refused) = access(folder, Access::WRITE_OK | Access::EXEC_OK)
        && refused == Errno::ACCESS
    {
        return Err(OpenError::Unwritable {
            path: folder.to_owned(),
            source: refused.into(),
        });
    }
    for path in [&database, &frames::log_of(folder)] {
        // No connection of this process is open yet: closing a file of one would drop its locks.
        match File::options().write(true).open(path) {
            Ok(_) => {}
            Err(source) if source.kind() == io::ErrorKind::NotFound => {
                if !is_new && *path == database {
                    return Err(OpenError::DamagedDatabase {
                        path: folder.to_owned(),
                        fault: format!("its file {} is missing", path.display()),
                    });
                }
            }
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                let path = path.to_owned();
                return Err(OpenError::Unwritable { path, source });
            }
            Err(_) => {} // another fault, of which the opening says more
        }
    }
    Ok(())
}
