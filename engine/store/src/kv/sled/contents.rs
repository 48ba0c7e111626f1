//! Number of all rows and sum of their hashes, kept in a row of its own. sled leaves out a change
//! that it finds damaged in its log when it opens, and says nothing: the rows differ from the sum
//! then.

use sled::{Db, Error};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{KvError, tree_key};
use crate::batch::Change;
use crate::kv::Row;

/// All rows of the database but the row of the contents, as two numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    rows: u64,
    /// Sum of the hashes of all rows, modulo 2^64.
    sum: u64,
}

impl Contents {
    /// The contents by the database's own row. `None`: it has no such row, as a new one.
    pub fn stored(database: &Db) -> Result<Option<Self>, KvError> {
        let Some(row) = database.get(KEY)? else {
            return Ok(None);
        };
        let damaged = || KvError::DamagedDatabase("the row of its contents is damaged".to_owned());
        let (rows, sum) = row.split_first_chunk::<8>().ok_or_else(damaged)?;
        Ok(Some(Self {
            rows: u64::from_be_bytes(*rows),
            sum: u64::from_be_bytes(sum.try_into().map_err(|_| damaged())?),
        }))
    }

    /// The contents by all rows, which are read.
    pub fn counted(database: &Db) -> Result<Self, Error> {
        let mut counted = Self::default();
        for row in database.iter() {
            let (key, value) = row?;
            if key.as_ref() != KEY {
                counted = counted.with(&key, &value);
            }
        }
        Ok(counted)
    }

    /// The contents after `changes` of the rows that were `before` them.
    pub fn after(self, changes: &[Change<'_>], before: &[Row]) -> Self {
        let mut after = self;
        for (change, row) in changes.iter().zip(before) {
            let key = tree_key(change.table, change.key);
            if let Some(value) = &row.value {
                after = after.without(&key, value);
            }
            if let Some(value) = change.value {
                after = after.with(&key, value);
            }
        }
        after
    }

    /// The row of these contents: key and value.
    pub fn row(self) -> (&'static [u8], Vec<u8>) {
        let value = [self.rows.to_be_bytes(), self.sum.to_be_bytes()].concat();
        (KEY, value)
    }

    /// The difference between these contents and the counted ones. `None`: there is none.
    pub fn fault(self, counted: Self) -> Option<String> {
        (self != counted).then(|| match self.rows == counted.rows {
            true => "a row differs from the one that was written".to_owned(),
            false => format!(
                "it holds {} rows, and {} were written",
                counted.rows, self.rows
            ),
        })
    }

    fn with(self, key: &[u8], value: &[u8]) -> Self {
        Self {
            rows: self.rows.wrapping_add(1),
            sum: self.sum.wrapping_add(hash(key, value)),
        }
    }

    fn without(self, key: &[u8], value: &[u8]) -> Self {
        Self {
            rows: self.rows.wrapping_sub(1),
            sum: self.sum.wrapping_sub(hash(key, value)),
        }
    }
}

fn hash(key: &[u8], value: &[u8]) -> u64 {
    xxh3_64_with_seed(value, xxh3_64_with_seed(key, 0))
}

/// No table has the number 0.
const KEY: &[u8] = &[0];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Table;

    fn change<'a>(key: &'a [u8], value: Option<&'a [u8]>) -> Change<'a> {
        Change {
            table: Table::Event,
            key,
            value,
        }
    }

    fn row(key: &[u8], value: Option<&[u8]>) -> Row {
        Row {
            table: Table::Event,
            key: key.to_vec(),
            value: value.map(<[u8]>::to_vec),
        }
    }

    #[test]
    fn contents_follow_each_change_and_do_not_depend_on_the_order() {
        let empty = Contents::default();
        let one = empty.after(&[change(b"a", Some(b"1"))], &[row(b"a", None)]);
        let both = one.after(&[change(b"b", Some(b"2"))], &[row(b"b", None)]);
        let at_once = empty.after(
            &[change(b"b", Some(b"2")), change(b"a", Some(b"1"))],
            &[row(b"b", None), row(b"a", None)],
        );
        assert_eq!(both, at_once);
        let replaced = one.after(&[change(b"a", Some(b"3"))], &[row(b"a", Some(b"1"))]);
        assert_ne!(replaced, one);
        let back = replaced.after(&[change(b"a", Some(b"1"))], &[row(b"a", Some(b"3"))]);
        assert_eq!(back, one);
        let removed = both.after(&[change(b"b", None)], &[row(b"b", Some(b"2"))]);
        assert_eq!(removed, one);
        assert_ne!(
            empty.after(&[change(b"a", Some(b"2"))], &[row(b"a", None)]),
            one
        );
    }

    #[test]
    fn a_missing_a_changed_and_a_moved_row_are_a_fault() {
        let contents = |rows: &[(&[u8], &[u8])]| {
            let add = |sum: Contents, (key, value): &(&[u8], &[u8])| sum.with(key, value);
            rows.iter().fold(Contents::default(), add)
        };
        let stored = contents(&[(b"a", b"1"), (b"b", b"2")]);
        assert_eq!(stored.fault(stored), None);
        let missing = stored.fault(contents(&[(b"a", b"1")]));
        assert!(missing.is_some_and(|fault| fault.contains("1 rows, and 2")));
        for other in [
            contents(&[(b"a", b"1"), (b"b", b"3")]),
            contents(&[(b"a", b"2"), (b"b", b"1")]),
        ] {
            assert!(stored.fault(other).is_some());
        }
        assert!(
            Contents::default().fault(stored).is_some(),
            "no contents, and rows"
        );
    }
}
