//! The indexes of transactions that an earlier program wrote without them: which attempts are open where, what providers call them, and
//! which cases there are; and how many transactions there are.

use super::{RecordError, counts, keys, list, transactions};
use crate::store::{Batch, CommitError, Direction, Store, Table};
use crate::transaction::Transaction;

/// Transactions that are read at once and indexed in one commit: some megabytes, however many there are.
const PAGE: usize = 200;
/// Lines of the lists that are counted in one commit.
const LINES: usize = 2_000;

/// Why the indexes could not be written. What was written stays, and is written again the next time.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error(transparent)]
    Read(#[from] RecordError),
    #[error("the store did not take the indexes")]
    Write(#[from] CommitError),
}

/// Writes the indexes of all transactions. Nobody else writes meanwhile. Says how many transactions there are.
pub(crate) async fn index_all(store: &Store) -> Result<u64, IndexError> {
    let mut from = vec![0];
    let to = [u8::MAX];
    let mut count = 0;
    loop {
        let rows = store
            .scan(Table::Transaction, &from, &to, Direction::Forward, PAGE)
            .await
            .map_err(RecordError::Read)?;
        let mut batch = Batch::new();
        for (key, row) in &rows {
            let damaged = || RecordError::damaged("transaction", format!("{key:02x?}"));
            let (_, row) = row.split_first_chunk::<8>().ok_or_else(damaged)?;
            let tx: Transaction = serde_json::from_slice(row).map_err(|_| damaged())?;
            transactions::write_indexes(&mut batch, None, &tx);
        }
        store.commit(batch).await?;
        count += rows.len() as u64;
        match rows.last() {
            Some((key, _)) if rows.len() == PAGE => from = [&key[..], &[0]].concat(),
            _ => return Ok(count),
        }
        if count.is_multiple_of(100 * PAGE as u64) {
            tracing::info!(count, "Indexing the transactions of an earlier version.");
        }
        tokio::task::yield_now().await;
    }
}

/// Counts all transactions anew, by what the lists say. Nobody else writes meanwhile. Says how many transactions there are.
pub(crate) async fn count_all(store: &Store) -> Result<u64, IndexError> {
    forget_counts(store).await?;
    let (mut from, to) = (keys::LIST_PREFIX.to_vec(), keys::after(&keys::LIST_PREFIX));
    let mut count = 0;
    loop {
        let rows = store
            .scan(Table::Index, &from, &to, Direction::Forward, LINES)
            .await
            .map_err(RecordError::Read)?;
        let mut batch = Batch::new();
        for (key, line) in &rows {
            let damaged = || RecordError::damaged("list index", format!("{key:02x?}"));
            let (app, environment, id) = keys::read_list(key).ok_or_else(damaged)?;
            let status = list::status(key, line)?;
            counts::count(&mut batch, app, environment, id, (None, Some(status)));
        }
        store.commit(batch).await?;
        count += rows.len() as u64;
        match rows.last() {
            Some((key, _)) if rows.len() == LINES => from = [&key[..], &[0]].concat(),
            _ => return Ok(count),
        }
        if count.is_multiple_of(50 * LINES as u64) {
            tracing::info!(count, "Counting the transactions of an earlier version.");
        }
        tokio::task::yield_now().await;
    }
}

/// What a counting that was cut short has left.
async fn forget_counts(store: &Store) -> Result<(), IndexError> {
    loop {
        let (from, to) = ([0], [u8::MAX; keys::COUNT_BYTES]);
        let rows = store
            .scan(Table::Count, &from, &to, Direction::Forward, LINES)
            .await
            .map_err(RecordError::Read)?;
        if rows.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::new();
        rows.iter()
            .for_each(|(key, _)| batch.delete(Table::Count, key));
        store.commit(batch).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::bring_up_to_date;
    use crate::ids::{PaymentId, TransactionId};
    use crate::records::{CaseQuery, Name, attempt_named, cases, open_attempts, open_attempts_at};
    use crate::transaction::tests::fixtures::*;

    /// A payment that `outcome` is known of, stored as a program did that had no indexes.
    async fn stored_without(
        store: &Store,
        number: u128,
        outcome: crate::transaction::Outcome,
    ) -> World {
        let mut world = World::payment();
        world.apply(confirm(1)).unwrap();
        world.answer(outcome).unwrap();
        world.tx.id = TransactionId::Payment(PaymentId::new(ulid::Ulid::from_parts(1, number)));
        for case in &mut world.tx.cases {
            case.id = crate::ids::CaseId::new(ulid::Ulid::from_parts(1, number));
        }
        world.tx.attempts[0].reference = uuid::Uuid::from_u128(number);
        world.tx.attempts[0].provider_id = Some(format!("P{number}"));
        let mut batch = Batch::new();
        let row = serde_json::to_vec(&world.tx).unwrap();
        let key = keys::transaction(world.tx.id);
        batch.put_versioned(Table::Transaction, key, world.tx.version, row);
        store.commit(batch).await.unwrap();
        world
    }

    #[tokio::test]
    async fn transactions_written_without_indexes_are_found_by_them_afterwards() {
        let store = Store::memory();
        let many = 2 * PAGE as u128 + 1;
        for number in 0..many {
            stored_without(&store, number, pending()).await;
        }
        let ended = stored_without(&store, many, succeeded()).await;
        let short = stored_without(&store, many + 1, succeeded_with(2_499)).await;
        bring_up_to_date(&store).await.unwrap();

        let candidate = candidate(0);
        let open = 2 * PAGE + 2;
        let hash = &candidate.gateway_hash;
        assert_eq!(open_attempts(&store, hash, 10_000).await.unwrap(), open);
        let at = open_attempts_at(&store, candidate.connection, 10_000);
        assert_eq!(at.await.unwrap(), open);
        for (world, number) in [(&ended, many), (&short, many + 1)] {
            let attempt = &world.tx.attempts[0];
            let reference = attempt.reference.to_string();
            for name in [
                Name::reference(candidate.connection, &reference),
                Name::provider_id(candidate.connection, &format!("P{number}")),
            ] {
                let found = attempt_named(&store, &name.unwrap()).await.unwrap();
                assert_eq!(found, Some((world.tx.id, attempt.id)));
            }
        }
        let query = CaseQuery {
            open: true,
            app: None,
            environment: None,
            reason: None,
            opened_before: None,
            before: None,
            limit: 10,
        };
        let found = cases(&store, &query).await.unwrap().items;
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].transaction.id, short.tx.id);
    }
}
