//! The memory backend: ordered maps. For tests and simulation; it forgets everything when it is
//! dropped.

use std::collections::BTreeMap;
use std::ops::Bound;

use parking_lot::RwLock;

use super::{Kv, KvError, Scan, WriteFailed};
use crate::batch::Change;
use crate::table::Table;
use crate::{Direction, KeyValues};

#[derive(Default)]
pub(crate) struct Memory {
    tables: RwLock<[BTreeMap<Vec<u8>, Vec<u8>>; Table::ALL.len()]>,
}

#[cfg(feature = "simulation")]
impl Memory {
    /// All rows of a table, in order.
    pub(crate) fn all(&self, table: Table) -> KeyValues {
        let tables = self.tables.read();
        let rows = tables[table.position()].iter();
        rows.map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }
}

#[cfg(any(test, feature = "testing"))]
impl Memory {
    pub(super) fn copy(&self) -> Self {
        let tables = self.tables.read();
        Self {
            tables: RwLock::new(tables.clone()),
        }
    }
}

impl Kv for Memory {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        let tables = self.tables.read();
        Ok(tables[table.position()].get(key).cloned())
    }

    fn scan(&self, scan: &Scan<'_>) -> Result<KeyValues, KvError> {
        let tables = self.tables.read();
        let rows = tables[scan.table.position()]
            .range::<[u8], _>((Bound::Included(scan.from), Bound::Excluded(scan.to)))
            .map(|(key, value)| (key.clone(), value.clone()));
        Ok(match scan.direction {
            Direction::Forward => rows.take(scan.limit).collect(),
            Direction::Backward => rows.rev().take(scan.limit).collect(),
        })
    }

    fn write(&self, changes: &[Change<'_>]) -> Result<(), WriteFailed> {
        let mut tables = self.tables.write();
        for change in changes {
            let table = &mut tables[change.table.position()];
            match change.value {
                Some(value) => table.insert(change.key.to_vec(), value.to_vec()),
                None => table.remove(change.key),
            };
        }
        Ok(())
    }
}
