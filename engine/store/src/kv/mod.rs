//! The interface between the embedded store and a backend.

pub(super) mod checksum;
pub(super) mod memory;
#[cfg(any(test, feature = "testing"))]
pub(super) mod mortal;
#[cfg(feature = "simulation")]
pub(super) mod simulated;
pub(super) mod sled;
pub(super) mod sqlite;

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::batch::Change;
use super::table::Table;
use super::{Direction, KeyValues};

/// An embedded backend: ordered rows in tables, an atomic batch, a flush that a power cut does not
/// undo.
///
/// One thread writes, any thread reads.
pub(super) trait Kv: Send + Sync {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, KvError>;

    /// The same, for the thread that writes.
    fn get_on_writer(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        self.get(table, key)
    }

    /// At most `limit` rows with `from <= key < to`, none of a batch that is half applied.
    fn scan(&self, scan: &Scan<'_>) -> Result<KeyValues, KvError>;

    /// Makes all these changes, or none, and returns when they survive a power cut. No row comes
    /// twice in `changes`.
    ///
    /// After an error this backend is not written to any more. It is closed and opened again, and
    /// `undo` is written first.
    fn write(&self, changes: &[Change<'_>]) -> Result<(), WriteFailed>;

    /// Writes the rows that a failed write returned as its `undo`.
    fn undo(&self, rows: &[Change<'_>]) -> Result<(), WriteFailed> {
        self.write(rows)
    }

    /// Whether the files of the backend are still at its path, in their length. Called by the
    /// thread that writes.
    ///
    /// # Errors
    /// [`KvError::NotInPlace`] when a file was deleted, replaced or cut off.
    /// [`KvError::IndexNotInPlace`] when the backend has to be opened again.
    fn verify_place(&self) -> Result<(), KvError> {
        Ok(())
    }

    /// Closes a backend that has not failed, with its log emptied into its tables.
    ///
    /// # Errors
    /// When the log was not emptied. Then it holds what the tables lack.
    fn finish(self: Box<Self>) -> Result<(), KvError> {
        Ok(())
    }
}

/// A range of rows to read.
pub(super) struct Scan<'a> {
    pub table: Table,
    pub from: &'a [u8],
    pub to: &'a [u8],
    pub direction: Direction,
    pub limit: usize,
}

/// The failure of a read or a write.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum KvError {
    /// A failure of the whole backend, in its own words.
    #[error("{0}")]
    Failed(String),
    /// Damage that is not the damage of one row.
    #[error("the database is damaged, restore a backup ({0})")]
    DamagedDatabase(String),
    /// A page that the disk did not give. It may the next time.
    #[error("a page of the database cannot be read ({0})")]
    UnreadablePage(String),
    /// The files at the place of the database are not those that are open, or not those that were.
    #[error("{0}")]
    NotInPlace(String),
    /// The database and its log are in their place, and a file that is made from them is not, or is
    /// an older one.
    #[error("the index of the database's log was deleted or changed")]
    IndexNotInPlace,
    /// The index of the log cannot be made now. The database and its log are as they were.
    #[error("the disk has no room for the index of the database's log (-shm)")]
    NoRoom,
    #[error("a row of table {table} whose key begins with \"{kind}\" is damaged: restore a backup")]
    Damaged { table: &'static str, kind: String },
}

impl KvError {
    /// Whether something is not what was written.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. }
            | Self::DamagedDatabase(_)
            | Self::UnreadablePage(_)
            | Self::NotInPlace(_) => true,
            Self::Failed(_) | Self::IndexNotInPlace | Self::NoRoom => false,
        }
    }
}

/// Batch that did not become durable. The reopened backend may find it in its log, although it was
/// not acknowledged: `undo` restores the previous rows.
#[derive(Debug)]
pub(super) struct WriteFailed {
    pub error: KvError,
    pub undo: Vec<Row>,
    /// Whether reads of the failed backend still show the rows as they were before the batch.
    pub readable: bool,
}

/// A change with its own bytes.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub table: Table,
    pub key: Vec<u8>,
    pub value: Option<Vec<u8>>,
}

impl Row {
    #[cfg(feature = "simulation")]
    pub(super) fn of(change: &Change<'_>) -> Self {
        Self {
            table: change.table,
            key: change.key.to_vec(),
            value: change.value.map(<[u8]>::to_vec),
        }
    }

    pub(super) fn change(&self) -> Change<'_> {
        Change {
            table: self.table,
            key: &self.key,
            value: self.value.as_deref(),
        }
    }
}

/// The rows that `changes` are about to replace, or have failed to.
pub(super) fn before(kv: &dyn Kv, changes: &[Change<'_>]) -> Result<Vec<Row>, KvError> {
    changes
        .iter()
        .map(|change| {
            Ok(Row {
                table: change.table,
                key: change.key.to_vec(),
                value: kv.get_on_writer(change.table, change.key)?,
            })
        })
        .collect()
}

/// Runs what a backend does, and makes an error of a panic: backends panic on some errors of the
/// disk, and the writer must outlive that to reopen them.
pub(super) fn contained<T>(work: impl FnOnce() -> Result<T, KvError>) -> Result<T, KvError> {
    // Unwind safety: after an error the backend is closed and opened again, its state is not used.
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(KvError::Failed(PANICKED.to_owned())))
}

const PANICKED: &str = "the backend has panicked, its message is in the log";

impl From<std::io::Error> for KvError {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
