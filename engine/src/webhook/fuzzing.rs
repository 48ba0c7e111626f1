//! A door for fuzzing. Behind the feature `fuzzing`.

use super::row::{self, Row};

pub(crate) fn row(key: &[u8], value: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let row = Row::read(key, value).ok()?;
    assert_eq!(row::webhook_of(key), Ok(row.webhook), "whose row it is");
    Some((row.key(), row.value()))
}
