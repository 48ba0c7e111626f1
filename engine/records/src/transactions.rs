//! A transaction's own rows: the snapshot, its events, its timer and its line in the list.

use std::sync::Arc;

use super::{RecordError, cases, counts, keys, names, search, statistics};
use switchyard_core::ids::{ConnectionId, TransactionId};
use switchyard_core::transaction::{Recorded, Transaction};
use switchyard_store::{Batch, Direction, Store, StoreError, Table};

/// Events of one transaction that are shown at most; the schedule makes some 35 a year of one that
/// never ends.
const TIMELINE_EVENTS: usize = 10_000;

/// Rows of the index of open attempts that are read at once.
const OPEN_PAGE: usize = 2_000;

/// One step: the transaction before and after it, and the events in between.
pub struct Step<'a> {
    /// `None` when this step makes the transaction.
    pub before: Option<&'a Transaction>,
    pub after: &'a Transaction,
    pub events: &'a [Recorded],
}

/// Adds all rows of `step` to `batch`. The commit conflicts when the stored version is not the one
/// that the step began from, or when a step that creates the transaction finds it stored.
pub fn write(batch: &mut Batch, step: &Step<'_>) -> Result<(), RecordError> {
    let after = step.after;
    let damaged = || RecordError::damaged("transaction", after.id);
    let key = keys::transaction(after.id);
    match step.before {
        Some(before) => batch.require_version(Table::Transaction, key, before.version),
        // A store may commit and answer that it did not: the same transaction is not created twice.
        None => batch.require_absent(Table::Transaction, key),
    }
    batch
        .put_written(Table::Transaction, key, Some(after.version), |row| {
            serde_json::to_writer(row, after)
        })
        .map_err(|_| damaged())?;
    for recorded in step.events {
        let key = keys::event(after.id, recorded.version);
        batch
            .put_written(Table::Event, key, None, |row| {
                serde_json::to_writer(row, recorded)
            })
            .map_err(|_| damaged())?;
    }
    let (old, new) = (step.before.and_then(Transaction::wake_at), after.wake_at());
    if old != new {
        if let Some(at) = old {
            batch.delete(Table::Timer, keys::timer(at, after.id));
        }
        if let Some(at) = new {
            batch.put(Table::Timer, keys::timer(at, after.id), []);
        }
    }
    write_indexes(batch, step.before, after);
    statistics::write(batch, step.before, Some(after));
    let (old, new) = (step.before.map(Transaction::status), after.status());
    if old != Some(new) {
        let line = keys::list(after.app, after.environment, after.id);
        batch.put(Table::Index, line, new.as_str().as_bytes());
        let change = (old, Some(new));
        counts::count(batch, after.app, after.environment, after.id, change);
    }
    Ok(())
}

/// The rows by which a transaction is found otherwise than by its id: those of `after`, where they
/// differ from those of `before`.
pub(super) fn write_indexes(batch: &mut Batch, before: Option<&Transaction>, after: &Transaction) {
    write_open(batch, before, after);
    for (name, attempt) in names::new_names(before, after) {
        for (key, value) in name.rows(after.id, attempt) {
            batch.put(Table::Index, key, value);
        }
    }
    cases::write(batch, before, after);
    search::write(batch, before, after);
}

/// Which version of a gateway has an open attempt of a transaction, and at which connection.
fn open_at(tx: &Transaction) -> Option<(&str, ConnectionId)> {
    let attempt = tx.current_attempt().filter(|_| tx.has_open_attempt())?;
    let candidate = &attempt.candidate;
    Some((&candidate.gateway_hash, candidate.connection))
}

/// Keeps the index of open attempts: it tells whether a version of a gateway, or a connection, is
/// still needed.
fn write_open(batch: &mut Batch, before: Option<&Transaction>, after: &Transaction) {
    let id = after.id;
    let (old, new) = (before.and_then(open_at), open_at(after));
    if old == new {
        return;
    }
    if let Some((hash, _)) = old {
        batch.delete(Table::Index, keys::open(hash, id));
    }
    if let Some((hash, connection)) = new {
        let connection = connection.ulid().to_bytes();
        batch.put(Table::Index, keys::open(hash, id), connection);
    }
}

/// Forgets the open attempt of a transaction that is being deleted.
pub(super) fn delete_open(batch: &mut Batch, tx: &Transaction) {
    if let Some((hash, _)) = open_at(tx) {
        batch.delete(Table::Index, keys::open(hash, tx.id));
    }
}

/// How many transactions have an open attempt on the version of a gateway with this hash; `limit`
/// when there are more.
pub async fn open_attempts(store: &Store, hash: &str, limit: usize) -> Result<usize, StoreError> {
    let prefix = keys::open_prefix(hash);
    let end = keys::after(&prefix);
    let rows = store.scan(Table::Index, &prefix, &end, Direction::Forward, limit);
    Ok(rows.await?.len())
}

/// How many transactions have an open attempt at a connection; `limit` when there are more. Reads
/// one small row for each attempt that is open anywhere: a question that operators ask, not
/// payments.
pub async fn open_attempts_at(
    store: &Store,
    connection: ConnectionId,
    limit: usize,
) -> Result<usize, StoreError> {
    let end = keys::after(&keys::OPEN_PREFIX);
    let mut start = keys::OPEN_PREFIX.to_vec();
    let connection = connection.ulid().to_bytes();
    let mut count = 0;
    loop {
        let rows = store
            .scan(Table::Index, &start, &end, Direction::Forward, OPEN_PAGE)
            .await?;
        count += rows.iter().filter(|(_, at)| *at == connection).count();
        match rows.last() {
            Some((key, _)) if rows.len() == OPEN_PAGE && count < limit => {
                start = [&key[..], &[0]].concat();
            }
            _ => return Ok(count.min(limit)),
        }
        tokio::task::yield_now().await;
    }
}

/// The transaction as it is stored.
pub async fn load(store: &Store, id: TransactionId) -> Result<Option<Transaction>, RecordError> {
    let found = stored(store, id).await?;
    found.map(|(_, row)| parsed(id, &row)).transpose()
}

/// The same for one that was read before: its row is parsed only when its version has become
/// another.
pub async fn load_again(
    store: &Store,
    known: &Arc<Transaction>,
) -> Result<Option<Arc<Transaction>>, RecordError> {
    match stored(store, known.id).await? {
        None => Ok(None),
        Some((version, _)) if version == known.version => Ok(Some(known.clone())),
        Some((_, row)) => Ok(Some(Arc::new(parsed(known.id, &row)?))),
    }
}

async fn stored(store: &Store, id: TransactionId) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
    store
        .get_versioned(Table::Transaction, &keys::transaction(id))
        .await
}

fn parsed(id: TransactionId, row: &[u8]) -> Result<Transaction, RecordError> {
    serde_json::from_slice(row).map_err(|_| RecordError::damaged("transaction", id))
}

/// All events of a transaction, oldest first.
pub async fn timeline(store: &Store, id: TransactionId) -> Result<Vec<Recorded>, RecordError> {
    let prefix = keys::transaction(id);
    let rows = store
        .scan(
            Table::Event,
            &prefix,
            &keys::after(&prefix),
            Direction::Forward,
            TIMELINE_EVENTS,
        )
        .await?;
    rows.iter()
        .map(|(_, row)| {
            serde_json::from_slice(row)
                .map_err(|_| RecordError::damaged("event of transaction", id))
        })
        .collect()
}
