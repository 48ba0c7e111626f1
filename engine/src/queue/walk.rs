//! Walks over the rows of all queues in a key range.

use super::handler::KeyRange;
use switchyard_store::{Direction, Store, StoreError, Table};

/// Calls `visit` with the key and the value of each row of a key range.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn each_row(
    store: &Store,
    table: Table,
    (mut from, end): KeyRange,
    mut visit: impl FnMut(&[u8], &[u8]),
) -> Result<(), StoreError> {
    loop {
        let rows = store
            .scan(table, &from, &end, Direction::Forward, PAGE)
            .await?;
        for (key, value) in &rows {
            visit(key, value);
        }
        match rows.last() {
            Some((last, _)) if rows.len() == PAGE => from = [&last[..], &[0]].concat(),
            _ => return Ok(()),
        }
        tokio::task::yield_now().await;
    }
}

/// Calls `visit` with the first key of each queue in a key range: one read for each queue, whatever
/// its length. `visit` returns the key at which the next queue may begin.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn each_queue(
    store: &Store,
    table: Table,
    (mut from, end): KeyRange,
    mut visit: impl FnMut(&[u8]) -> Vec<u8>,
) -> Result<(), StoreError> {
    loop {
        let rows = store
            .scan(table, &from, &end, Direction::Forward, 1)
            .await?;
        let Some((key, _)) = rows.first() else {
            return Ok(());
        };
        from = visit(key);
    }
}

/// Rows of one read: so many that it runs on a blocking thread and does not delay other tasks.
const PAGE: usize = 1_000;
