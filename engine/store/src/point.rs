//! A group of commits, as a row of the store and as a line of the mark.

use std::fmt;

use ulid::Ulid;
use xxhash_rust::xxh3::xxh3_64;

use super::batch::Change;
use super::table::Table;
use switchyard_core::time::Timestamp;

/// A group of commits: which store, which number, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub store: Ulid,
    pub sequence: u64,
    pub at: Timestamp,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "commit group {} of {}", self.sequence, self.at)
    }
}

impl Point {
    /// Bytes of the row that is stored with each group.
    pub(super) const ROW_BYTES: usize = 32;

    pub(super) fn new(store: Ulid, sequence: u64, at: Timestamp) -> Self {
        Self {
            store,
            sequence,
            at,
        }
    }

    /// The value of the row that is stored with the group.
    pub(super) fn row(&self) -> [u8; Self::ROW_BYTES] {
        let mut row = [0; Self::ROW_BYTES];
        row[..16].copy_from_slice(&self.store.to_bytes());
        row[16..24].copy_from_slice(&self.sequence.to_be_bytes());
        row[24..].copy_from_slice(&self.at.as_micros().to_be_bytes());
        row
    }

    pub(super) fn change(row: &[u8; Self::ROW_BYTES]) -> Change<'_> {
        Change {
            table: Table::Meta,
            key: SEQUENCE_KEY,
            value: Some(row),
        }
    }

    pub(super) fn of_row(row: &[u8]) -> Option<Self> {
        let (store, numbers) = row.split_first_chunk::<16>()?;
        let (sequence, at) = numbers.split_first_chunk::<8>()?;
        Some(Self {
            store: Ulid::from_bytes(*store),
            sequence: u64::from_be_bytes(*sequence),
            at: Timestamp::from_micros(i64::from_be_bytes(at.try_into().ok()?)),
        })
    }

    pub(super) fn line(&self) -> String {
        let text = format!(
            "store {} sequence {:020} microseconds {:020}",
            self.store,
            self.sequence,
            self.at.as_micros()
        );
        format!("{text} checksum {:016x}\n", xxh3_64(text.as_bytes()))
    }

    pub(super) fn of_line(sector: &[u8]) -> Option<Self> {
        let line = sector.split(|&byte| byte == b'\n').next()?;
        let (text, sum) = std::str::from_utf8(line).ok()?.split_once(" checksum ")?;
        if u64::from_str_radix(sum, 16).ok()? != xxh3_64(text.as_bytes()) {
            return None;
        }
        let mut words = text.split(' ').skip(1).step_by(2);
        Some(Self {
            store: words.next()?.parse().ok()?,
            sequence: words.next()?.parse().ok()?,
            at: Timestamp::from_micros(words.next()?.parse().ok()?),
        })
    }
}

/// Key of the row that is stored with each group, in [`Table::Meta`].
pub(super) const SEQUENCE_KEY: &[u8] = b"sequence";
