//! Entry points for fuzzing, behind the feature `fuzzing`.

use super::row;
use switchyard_store::Key;

pub(crate) fn key(key: &[u8], value: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let _ = (
        row::which_in(key),
        row::state_in(key),
        row::parked_in(key),
        row::due_in(key),
    );
    let connection = row::connection_of(value)?;
    Some((key.to_owned(), Key::new().with(connection).into()))
}
