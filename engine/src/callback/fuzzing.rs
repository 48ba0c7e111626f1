//! Entry points for fuzzing, behind the feature `fuzzing`.

use super::row;

pub(crate) fn key(key: &[u8], value: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let _ = (
        row::connection_in(key),
        row::state_in(key),
        row::callback_in(key),
    );
    let connection = row::connection_of(value)?;
    Some((key.to_owned(), connection.ulid().to_bytes().into()))
}
