//! A door for fuzzing. Behind the feature `fuzzing`.

use super::row::{self, Row};

pub(crate) fn row(key: &[u8], value: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let _ = row::expiring(key);
    Some((key.to_owned(), Row::read(value)?.write()))
}
