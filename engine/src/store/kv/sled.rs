//! The sled engine, the second choice: all tables in one tree, told apart by the first byte of the key.
//!
//! Reads may see a batch that is applied and not yet flushed; it is acknowledged only after the flush. On Linux sled flushes
//! with `sync_file_range`, which leaves the data in the disk's cache and the file's length unwritten, and it never flushes the
//! files it keeps large nodes in. So this engine follows every flush with an `fdatasync` of all that sled wrote.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use ::sled::{Batch, Config, Db, Error, Mode};

use super::{Kv, KvError, Scan, WriteFailed, before, contained};
use crate::store::batch::Change;
use crate::store::table::Table;
use crate::store::{Direction, KeyValues};

pub(in crate::store) struct Sled {
    database: Db,
    /// The file that sled writes to, opened a second time: a sync works on the file, whoever wrote to it.
    file: File,
    /// Where sled puts nodes that are too large for its file, one file each, and those of them that are known to be durable.
    blobs: PathBuf,
    durable_blobs: Mutex<BTreeSet<OsString>>,
    /// Held for reading by a scan and for writing while a batch is applied: a scan never shows half of one.
    applying: RwLock<()>,
}

impl Sled {
    pub(in crate::store) fn open(path: &Path, cache_bytes: u64) -> Result<Self, KvError> {
        contained(|| Self::open_tree(path, cache_bytes))
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
        let engine = Self {
            database,
            file: File::open(path.join("db"))?,
            blobs: path.join("blobs"),
            durable_blobs: Mutex::default(),
            applying: RwLock::new(()),
        };
        engine.sync()?;
        // The names of the files are data as well.
        File::open(path)?.sync_all()?;
        Ok(engine)
    }

    fn commit(&self, changes: &[Change<'_>]) -> Result<(), KvError> {
        let mut batch = Batch::default();
        for change in changes {
            let key = tree_key(change.table, change.key);
            match change.value {
                Some(value) => batch.insert(key, value),
                None => batch.remove(key),
            }
        }
        {
            let _applying = self
                .applying
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            self.database.apply_batch(batch)?;
        }
        self.database.flush()?;
        Ok(self.sync()?)
    }

    /// Makes durable what sled has handed to the operating system.
    fn sync(&self) -> io::Result<()> {
        let mut durable = self
            .durable_blobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
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
        let value = self.database.get(tree_key(table, key))?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn scan(&self, scan: &Scan<'_>) -> Result<KeyValues, KvError> {
        let from = tree_key(scan.table, scan.from);
        let to = tree_key(scan.table, scan.to);
        let row = |row: Result<(::sled::IVec, ::sled::IVec), Error>| {
            let (key, value) = row?;
            Ok((key[1..].to_vec(), value.to_vec()))
        };
        let _applying = self.applying.read().unwrap_or_else(PoisonError::into_inner);
        let range = self.database.range(from..to);
        match scan.direction {
            Direction::Forward => range.take(scan.limit).map(row).collect(),
            Direction::Backward => range.rev().take(scan.limit).map(row).collect(),
        }
    }

    fn write(&self, changes: &[Change<'_>]) -> Result<(), WriteFailed> {
        let failed = |error, undo| WriteFailed {
            error,
            undo,
            readable: false,
        };
        // Read before, because a batch that fails to be flushed is already visible.
        let undo = before(self, changes).map_err(|error| failed(error, Vec::new()))?;
        contained(|| self.commit(changes)).map_err(|error| failed(error, undo))
    }
}

/// sled's own threads may hold its file for a moment after it was closed. Nobody else can: the store has locked the directory.
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
    Err(KvError(
        "a handle on it that was closed does not let it go".to_owned(),
    ))
}

/// sled writes a snapshot under another name first, and when a crash leaves it half written takes it for a damaged one and does
/// not open. The snapshot before it is still there, and so is the log.
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
        Self(match error {
            Error::Io(error) => error.to_string(),
            other => other.to_string(),
        })
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
        let engine = Sled::open(directory.path(), 1024 * 1024).unwrap();
        engine.write(&[change]).unwrap();
        drop(engine);
        let half = directory.path().join("snap.FFFFFFFFFFFFFFFF.generating");
        fs::write(half, "half").unwrap();
        let engine =
            Sled::open(directory.path(), 1024 * 1024).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            engine.get(Table::Meta, b"key").unwrap(),
            Some(b"value".to_vec())
        );
    }
}
