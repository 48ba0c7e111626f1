//! Walks over the rows of all queues in a key range.

use switchyard_store::{Direction, KeyRange, Store, StoreError, Table};

/// Calls `visit` with the key and the value of each row of a key range.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn each_row(
    store: &Store,
    table: Table,
    range: KeyRange,
    mut visit: impl FnMut(&[u8], &[u8]),
) -> Result<(), StoreError> {
    let mut pages = store.pages(table, range, PAGE);
    while let Some(rows) = pages.next().await? {
        for (key, value) in &rows {
            visit(key, value);
        }
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Calls `visit` with the first key of each queue in a key range: one read for each queue, whatever
/// its length. `visit` returns the rest of the range, behind that queue.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn each_queue(
    store: &Store,
    table: Table,
    mut range: KeyRange,
    mut visit: impl FnMut(&[u8], KeyRange) -> KeyRange,
) -> Result<(), StoreError> {
    loop {
        let (from, to) = (range.from(), range.to());
        let rows = store.scan(table, from, to, Direction::Forward, 1).await?;
        let Some((key, _)) = rows.first() else {
            return Ok(());
        };
        range = visit(key, range);
    }
}

/// Rows of one read: so many that it runs on a blocking thread and does not delay other tasks.
const PAGE: usize = 1_000;
