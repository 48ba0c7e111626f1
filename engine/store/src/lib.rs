//! The store: ordered rows in tables, changed by atomic, checked, durable commits.
//!
//! Promises:
//! - A commit is made whole or not at all. `Ok` means that it survives a power cut: it was flushed
//!   through the disk's cache.
//! - Checks (absent, version, value) are evaluated by the only writer, in the order of arrival.
//!   `Conflict` changes nothing.
//! - Increments of counts are made by the only writer, once for a group of commits, and become
//!   durable with the other changes of their commits: a count is exact, and counting never
//!   conflicts.
//! - `Unavailable` changes nothing: the disk is full or failing. The store opens its backend again
//!   until it can write; should the backend find the failed commits in its log, they are taken back
//!   before anyone can read them. There are two exceptions: a process that dies in that state may
//!   find them made when it starts again, and a file that is moved away during the flush of a
//!   commit has it when it is put back.
//! - A file of a store that is deleted or replaced while it is open, or of an SQLite store cut off,
//!   is damage. Its place is verified after each flush: no commit is acknowledged that only a
//!   deleted file has.
//! - Reads see only what is committed and flushed: no power cut takes back what was read.
//! - A row that was damaged on disk is an error and never wrong data: rows carry a checksum. With
//!   SQLite pages do, too, so that damage hides no row. Damage that was found stays known until the
//!   store is closed: [`Store::damage`].
//! - A store that ends before its last acknowledged commit is not opened: `mark` tells.
//! - One scan sees all of a commit or nothing of it. Two reads may see two moments.
//!
//! There are no transactions over several calls: read, decide, and let a check detect a concurrent
//! change.
//!
//! [`Store`] is the handle that callers have, [`Storage`] the interface below it. The embedded
//! storage is one writer thread (`writer`) over a small backend trait (`kv`) with three backends:
//! SQLite, sled and memory. Reads go to the backend on the caller's thread, because they are
//! answered from memory or the page cache; only long scans go to a thread of their own. With sled a
//! read also waits for a flush in progress, because sled shows rows before they are flushed.

mod backend;
mod backup;
mod batch;
mod check;
mod copied;
mod copier;
mod damage;
#[cfg(any(test, feature = "testing"))]
mod denying;
mod draft;
mod embedded;
mod error;
mod group_commit;
mod key;
mod kv;
mod mark;
mod opened;
mod pages;
mod place;
mod point;
mod progress;
mod restore;
mod restored;
mod retry;
mod rows;
#[cfg(feature = "simulation")]
mod simulated;
mod table;
mod throttle;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ulid::Ulid;

pub use self::backend::Backend;
pub use self::backup::{BackupSource, Manifest, Views, backup, is_inside};
pub use self::batch::{Batch, counts};
pub use self::check::{
    CheckReport, CommitGroup, DamagedRow, MAX_DAMAGED, RecordState, RecordedDamage, check,
};
pub use self::copied::{CopyLock, lock_copy};
pub use self::copier::{Copier, MakeBase};
#[cfg(any(test, feature = "testing"))]
pub use self::denying::Denier;
pub use self::draft::remove_abandoned_draft;
pub use self::embedded::WriteAheadLog;
pub use self::error::{CommitError, MaintenanceError, OpenError, StoreError};
pub use self::key::{Key, KeyPart, KeyRange, KeyReader};
#[cfg(any(test, feature = "testing"))]
pub use self::kv::mortal::{CrashPoint, CrashingKv, MemoryDisk};
#[cfg(feature = "simulation")]
pub use self::kv::simulated::{ChangedRow, Disk, DiskModel, FlushEnd, Replaces, Tables};
pub use self::kv::sqlite::query::{Cell, MAX_QUERY_ROWS, QueryAnswer, QueryError, Shell};
pub use self::pages::Pages;
pub use self::progress::{Progress, Report, Unit};
pub use self::restore::{RestoreTarget, restore};
pub use self::restored::{Lost, Restored};
pub use self::table::Table;
pub use self::throttle::lower_priority;

/// Handle of an open store; clones share it. Dropping the last one waits for open commits and
/// closes the store.
#[derive(Clone)]
pub struct Store(Arc<dyn Storage>);

/// Identity of a store. A restore gives it another one.
pub type Identity = Ulid;

/// How to open a store.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    pub backend: Backend,
    /// The directory of the store, made when there is none. The memory backend has no use for it.
    pub path: PathBuf,
    /// Memory for rows that were read from disk.
    pub cache_bytes: u64,
}

/// The order of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// Rows as a scan answers them, in its order: key and value.
pub type KeyValues = Vec<(Vec<u8>, Vec<u8>)>;

/// Counters of the store since it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreStats {
    /// Commits made.
    pub commits: u64,
    /// Flushes they took.
    pub batches: u64,
    /// The most commits that shared a flush.
    pub largest_batch: u64,
    /// Commits that wait or are being made.
    pub queue: usize,
    /// False from a failure of the disk until the store writes again.
    pub available: bool,
    /// Whether damage was found; see [`Store::damage`].
    pub damaged: bool,
    /// Age of the oldest commit that cannot be restored from the continuous copy; 0 without one.
    pub copy_lag: Duration,
}

/// Storage under a [`Store`]: ordered rows in tables, changed by atomic, checked, durable commits.
///
/// Promises, for every implementation:
/// - [`Self::commit`] makes all changes if all checks hold at the moment of the commit. `Ok` means
///   that the changes are durable and visible to every later read. After `Conflict` or
///   `Unavailable` nothing is changed. Dropping the future does not stop the commit.
/// - [`Self::get`] and [`Self::scan`] see only durable commits. One scan sees each commit whole or
///   not at all; two reads may see two moments.
/// - A damaged row is an error, never wrong data.
#[async_trait]
pub trait Storage: Send + Sync {
    /// Makes all changes of a batch, which is not empty, if all its checks hold.
    async fn commit(&self, batch: Batch) -> Result<(), CommitError>;

    /// Value of a row; `None`: there is no such row.
    async fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;

    /// At most `limit` rows with `from <= key < to`, which is not an empty range.
    async fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: &[u8],
        direction: Direction,
        limit: usize,
    ) -> Result<KeyValues, StoreError>;

    /// Makes the commits that wait, then closes the storage. Every later call is refused. Returns
    /// whether the storage could write to the end.
    async fn close(&self) -> bool;

    fn stats(&self) -> StoreStats;

    /// Identity of the store, as its backups have it; `None`: it is in memory.
    fn identity(&self) -> Option<Identity>;

    /// Damage that was found first, also in an earlier run, a sentence.
    fn damage(&self) -> Option<Arc<String>>;

    /// Notes damage that was found without reading through this storage.
    fn report_damage(&self, what: &str);

    /// Log that a continuous copy ships; `None`: this storage is not copied from this process.
    fn write_ahead_log(&self) -> Option<WriteAheadLog> {
        None
    }
}

impl Store {
    /// A handle of other storage.
    pub fn over(storage: impl Storage + 'static) -> Self {
        Self(Arc::new(storage))
    }

    /// Makes all changes of the batch if all its checks hold. Returns when that survives a power
    /// cut.
    ///
    /// Waits while too many commits wait already. A caller that stops waiting does not stop the
    /// commit.
    pub async fn commit(&self, batch: Batch) -> Result<(), CommitError> {
        if batch.is_empty() {
            return Ok(());
        }
        self.0.commit(batch).await
    }

    /// The value of a row.
    pub async fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.get(table, key).await
    }

    /// A row that [`Batch::put_versioned`] wrote: its version and its value.
    pub async fn get_versioned(
        &self,
        table: Table,
        key: &[u8],
    ) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        let Some(mut row) = self.get(table, key).await? else {
            return Ok(None);
        };
        let Some(version) = row.first_chunk().copied() else {
            return Err(StoreError::NoVersion {
                table: table.name(),
            });
        };
        row.drain(..size_of_val(&version));
        Ok(Some((u64::from_be_bytes(version), row)))
    }

    /// At most `limit` rows with `from <= key < to`; `Backward` begins with the last of them.
    pub async fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: &[u8],
        direction: Direction,
        limit: usize,
    ) -> Result<KeyValues, StoreError> {
        if from >= to || limit == 0 {
            return Ok(Vec::new());
        }
        self.0.scan(table, from, to, direction, limit).await
    }

    /// Makes the commits that wait, then closes the backend and lets the directory go. Everything
    /// after it is refused. Returns whether the store could write to the end; `false` also when
    /// another call has closed it.
    pub async fn close(&self) -> bool {
        self.0.close().await
    }

    pub fn stats(&self) -> StoreStats {
        self.0.stats()
    }

    /// The identity of the store, as its backups have it; `None`: it is in memory.
    pub fn identity(&self) -> Option<Identity> {
        self.0.identity()
    }

    /// The damage that was found first, also in an earlier run, a sentence. The store still answers
    /// reads of undamaged rows. It is known until a check of the stopped store finds it sound, or
    /// the store is restored.
    pub fn damage(&self) -> Option<Arc<String>> {
        self.0.damage()
    }

    /// Notes damage that was found without reading through this store.
    pub fn report_damage(&self, what: &str) {
        self.0.report_damage(what);
    }
}

#[cfg(test)]
mod tests;
