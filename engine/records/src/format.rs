//! The format of the stored rows, as a number in the store itself. A store of another format is
//! refused: there is no released program whose stores would have to be converted.

use switchyard_store::{Batch, CommitError, Direction, Store, StoreError, Table};

const FORMAT: u64 = 1;
const KEY: &[u8] = b"format";

/// Reason why a store cannot be used as it is.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    #[error(
        "the store is in format {0}, and this program knows format {FORMAT}: run the program that \
         wrote it, or a later one"
    )]
    Newer(u64),
    #[error(
        "the store has rows and no format: another program wrote it; start with an empty data folder"
    )]
    Missing,
    #[error("the store's own format cannot be read: restore the store from a backup")]
    Damaged,
    #[error("the store could not be read")]
    Read(#[from] StoreError),
    #[error("the store did not take the change")]
    Write(#[from] CommitError),
}

impl FormatError {
    /// Returns whether every later start fails as well until a person has done something.
    pub const fn is_lasting(&self) -> bool {
        matches!(self, Self::Newer(_) | Self::Missing | Self::Damaged)
    }
}

/// Checks that the store has the format of this program; a new store gets it. Call it before the
/// engine starts.
///
/// # Errors
/// When the store is of another program.
pub async fn ensure_format(store: &Store) -> Result<(), FormatError> {
    let Some(row) = store.get(Table::Meta, KEY).await? else {
        return match is_empty(store).await? {
            true => write(store).await,
            false => Err(FormatError::Missing),
        };
    };
    let found = row.as_slice().try_into();
    match u64::from_be_bytes(found.map_err(|_| FormatError::Damaged)?) {
        0 => Err(FormatError::Damaged),
        FORMAT => Ok(()),
        newer => Err(FormatError::Newer(newer)),
    }
}

async fn write(store: &Store) -> Result<(), FormatError> {
    let mut batch = Batch::new();
    batch.put(Table::Meta, KEY, FORMAT.to_be_bytes());
    Ok(store.commit(batch).await?)
}

async fn is_empty(store: &Store) -> Result<bool, StoreError> {
    for table in [Table::Transaction, Table::Access] {
        let rows = store.scan(table, &[0], &[u8::MAX], Direction::Forward, 1);
        if !rows.await?.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_new_store_gets_the_format_once_and_one_of_another_program_is_left_alone() {
        let store = Store::memory();
        ensure_format(&store).await.unwrap();
        let commits = store.stats().commits;
        ensure_format(&store).await.unwrap();
        assert_eq!(store.stats().commits, commits);

        for (found, word) in [(FORMAT + 1, "a later one"), (0, "cannot be read")] {
            let mut batch = Batch::new();
            batch.put(Table::Meta, KEY, found.to_be_bytes());
            store.commit(batch).await.unwrap();
            let refused = ensure_format(&store).await.unwrap_err().to_string();
            assert!(refused.contains(word), "{refused}");
        }
    }

    #[tokio::test]
    async fn a_store_without_a_format_that_holds_rows_is_refused() {
        let store = Store::memory();
        let mut batch = Batch::new();
        batch.put(Table::Access, b"account/x", b"{}");
        store.commit(batch).await.unwrap();
        let refused = ensure_format(&store).await;
        assert!(matches!(refused, Err(FormatError::Missing)), "{refused:?}");
    }
}
