//! The form in which things are stored, as a number in the store itself, and how a store of an earlier program comes into today's.
//!
//! Each step is done before the engine starts, while nobody else writes; it may be cut short at any moment, and is then done again from
//! its beginning. The number is written last.

use crate::gateway::{self, NoNumber};
use crate::records::{self, IndexError};
use crate::store::{Batch, CommitError, Store, StoreError, Table};

/// 1: transactions have all their indexes, and the index of open attempts tells the connection.
/// 2: sandbox and live have each their own count of the numbers that gateways take.
/// 3: transactions are counted by status and by when they began.
const FORMAT: u64 = 3;
const KEY: &[u8] = b"format";

/// Why a store cannot be used as it is.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    #[error(
        "the store is in form {0}, and this program knows forms up to {FORMAT}: run the program that wrote it, or a later one"
    )]
    Newer(u64),
    #[error("the store's own form cannot be read: restore the store from a backup")]
    Damaged,
    #[error("the store could not be read")]
    Read(#[from] StoreError),
    #[error("the store did not take the change")]
    Write(#[from] CommitError),
    #[error("the transactions of an earlier program could not be indexed")]
    Index(#[from] IndexError),
    #[error("the numbers that gateways take could not be parted by environment")]
    Numbers(#[from] NoNumber),
}

/// Brings a store of an earlier program into the form that this one works with. Call it before the engine starts.
pub async fn bring_up_to_date(store: &Store) -> Result<(), FormatError> {
    let found = match store.get(Table::Meta, KEY).await? {
        // No number: a new store, or one of before there were any.
        None => 0,
        Some(row) => {
            let row = row.as_slice().try_into();
            u64::from_be_bytes(row.map_err(|_| FormatError::Damaged)?)
        }
    };
    if found == FORMAT {
        return Ok(());
    }
    if found > FORMAT {
        return Err(FormatError::Newer(found));
    }
    if found < 1 {
        let count = records::index_all(store).await?;
        if count > 0 {
            tracing::info!(count, "The transactions of an earlier version are indexed.");
        }
    }
    if found < 2 {
        gateway::part_counters(store).await?;
    }
    if found < 3 {
        let count = records::count_all(store).await?;
        if count > 0 {
            tracing::info!(count, "The transactions of an earlier version are counted.");
        }
    }
    let mut batch = Batch::new();
    batch.put(Table::Meta, KEY, FORMAT.to_be_bytes());
    Ok(store.commit(batch).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_store_is_brought_up_to_date_once_and_one_of_a_later_program_is_left_alone() {
        let store = Store::memory();
        bring_up_to_date(&store).await.unwrap();
        let commits = store.stats().commits;
        bring_up_to_date(&store).await.unwrap();
        assert_eq!(store.stats().commits, commits);

        let mut batch = Batch::new();
        batch.put(Table::Meta, KEY, (FORMAT + 1).to_be_bytes());
        store.commit(batch).await.unwrap();
        let refused = bring_up_to_date(&store).await.unwrap_err().to_string();
        assert!(refused.contains("a later one"), "{refused}");
    }
}
