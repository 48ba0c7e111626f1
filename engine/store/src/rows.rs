//! The rows that a group of commits changes: each commit is checked against them as those before it
//! leave them.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::batch::{self, Batch, Change};
use super::kv::{Kv, KvError};
use super::table::Table;

/// The rows that a group changes, each once, as its last commit leaves them.
pub(super) struct Rows<'a> {
    pub(super) changes: Vec<Change<'a>>,
    /// Index of a row in `changes`.
    latest: HashMap<(Table, &'a [u8]), usize, Quick>,
    /// The values of the rows of counts that were added to, by where they stand in `changes`.
    pub(super) sums: BTreeMap<usize, Vec<u8>>,
}

impl<'a> Rows<'a> {
    pub(super) fn with_capacity(rows: usize) -> Self {
        Self {
            changes: Vec::with_capacity(rows),
            latest: HashMap::with_capacity_and_hasher(rows, Quick::default()),
            sums: BTreeMap::new(),
        }
    }

    /// Takes the changes of a commit if all its checks hold. After an error nothing of it is taken.
    pub(super) fn take(&mut self, kv: &dyn Kv, batch: &'a Batch) -> Result<bool, KvError> {
        for (table, key, check) in batch.checks() {
            let holds = match self.latest.get(&(table, key)) {
                Some(&at) => check.holds(self.value(at)),
                None => check.holds(kv.get_on_writer(table, key)?.as_deref()),
            };
            if !holds {
                return Ok(false);
            }
        }
        let mut stored = Vec::new();
        for (table, key, _) in batch.additions() {
            stored.push(match self.latest.contains_key(&(table, key)) {
                true => None,
                false => kv.get_on_writer(table, key)?,
            });
        }
        batch.changes().for_each(|change| self.set(change));
        for ((table, key, numbers), stored) in batch.additions().zip(stored) {
            self.add(table, key, numbers, stored);
        }
        Ok(true)
    }

    fn value(&self, at: usize) -> Option<&[u8]> {
        match self.sums.get(&at) {
            Some(sum) => sum.iter().any(|&byte| byte != 0).then_some(sum),
            None => self.changes[at].value,
        }
    }

    fn set(&mut self, change: Change<'a>) {
        let row = (change.table, change.key);
        let at = *self.latest.entry(row).or_insert(self.changes.len());
        if at == self.changes.len() {
            self.changes.push(change);
        } else {
            self.sums.remove(&at);
            self.changes[at] = change;
        }
    }

    /// Adds to a row of counts. `stored`: the row in the backend, for the group's first addition.
    fn add(&mut self, table: Table, key: &'a [u8], numbers: &[u8], stored: Option<Vec<u8>>) {
        let at = match self.latest.get(&(table, key)) {
            Some(&at) => at,
            None => {
                let sum = stored.unwrap_or_default();
                let at = self.changes.len();
                self.set(Change {
                    table,
                    key,
                    value: None,
                });
                self.sums.insert(at, sum);
                at
            }
        };
        let given = self.changes[at].value;
        let sum = self
            .sums
            .entry(at)
            .or_insert_with(|| given.unwrap_or_default().to_vec());
        if !batch::add(sum, numbers) {
            tracing::error!(
                store.table = table.name(),
                "count would fall below zero, the store is damaged"
            );
        }
    }
}

/// Hashes the rows of one group. The standard one is made to withstand chosen keys; here the worst
/// that these can do is to have a few thousand rows compared with each other.
type Quick = BuildHasherDefault<QuickHasher>;

#[derive(Default)]
struct QuickHasher(u64);

impl Hasher for QuickHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    /// Lengths and tables.
    fn write_usize(&mut self, number: usize) {
        self.0 = self.0.rotate_left(8) ^ number as u64;
    }

    fn write_isize(&mut self, number: isize) {
        self.write_usize(number.cast_unsigned());
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
