//! A disk in memory that outlives the processes on it, and a process that dies at a flush of the
//! test's choice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::memory::Memory;
use super::{Kv, KvError, Scan, WriteFailed};
use crate::batch::Change;
use crate::table::Table;
use crate::{KeyValues, Store};

/// Durable rows. Clones are the same disk.
#[derive(Clone, Default)]
pub struct MemoryDisk(Arc<Memory>);

impl MemoryDisk {
    /// Another disk with the same on it.
    pub fn copy(&self) -> Self {
        Self(Arc::new(self.0.copy()))
    }
}

/// At which flush, counted from 1, a process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    Never,
    /// No row of the flush is written.
    Before(u64),
    /// All rows of the flush are written, without an acknowledgement.
    After(u64),
}

/// Process with its disk. After its crash it changes no row, also by threads that still run. Clones
/// are the same process.
#[derive(Clone)]
pub struct CrashingKv {
    disk: MemoryDisk,
    death: CrashPoint,
    flushes: Arc<AtomicU64>,
    dead: Arc<AtomicBool>,
}

impl CrashingKv {
    pub fn new(disk: &MemoryDisk, death: CrashPoint) -> Self {
        Self {
            disk: disk.clone(),
            death,
            flushes: Arc::default(),
            dead: Arc::default(),
        }
    }

    /// A store of this process.
    ///
    /// # Panics
    /// When this machine gives no thread.
    pub fn store(&self) -> Store {
        Store::on(self)
    }

    pub fn kill(&self) {
        self.dead.store(true, Ordering::SeqCst);
    }

    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }
}

impl Kv for CrashingKv {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        self.disk.0.get(table, key)
    }

    fn scan(&self, scan: &Scan<'_>) -> Result<KeyValues, KvError> {
        self.disk.0.scan(scan)
    }

    fn write(&self, changes: &[Change<'_>]) -> Result<(), WriteFailed> {
        if !self.is_dead() {
            let flush = self.flushes.fetch_add(1, Ordering::SeqCst) + 1;
            match self.death {
                CrashPoint::Before(at) if at == flush => self.kill(),
                CrashPoint::After(at) if at == flush => {
                    self.disk.0.write(changes)?;
                    self.kill();
                }
                _ => return self.disk.0.write(changes),
            }
        }
        Err(WriteFailed {
            error: KvError::Failed("this process is dead".to_owned()),
            undo: Vec::new(),
            readable: true,
        })
    }
}
