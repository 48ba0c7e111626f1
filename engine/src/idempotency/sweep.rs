//! Kept answers go when their time is over.

use futures_util::future::join_all;

use super::row::{self, Row};
use switchyard_core::limits::IDEMPOTENCY_SWEEP;
use switchyard_core::time::Timestamp;
use switchyard_store::{Batch, CommitError, Store, StoreError, Table};

/// Deletes the answers whose time was over at `now`; says how many. Each goes in a commit of its
/// own that a new use of the same key defeats, so nothing that counts is deleted.
pub async fn sweep(store: &Store, now: Timestamp) -> Result<u64, StoreError> {
    let mut swept = 0;
    let mut pages = store.pages(Table::Idempotency, row::expired(now), IDEMPOTENCY_SWEEP);
    while let Some(due) = pages.next().await? {
        // All at once, so that they share a flush.
        let deleted = join_all(due.iter().map(|(expiry, _)| delete(store, expiry, now))).await;
        for gone in deleted {
            swept += u64::from(gone?);
        }
    }
    Ok(swept)
}

async fn delete(store: &Store, expiry: &[u8], now: Timestamp) -> Result<bool, StoreError> {
    let mut batch = Batch::new();
    batch.delete(Table::Idempotency, expiry);
    let mut deletes = false;
    if let Some(key) = row::expiring(expiry)
        && let Some(stored) = store.get(Table::Idempotency, key).await?
        // Of one that cannot be read, the time that is over is the one written down for it.
        && Row::read(&stored).is_none_or(|row| row.expires_at <= now)
    {
        batch.require_value(Table::Idempotency, key, &stored);
        batch.delete(Table::Idempotency, key);
        deletes = true;
    }
    match store.commit(batch).await {
        Ok(()) => Ok(deletes),
        // Somebody has just used the key again; the next sweep finds the expiry alone.
        Err(CommitError::Conflict) => Ok(false),
        Err(CommitError::Unavailable { reason }) => Err(StoreError::Unavailable { reason }),
    }
}
