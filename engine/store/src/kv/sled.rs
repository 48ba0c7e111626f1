//! The sled backend, the second choice: all tables in one tree, told apart by the first byte of the
//! key.
//!
//! sled shows a batch before it is flushed. So reads wait while a batch is in flight, and are
//! refused after one that failed: they see nothing that a power cut could take back. On Linux sled
//! flushes with `sync_file_range`, which leaves the data in the disk's cache and the file's length
//! unwritten, and it never flushes the files it keeps large nodes in. So this backend follows every
//! flush with an `fdatasync` of all that sled wrote.
//!
//! sled leaves out a change that it finds damaged in its log. So all rows are read when it opens,
//! and compared with what was written ([`contents`]).

mod contents;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use ::sled::{Batch, Config, Db, Error, Mode};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use self::contents::Contents;
use super::checksum::read_failed;
use super::{Kv, KvError, PANICKED, Row, Scan, WriteFailed, before, contained};
use crate::batch::Change;
use crate::opened::Opened;
use crate::table::Table;
use crate::{Direction, KeyValues};

pub(crate) struct Sled {
    database: Db,
    /// File that sled writes to, opened a second time: a sync flushes all writes to the file.
    file: File,
    /// Folder of nodes that are too large for sled's file, one file each, and the durable ones of
    /// them.
    blobs: PathBuf,
    durable_blobs: Mutex<BTreeSet<OsString>>,
    /// Held for reading by every read, and for writing from before a batch is applied until it is
    /// durable: a read shows neither half of one nor one that may be lost. The value stays `true`
    /// when the batch did not become durable.
    applying: RwLock<bool>,
    /// All rows after the last durable batch. Only the writer changes it.
    contents: Mutex<Contents>,
    /// The file and the folder of nodes.
    files: [Opened; 2],
}

impl Sled {
    /// Opens the database and reads all of its rows.
    ///
    /// # Errors
    /// [`KvError::DamagedDatabase`] when the rows are not those that were written.
    pub(crate) fn open(path: &Path, cache_bytes: u64) -> Result<Self, KvError> {
        let backend = Self::open_unread(path, cache_bytes)?;
        match backend.fault()? {
            Some(fault) => Err(KvError::DamagedDatabase(fault)),
            None => Ok(backend),
        }
    }

    /// Opens the database without reading its rows, for a check that reports each fault.
    pub(crate) fn open_unread(path: &Path, cache_bytes: u64) -> Result<Self, KvError> {
        contained(|| Self::open_tree(path, cache_bytes)).map_err(|error| match error {
            // sled panics on some damage of its file.
            KvError::Failed(reason) if reason == PANICKED => KvError::DamagedDatabase(reason),
            error => error,
        })
    }

    /// The difference between the rows and the contents that were written. `None`: there is none.
    pub(crate) fn fault(&self) -> Result<Option<String>, KvError> {
        contained(|| {
            let counted = Contents::counted(&self.database)?;
            Ok(self.contents.lock().fault(counted))
        })
    }

    fn open_tree(path: &Path, cache_bytes: u64) -> Result<Self, KvError> {
        wait_for_the_last_handle(path)?;
        remove_unfinished_snapshots(path)?;
        let database = Config::new()
            .path(path)
            .cache_capacity(cache_bytes)
            .mode(Mode::HighThroughput)
            .flush_every_ms(None) // only an acknowledgment needs a flush
            .open()?;
        let contents = Contents::stored(&database)?;
        let (file, blobs) = (path.join("db"), path.join("blobs"));
        let backend = Self {
            contents: Mutex::new(contents.unwrap_or_default()),
            database,
            file: File::open(&file)?,
            files: [Opened::at(file)?, Opened::at(blobs.clone())?],
            blobs,
            durable_blobs: Mutex::default(),
            applying: RwLock::new(false),
        };
        backend.sync()?;
        // The names of the files are data as well.
        File::open(path)?.sync_all()?;
        Ok(backend)
    }

    /// Makes `changes` of the rows that were `before` them durable.
    fn commit(&self, changes: &[Change<'_>], before: &[Row]) -> Result<(), KvError> {
        let mut batch = Batch::default();
        let contents = self.contents.lock().after(changes, before);
        let (key, value) = contents.row();
        batch.insert(key, value);
        for change in changes {
            let key = tree_key(change.table, change.key);
            match change.value {
                Some(value) => batch.insert(key, value),
                None => batch.remove(key),
            }
        }
        let mut applying = self.applying.write();
        *applying = true;
        self.database.apply_batch(batch)?;
        self.database.flush()?;
        self.sync()?;
        *applying = false;
        *self.contents.lock() = contents;
        Ok(())
    }

    /// Guard of a read: no batch is applied while it is held.
    fn durable(&self) -> Result<RwLockReadGuard<'_, bool>, KvError> {
        let applying = self.applying.read();
        match *applying {
            false => Ok(applying),
            true => Err(KvError::Failed(
                "the last batch could not be flushed, the backend is opened again".to_owned(),
            )),
        }
    }

    /// Makes durable what sled has handed to the operating system.
    fn sync(&self) -> io::Result<()> {
        let mut durable = self.durable_blobs.lock();
        let mut present = BTreeSet::new();
        let mut is_new = false;
        for entry in fs::read_dir(&self.blobs)? {
            let entry = entry?;
            if !durable.contains(&entry.file_name()) {
                File::open(entry.path())?.sync_data()?;
                is_new = true;
            }
            present.insert(entry.file_name());
        }
        if is_new {
            File::open(&self.blobs)?.sync_all()?;
        }
        *durable = present;
        self.file.sync_data()
    }
}

impl Kv for Sled {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        let _durable = self.durable()?;
        let value = contained(|| Ok(self.database.get(tree_key(table, key))?));
        let value = value.map_err(|error| read_failed(error, table, key))?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn scan(&self, scan: &Scan<'_>) -> Result<KeyValues, KvError> {
        let from = tree_key(scan.table, scan.from);
        let to = tree_key(scan.table, scan.to);
        let row = |row: Result<(::sled::IVec, ::sled::IVec), Error>| {
            let (key, value) = row?;
            Ok((key[1..].to_vec(), value.to_vec()))
        };
        let _durable = self.durable()?;
        let rows = contained(|| {
            let range = self.database.range(from..to);
            match scan.direction {
                Direction::Forward => range.take(scan.limit).map(row).collect(),
                Direction::Backward => range.rev().take(scan.limit).map(row).collect(),
            }
        });
        rows.map_err(|error| read_failed(error, scan.table, scan.from))
    }

    fn write(&self, changes: &[Change<'_>]) -> Result<(), WriteFailed> {
        let failed = |error, undo| WriteFailed {
            error,
            undo,
            readable: false,
        };
        let displaced = |error| WriteFailed {
            error,
            undo: Vec::new(), // it was not begun, or it was made in a file that is not found again
            readable: true,
        };
        self.verify_place().map_err(displaced)?;
        // Read before, because sled shows a batch that fails to be flushed. Reading takes the lock
        // that the commit takes after it.
        let undo =
            contained(|| before(self, changes)).map_err(|error| failed(error, Vec::new()))?;
        match contained(|| self.commit(changes, &undo)) {
            Ok(()) => match self.verify_place() {
                Err(lost @ KvError::NotInPlace(_)) => Err(displaced(lost)),
                _ => Ok(()),
            },
            Err(error) => Err(failed(error, undo)),
        }
    }

    /// A file that was cut off is not noticed: sled itself shortens it, too.
    fn verify_place(&self) -> Result<(), KvError> {
        self.files
            .iter()
            .try_for_each(|file| file.verify().map(drop))
    }
}

/// sled's own threads may hold its file for a moment after it was closed. Nobody else can: the
/// store has locked the directory.
fn wait_for_the_last_handle(path: &Path) -> Result<(), KvError> {
    let file = match File::open(path.join("db")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    for _ in 0..LAST_HANDLE_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(()), // and let go with the file
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(10)),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
    }
    Err(KvError::Failed(
        "a handle on it that was closed does not let it go".to_owned(),
    ))
}

/// sled writes a snapshot under another name first, and when a crash leaves it half written takes
/// it for a damaged one and does not open. The snapshot before it is still there, and so is the
/// log.
fn remove_unfinished_snapshots(path: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_string_lossy().ends_with(".generating") {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn tree_key(table: Table, key: &[u8]) -> Vec<u8> {
    let mut tree_key = Vec::with_capacity(1 + key.len());
    tree_key.push(table.number());
    tree_key.extend_from_slice(key);
    tree_key
}

impl From<Error> for KvError {
    fn from(error: Error) -> Self {
        match error {
            Error::Corruption { at, .. } => {
                let place = at.map_or_else(String::new, |at| format!(" at {at:?}"));
                Self::DamagedDatabase(format!("sled read damaged data{place}"))
            }
            Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Self::UnreadablePage(error.to_string())
            }
            Error::Io(error) => Self::Failed(error.to_string()),
            other => Self::Failed(other.to_string()),
        }
    }
}

/// Ten seconds in all: sled flushes what it has when it is closed.
const LAST_HANDLE_TRIES: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_that_a_crash_left_half_written_does_not_keep_sled_from_opening() {
        let directory = tempfile::tempdir().unwrap();
        let change = Change {
            table: Table::Meta,
            key: b"key",
            value: Some(b"value"),
        };
        let backend = Sled::open(directory.path(), 1024 * 1024).unwrap();
        backend.write(&[change]).unwrap();
        drop(backend);
        let half = directory.path().join("snap.FFFFFFFFFFFFFFFF.generating");
        fs::write(half, "half").unwrap();
        let backend =
            Sled::open(directory.path(), 1024 * 1024).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            backend.get(Table::Meta, b"key").unwrap(),
            Some(b"value".to_vec())
        );
    }

    #[test]
    fn a_page_that_sled_cannot_read_is_damage_and_a_full_disk_is_not() {
        let errors = [
            (Error::Corruption { at: None, bt: () }, true, true),
            (Error::Io(io::ErrorKind::UnexpectedEof.into()), true, false),
            (Error::Io(io::ErrorKind::StorageFull.into()), false, false),
        ];
        for (error, is_damage, is_of_row) in errors {
            let error = KvError::from(error);
            assert_eq!(error.is_damage(), is_damage, "{error}");
            let of_row = read_failed(error, Table::Event, b"a");
            assert_eq!(matches!(of_row, KvError::Damaged { .. }), is_of_row);
        }
    }

    #[test]
    fn a_batch_that_could_not_be_flushed_is_not_shown() {
        let directory = tempfile::tempdir().unwrap();
        let change = |value| Change {
            table: Table::Meta,
            key: b"key",
            value: Some(value),
        };
        let backend = Sled::open(directory.path(), 1024 * 1024).unwrap();
        backend.write(&[change(b"before")]).unwrap();
        // Applied and flushed by sled, but not synced.
        std::os::unix::fs::symlink("nothing", directory.path().join("blobs/node")).unwrap();
        let failed = backend.write(&[change(b"after")]).unwrap_err();
        assert_eq!(failed.undo[0].value, Some(b"before".to_vec()));
        assert!(backend.get(Table::Meta, b"key").is_err());
        let all = Scan {
            table: Table::Meta,
            from: b"",
            to: b"z",
            direction: Direction::Forward,
            limit: 10,
        };
        assert!(backend.scan(&all).is_err());
    }
}
