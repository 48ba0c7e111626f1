//! The disk of the simulation: ordered maps that outlive the process that writes to them, and a
//! nature that says how each flush ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::memory::Memory;
use super::{Kv, KvError, Row, Scan, WriteFailed, before};
use crate::KeyValues;
use crate::batch::Change;
use crate::table::Table;

/// A disk that outlives processes. Clones are the same disk.
#[derive(Clone)]
pub struct Disk {
    pub(crate) durable: Arc<Memory>,
    pub(crate) nature: Arc<DiskModel>,
    failing: Arc<AtomicBool>,
    /// Rows that failed flushes have left in the journal: the next opening finds them.
    left: Arc<Mutex<Vec<Row>>>,
    /// Rows before the latest flush, if that was [`FlushEnd::NotDurable`]: the next opening
    /// finds these.
    unflushed: Arc<Mutex<Vec<Row>>>,
}

/// Content of a disk, from which another one can start.
pub struct Tables(Memory);

impl Clone for Tables {
    fn clone(&self) -> Self {
        Self(self.0.copy())
    }
}

/// Behaviour of a disk, evaluated at the beginning and at the end of each flush.
pub struct DiskModel {
    pub takes: Box<dyn Fn() -> Duration + Send + Sync>,
    /// Asked with the number of rows that are to change.
    pub ends: Box<dyn Fn(usize) -> FlushEnd + Send + Sync>,
    /// Replaces the rows of a flush: the disk makes the returned groups one after the other, each
    /// with a flush of its own. `None`: it makes the rows as they are, in one flush.
    pub replaces: Option<Replaces>,
}

/// Replaces the changed rows of a flush on a disk.
pub type Replaces = Box<dyn Fn(&Disk, Vec<ChangedRow>) -> Vec<Vec<ChangedRow>> + Send + Sync>;

/// A row that changes. No value: it is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedRow {
    pub table: Table,
    pub key: Vec<u8>,
    pub value: Option<Vec<u8>>,
}

impl ChangedRow {
    fn of(change: &Change<'_>) -> Self {
        Self {
            table: change.table,
            key: change.key.to_vec(),
            value: change.value.map(<[u8]>::to_vec),
        }
    }

    fn change(&self) -> Change<'_> {
        Change {
            table: self.table,
            key: &self.key,
            value: self.value.as_deref(),
        }
    }
}

/// Result of a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushEnd {
    Done,
    /// Reported as done, and lost if the process dies before the next flush.
    NotDurable,
    /// The disk takes no writes now; nothing of it is made.
    Failed,
    /// Reported as failed, with all rows in the journal, where the next opening finds them.
    FailedAndKept,
    /// The process dies before any of it is durable.
    Lost,
    /// Crashes the process after this many rows. Tests the checksums of a backend.
    Torn(usize),
}

impl Disk {
    pub fn new(nature: DiskModel) -> Self {
        Self::holding(Tables(Memory::default()), nature)
    }

    /// A disk that has `tables` on it already.
    pub fn holding(tables: Tables, nature: DiskModel) -> Self {
        Self {
            durable: Arc::new(tables.0),
            nature: Arc::new(nature),
            failing: Arc::default(),
            left: Arc::default(),
            unflushed: Arc::default(),
        }
    }

    /// The same disk as a backend shows it that has read the journal.
    pub(crate) fn opened(&self) -> Result<Self, KvError> {
        let unflushed = std::mem::take(&mut *self.unflushed.lock());
        let left = std::mem::take(&mut *self.left());
        for row in unflushed.iter().chain(&left) {
            let written = self.durable.write(&[row.change()]);
            written.map_err(|failed| failed.error)?;
        }
        Ok(self.clone())
    }

    fn left(&self) -> MutexGuard<'_, Vec<Row>> {
        self.left.lock()
    }

    /// Copy of all durable rows.
    pub fn copy(&self) -> Tables {
        Tables(self.durable.copy())
    }

    /// Value of a durable row.
    pub fn row(&self, table: Table, key: &[u8]) -> Option<Vec<u8>> {
        self.durable.get(table, key).ok().flatten()
    }

    /// Every row there is: table, key, value, in order.
    pub fn rows(&self) -> Vec<(Table, Vec<u8>, Vec<u8>)> {
        let all = Table::ALL.into_iter().flat_map(|table| {
            let rows = self.durable.all(table).into_iter();
            rows.map(move |(key, value)| (table, key, value))
        });
        all.collect()
    }

    /// Whether the backend on it has to be opened again before it writes.
    pub(crate) fn probe(&self) -> bool {
        !self.failing.swap(false, Ordering::SeqCst)
    }
}

impl Kv for Disk {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        self.durable.get(table, key)
    }

    fn scan(&self, scan: &Scan<'_>) -> Result<KeyValues, KvError> {
        self.durable.scan(scan)
    }

    fn write(&self, changes: &[Change<'_>]) -> Result<(), WriteFailed> {
        let Some(replaces) = &self.nature.replaces else {
            return self.flush(changes);
        };
        let rows = changes.iter().map(ChangedRow::of).collect();
        for group in replaces(self, rows) {
            let changes: Vec<_> = group.iter().map(ChangedRow::change).collect();
            self.flush(&changes)?;
        }
        Ok(())
    }
}

impl Disk {
    fn flush(&self, changes: &[Change<'_>]) -> Result<(), WriteFailed> {
        let failed = |reason: &str, undo| {
            Err(WriteFailed {
                error: KvError::Failed(reason.to_owned()),
                undo,
                readable: true,
            })
        };
        let end = (self.nature.ends)(changes.len());
        if !matches!(end, FlushEnd::Lost | FlushEnd::Torn(_)) {
            self.unflushed.lock().clear();
        }
        match end {
            FlushEnd::Done => self.durable.write(changes),
            FlushEnd::NotDurable => {
                *self.unflushed.lock() = before(self, changes).unwrap_or_default();
                self.durable.write(changes)
            }
            end @ (FlushEnd::Failed | FlushEnd::FailedAndKept) => {
                self.failing.store(true, Ordering::SeqCst);
                if end == FlushEnd::FailedAndKept {
                    self.left().extend(changes.iter().map(Row::of));
                }
                let undo = before(self, changes).unwrap_or_default();
                failed("the simulated disk is full", undo)
            }
            FlushEnd::Lost => failed("the process is dead", Vec::new()),
            FlushEnd::Torn(rows) => {
                self.durable.write(&changes[..rows.min(changes.len())])?;
                failed("the process is dead", Vec::new())
            }
        }
    }
}
