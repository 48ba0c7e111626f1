//! Rows with a checksum, whatever the backend: a damaged row is an error, never wrong data.
//!
//! The checksum follows the value. It covers table, key and value: a row that a damaged disk
//! shows in the place of another is noticed as well.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{Kv, KvError, Scan, WriteFailed};
use crate::KeyValues;
use crate::batch::Change;
use crate::table::Table;

/// A backend whose rows carry a checksum.
pub(crate) struct WithChecksums<K>(pub K);

impl<K: Kv> Kv for WithChecksums<K> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        let row = self.0.get(table, key)?;
        row.map(|row| verified(table, key, row)).transpose()
    }

    fn get_on_writer(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        let row = self.0.get_on_writer(table, key)?;
        row.map(|row| verified(table, key, row)).transpose()
    }

    fn scan(&self, scan: &Scan<'_>) -> Result<KeyValues, KvError> {
        let rows = self.0.scan(scan)?.into_iter();
        rows.map(|(key, row)| {
            let value = verified(scan.table, &key, row)?;
            Ok((key, value))
        })
        .collect()
    }

    fn write(&self, changes: &[Change<'_>]) -> Result<(), WriteFailed> {
        let bytes = |change: &Change<'_>| change.value.map_or(0, |value| value.len() + SUM_BYTES);
        let mut sealed = Vec::with_capacity(changes.iter().map(bytes).sum());
        for change in changes {
            if let Some(value) = change.value {
                sealed.extend_from_slice(value);
                sealed.extend_from_slice(&sum(change.table, change.key, value));
            }
        }
        let mut rest = sealed.as_slice();
        let sealed = changes.iter().map(|change| {
            let (row, after) = rest.split_at(bytes(change));
            rest = after;
            Change {
                value: change.value.map(|_| row),
                ..*change
            }
        });
        self.0.write(&sealed.collect::<Vec<_>>())
    }

    /// `rows` carry the checksums that they had: a row that was damaged stays damaged.
    fn undo(&self, rows: &[Change<'_>]) -> Result<(), WriteFailed> {
        self.0.write(rows)
    }

    fn verify_place(&self) -> Result<(), KvError> {
        self.0.verify_place()
    }

    fn finish(self: Box<Self>) -> Result<(), KvError> {
        Box::new(self.0).finish()
    }
}

/// The value of a row without its checksum, which must be right.
fn verified(table: Table, key: &[u8], mut row: Vec<u8>) -> Result<Vec<u8>, KvError> {
    match value_of(table, key, &row).map(<[u8]>::len) {
        Some(bytes) => {
            row.truncate(bytes);
            Ok(row)
        }
        None => Err(damaged(table, key)),
    }
}

/// The value of a stored row, `None` when its checksum is wrong.
pub(crate) fn value_of<'a>(table: Table, key: &[u8], row: &'a [u8]) -> Option<&'a [u8]> {
    let (value, found) = row.split_last_chunk::<SUM_BYTES>()?;
    (*found == sum(table, key, value)).then_some(value)
}

/// The error for a row that is not what was written.
fn damaged(table: Table, key: &[u8]) -> KvError {
    let (table, kind) = (table.name(), kind_of(key));
    tracing::error!(store.table = table, store.kind = kind, "a row is damaged");
    KvError::Damaged { table, kind }
}

/// An error of a read: damage concerns the row that was read, any other the whole backend.
pub(super) fn read_failed(error: KvError, table: Table, key: &[u8]) -> KvError {
    match error {
        KvError::DamagedDatabase(_) => damaged(table, key),
        failed => failed,
    }
}

fn sum(table: Table, key: &[u8], value: &[u8]) -> [u8; SUM_BYTES] {
    let of_key = xxh3_64_with_seed(key, u64::from(table.number()));
    xxh3_64_with_seed(value, of_key).to_be_bytes()
}

/// The kind that a key begins with: a word before a slash, or one letter. The rest of a key names
/// a merchant or a person and appears in no error.
fn kind_of(key: &[u8]) -> String {
    let is_letter = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'_';
    let word = key.iter().take_while(|byte| is_letter(byte)).count();
    let kind = match key.get(word) {
        Some(b'/') => &key[..word],
        _ => &key[..word.min(1)],
    };
    match kind {
        [] => "binary".to_owned(),
        kind => String::from_utf8_lossy(kind).into_owned(),
    }
}

/// Length of a checksum.
pub(crate) const SUM_BYTES: usize = size_of::<u64>();

#[cfg(test)]
mod tests {
    use super::super::memory::Memory;
    use super::*;
    use crate::Direction;

    fn put<'a>(key: &'a [u8], value: &'a [u8]) -> Change<'a> {
        Change {
            table: Table::Access,
            key,
            value: Some(value),
        }
    }

    fn scan<K: Kv>(backend: &K) -> Result<KeyValues, KvError> {
        backend.scan(&Scan {
            table: Table::Access,
            from: b"a",
            to: b"z",
            direction: Direction::Forward,
            limit: 10,
        })
    }

    fn stored() -> WithChecksums<Memory> {
        let backend = WithChecksums(Memory::default());
        let rows = [
            put(b"account/1", b"rich"),
            put(b"account/2", b""),
            put(b"b", b"x"),
        ];
        backend.write(&rows).unwrap();
        backend
    }

    #[test]
    fn rows_come_back_as_they_were_written() {
        let backend = stored();
        let empty = backend.get(Table::Access, b"account/2").unwrap();
        assert_eq!(empty, Some(Vec::new()));
        let values = scan(&backend).unwrap().into_iter().map(|(_, value)| value);
        assert_eq!(
            values.collect::<Vec<_>>(),
            [b"rich".to_vec(), vec![], b"x".to_vec()]
        );
        assert_eq!(backend.get(Table::Access, b"none").unwrap(), None);
    }

    #[test]
    fn every_changed_bit_of_a_row_is_an_error_that_names_table_and_kind() {
        let backend = stored();
        let row = backend.0.get(Table::Access, b"account/1").unwrap().unwrap();
        for bit in 0..row.len() * 8 {
            let mut damaged = row.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            backend.0.write(&[put(b"account/1", &damaged)]).unwrap();
            let error = backend.get(Table::Access, b"account/1").unwrap_err();
            let said = error.to_string();
            assert!(
                said.contains("table access") && said.contains("\"account\""),
                "{said}"
            );
            assert!(scan(&backend).is_err());
        }
        backend.0.write(&[put(b"account/1", b"short")]).unwrap();
        assert!(backend.get(Table::Access, b"account/1").is_err());
    }

    #[test]
    fn a_row_in_the_place_of_another_is_an_error() {
        let backend = stored();
        let row = backend.0.get(Table::Access, b"account/1").unwrap().unwrap();
        backend.0.write(&[put(b"account/2", &row)]).unwrap();
        assert!(backend.get(Table::Access, b"account/2").is_err());
    }

    #[test]
    fn a_kind_tells_nothing_of_the_rest_of_a_key() {
        for (key, kind) in [
            (b"account/01ARZ".as_slice(), "account"),
            (b"e\x01somebody@example.com", "e"),
            (b"somebody@example.com", "s"),
            (b"\x00\x01", "binary"),
            (b"", "binary"),
        ] {
            assert_eq!(kind_of(key), kind);
        }
    }
}
