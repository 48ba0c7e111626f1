//! The fjall engine, the default: a log-structured merge tree for each table, one journal for all.
//!
//! A batch goes to the journal, the journal is flushed with `fdatasync`, and only then do the rows become visible: reads see
//! nothing that a power cut could take back.

mod basket;
mod journal;
mod recent;
mod runway;

#[cfg(feature = "fuzzing")]
pub(in crate::store) use self::journal::torn_batch;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ::fjall::config::CompressionPolicy;
use ::fjall::{
    CompressionType, Database, Error, JournalRecoveryError, Keyspace, KeyspaceCreateOptions,
    OwnedWriteBatch, PersistMode, Readable,
};

use self::basket::Basket;
use self::recent::Recent;
use self::runway::Runway;
use super::{Kv, KvError, Scan, WriteFailed, before, contained};
use crate::store::batch::Change;
use crate::store::table::Table;
use crate::store::{Direction, KeyValues};

pub(in crate::store) struct Fjall {
    /// One tree a table, in the order of [`Table::ALL`]: a look-up or a scan never crosses another table's rows.
    keyspaces: Vec<Keyspace>,
    database: Database,
    /// Rows of [`Table::Index`].
    recent: Recent,
    /// None where it cannot be made: then fjall removes its journals in one go.
    basket: Option<Basket>,
    /// Bytes written since the basket looked.
    unseen: AtomicUsize,
    /// Bytes written since there was seen to be room.
    unchecked: AtomicUsize,
    /// None where it cannot be laid: then each flush waits for the file system's own books.
    runway: Mutex<Option<Runway>>,
}

impl Fjall {
    pub(in crate::store) fn open(path: &Path, cache_bytes: u64) -> Result<Self, KvError> {
        contained(|| match Self::open_keyspaces(path, cache_bytes) {
            Err(Error::JournalRecovery(JournalRecoveryError::ChecksumMismatch))
                if journal::drop_torn_batch(path)? =>
            {
                tracing::warn!(
                    "a batch that a power cut had torn was dropped, it was not acknowledged"
                );
                Ok(Self::open_keyspaces(path, cache_bytes)?)
            }
            opened => Ok(opened?),
        })
    }

    fn open_keyspaces(path: &Path, cache_bytes: u64) -> Result<Self, Error> {
        let database = Database::builder(path)
            .cache_size(cache_bytes - cache_bytes / RECENT_SHARE)
            .max_journaling_size(JOURNAL_BYTES)
            .worker_threads(WORKERS)
            .manual_journal_persist(true)
            .open()?;
        let mut keyspaces = Vec::with_capacity(Table::ALL.len());
        for table in Table::ALL {
            keyspaces.push(database.keyspace(table.name(), || {
                KeyspaceCreateOptions::default()
                    .max_memtable_size(memtable_bytes(table, cache_bytes))
                    // fjall begins with the third level, which most tables never reach: a payment took 960 bytes of them, and takes 300.
                    .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
                    .manual_journal_persist(true)
            })?);
        }
        // Keyspaces that were just made are rows of fjall's own, and those must not hang on the first commit's flush.
        database.persist(PersistMode::SyncAll)?;
        let basket = Basket::of(path)
            .inspect_err(|error| tracing::debug!(%error, "the store has no basket"));
        let runway = Runway::of(path)
            .inspect_err(|error| tracing::debug!(%error, "the store has no runway"));
        Ok(Self {
            keyspaces,
            database,
            recent: Recent::new(cache_bytes / RECENT_SHARE),
            basket: basket.ok(),
            unseen: AtomicUsize::new(0),
            unchecked: AtomicUsize::new(SMALL_BATCH),
            runway: Mutex::new(runway.ok()),
        })
    }

    fn keyspace(&self, table: Table) -> &Keyspace {
        &self.keyspaces[table.position()]
    }

    /// Waits while the background threads are behind with what was written.
    ///
    /// fjall does the same inside a commit, but there it waits for ever when the thread it waits for has died of a full disk.
    /// Waiting here, with a margin that a single batch can not use up, and asking for the state of the database each time,
    /// turns that into an error.
    ///
    /// Small batches count as one until they are a [`SMALL_BATCH`] together: to look takes locks that fjall holds while it flushes its
    /// list of tables.
    fn wait_for_room(&self, batch_bytes: usize) -> Result<(), Error> {
        let unchecked = self.unchecked.load(Ordering::Relaxed) + batch_bytes;
        self.unchecked.store(unchecked, Ordering::Relaxed);
        if unchecked <= SMALL_BATCH {
            return Ok(());
        }
        let sealed = if batch_bytes <= SMALL_BATCH {
            SEALED_MEMTABLES
        } else {
            SEALED_MEMTABLES - 1
        };
        let is_behind = |keyspace: &Keyspace| {
            keyspace.sealed_memtable_count() >= sealed
                || keyspace.l0_table_count() >= LEVEL_0_TABLES
        };
        while self.keyspaces.iter().any(is_behind) {
            self.database.persist(PersistMode::Buffer)?;
            thread::sleep(Duration::from_millis(1));
        }
        self.unchecked.store(batch_bytes, Ordering::Relaxed);
        Ok(())
    }

    fn commit(&self, changes: &[Change<'_>]) -> Result<(), Error> {
        let bytes = |change: &Change<'_>| {
            change.key.len() + change.value.map_or(0, <[u8]>::len) + ROW_BYTES
        };
        let bytes = changes.iter().map(bytes).sum();
        self.wait_for_room(bytes)?;
        let mut batch = OwnedWriteBatch::with_capacity(self.database.clone(), changes.len())
            .durability(Some(PersistMode::SyncData));
        for change in changes {
            let keyspace = self.keyspace(change.table);
            match change.value {
                Some(value) => batch.insert(keyspace, change.key, value),
                None => batch.remove(keyspace, change.key),
            }
        }
        let mut runway = self.runway.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runway) = runway.as_mut() {
            runway.lay(bytes);
        }
        let lines = changes
            .iter()
            .filter(|change| change.table == Table::Index)
            .map(|change| change.key);
        // Nobody commits while the runway is laid.
        self.recent.change(lines, || batch.commit())?;
        drop(runway);
        self.note_written(bytes);
        Ok(())
    }

    fn note_written(&self, bytes: usize) {
        let unseen = self.unseen.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if let Some(basket) = self.basket.as_ref().filter(|_| unseen >= LOOK_BYTES) {
            self.unseen.store(0, Ordering::Relaxed);
            basket.look();
        }
    }
}

impl Kv for Fjall {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        let read = || Ok(self.keyspace(table).get(key)?.map(|value| value.to_vec()));
        match table {
            // Customers come back: their lines are what is asked for again and again.
            Table::Index => self.recent.get(key, read),
            _ => read(),
        }
    }

    fn scan(&self, scan: &Scan<'_>) -> Result<KeyValues, KvError> {
        // A snapshot, because a range on its own shows the rows of a batch one by one as they are applied.
        let range = self
            .database
            .snapshot()
            .range(self.keyspace(scan.table), scan.from..scan.to);
        let row = |guard: ::fjall::Guard| {
            let (key, value) = guard.into_inner()?;
            Ok((key.to_vec(), value.to_vec()))
        };
        match scan.direction {
            Direction::Forward => range.take(scan.limit).map(row).collect(),
            Direction::Backward => range.rev().take(scan.limit).map(row).collect(),
        }
    }

    fn write(&self, changes: &[Change<'_>]) -> Result<(), WriteFailed> {
        contained(|| Ok(self.commit(changes)?)).map_err(|error| WriteFailed {
            error,
            // fjall shows a batch only after its flush, so a failed one has changed nothing that can be read.
            undo: contained(|| before(self, changes)).unwrap_or_default(),
            readable: true,
        })
    }
}

impl From<Error> for KvError {
    fn from(error: Error) -> Self {
        Self(match error {
            Error::Io(error) => error.to_string(),
            Error::Poisoned => "the engine stopped itself after an error of the disk".to_owned(),
            other => other.to_string(),
        })
    }
}

/// fjall keeps its first worker for writing memtables out. While all others are compacting, that one passes every request to compact back
/// into the queue, again and again: with the two workers that a machine of two cores would get, it took a fifth of a core.
const WORKERS: usize = 4;
/// Rows of a table that are in memory before they are written out, as a share of the memory for what was read: who gives little to one
/// has little for both. fjall keeps what a table was made with.
///
/// Snapshots are most of what is written: with a small one their table was always being written out, and commits waited for that. Counts
/// are few rows that change with every commit: what a scan of them has to pass are their versions in memory.
const fn memtable_bytes(table: Table, cache_bytes: u64) -> u64 {
    match table {
        Table::Transaction => cache_bytes / 2,
        Table::Count => cache_bytes / 32,
        _ => cache_bytes / 8,
    }
}

/// The share of the memory for what was read that goes to single rows; blocks of the tables have the rest.
const RECENT_SHARE: u64 = 4;
/// Journals on disk before their rows are forced into tables: what an opening after a crash has to read again.
const JOURNAL_BYTES: u64 = 128 * 1024 * 1024;
/// The basket looks for new journals whenever so much was written: several times while fjall fills one.
const LOOK_BYTES: usize = 8 * 1024 * 1024;
/// fjall itself halts at 4 of these in one table. When a batch begins one more may be under way, and the batch may add one itself if it
/// fills a memtable.
const SEALED_MEMTABLES: usize = 3;
/// Bytes of a batch that can not fill a memtable that is new: half of the smallest that the settings allow, but for that of counts, which
/// are small and few. Not by today's setting: a store may have been made with a smaller one.
const SMALL_BATCH: usize = 512 * 1024;
/// What fjall counts for a row in memory beside its key and its value.
const ROW_BYTES: usize = 64;
/// fjall itself slows down at 20 of these in one table.
const LEVEL_0_TABLES: usize = 18;
