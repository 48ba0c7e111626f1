//! Doors for fuzzing. Behind the feature `fuzzing`.

use super::{keys, names, timers};

pub fn timer(key: &[u8], value: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let due = timers::read_timer(key)?;
    let again = keys::timer(due.at, due.transaction);
    Some((again.to_vec(), value.to_owned()))
}

pub fn name(key: &[u8], value: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let (transaction, attempt) = names::read(value)?;
    Some((key.to_owned(), names::row(transaction, attempt)))
}
