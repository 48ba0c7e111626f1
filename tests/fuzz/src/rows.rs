//! Rows on a disk: a row that is read is written the same again, and read the same again.

use switchyard_engine::fuzzing::ROWS;

/// First byte: which kind of row. Second: how long its key is. Then the key, and the value.
pub fn stored_rows(bytes: &[u8]) {
    let [kind, key, rest @ ..] = bytes else {
        return;
    };
    let (name, door) = ROWS[usize::from(*kind) % ROWS.len()];
    let (key, value) = rest.split_at(usize::from(*key).min(rest.len()));
    let Some((key, value)) = door(key, value) else {
        return;
    };
    let again = door(&key, &value);
    assert_eq!(
        again,
        Some((key, value)),
        "a row of kind {name} changes when it is read"
    );
}
