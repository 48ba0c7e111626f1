//! A door for fuzzing. Behind the feature `fuzzing`.

use super::kv::fjall;

/// Looks for a torn batch at a journal's end; what is cut off begins within it.
pub(crate) fn journal(key: &[u8], value: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let start = fjall::torn_batch(value)?;
    assert!(start < value.len(), "it begins within the journal");
    Some((key.to_owned(), value.to_owned()))
}
