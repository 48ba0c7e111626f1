//! Deletion of what sandbox keeps for 90 days only (docs/contract/limits.md). Live rows are never
//! touched: every key that is looked at begins with an app and the word sandbox.

use super::customer_rows::forget_email;
use super::customers::Stored;
use super::{RecordError, cases, counts, keys, list, names, search, statistics, transactions};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, TransactionId};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Kind;
use switchyard_store::{Batch, CommitError, Direction, Store, Table};

/// Transactions or customers looked at in one go.
const CHUNK: usize = 200;
/// Rows of one table that belong to one transaction, deleted with it.
const ROWS: usize = 10_000;

/// Deletes an app's sandbox transactions created before `before`, and its sandbox customers not
/// seen since. Says how many went.
pub async fn purge_sandbox(
    store: &Store,
    app: AppId,
    before: Timestamp,
) -> Result<u64, RecordError> {
    let mut gone = 0;
    for kind in Kind::ALL {
        gone += purge_transactions(store, app, kind, before).await?;
    }
    Ok(gone + purge_customers(store, app, before).await?)
}

async fn purge_transactions(
    store: &Store,
    app: AppId,
    kind: Kind,
    before: Timestamp,
) -> Result<u64, RecordError> {
    let prefix = keys::list_prefix(app, Environment::Sandbox, kind);
    let end = keys::after(&prefix);
    let mut start = prefix.clone();
    let mut gone = 0;
    loop {
        let rows = store
            .scan(Table::Index, &start, &end, Direction::Forward, CHUNK)
            .await?;
        let full = rows.len() == CHUNK;
        for (key, status) in rows {
            let Some(ulid) = key
                .get(prefix.len()..)
                .and_then(|ulid| <[u8; 16]>::try_from(ulid).ok())
            else {
                continue;
            };
            let ulid = ulid::Ulid::from_bytes(ulid);
            if i64::try_from(ulid.timestamp_ms()).unwrap_or(i64::MAX) >= before.as_millis() {
                return Ok(gone);
            }
            let id = list::id(kind, ulid);
            gone += u64::from(delete_transaction(store, app, id, (&key, &status)).await?);
            start = [&key[..], &[0]].concat();
        }
        if !full {
            return Ok(gone);
        }
    }
}

/// Deletes every row of one transaction. `false`: it moved in this very moment; the next round
/// finds it again.
async fn delete_transaction(
    store: &Store,
    app: AppId,
    id: TransactionId,
    (list_key, status): (&[u8], &[u8]),
) -> Result<bool, RecordError> {
    let mut batch = Batch::new();
    let key = keys::transaction(id);
    if let Some(tx) = transactions::load(store, id).await? {
        if tx.environment != Environment::Sandbox {
            return Err(RecordError::damaged(
                "sandbox list entry of transaction",
                id,
            ));
        }
        batch.require_version(Table::Transaction, key, tx.version);
        cases::delete(&mut batch, &tx);
        search::delete(&mut batch, &tx);
        statistics::write(&mut batch, Some(&tx), None);
        if let Some(at) = tx.wake_at() {
            batch.delete(Table::Timer, keys::timer(at, id));
        }
        transactions::delete_open(&mut batch, &tx);
        for (name, attempt) in names::new_names(None, &tx) {
            for (key, _) in name.rows(id, attempt) {
                batch.delete(Table::Index, key);
            }
        }
    }
    batch.delete(Table::Transaction, key);
    // The line is counted until it is removed: under its own status, and once.
    batch.require_value(Table::Index, list_key, status);
    batch.delete(Table::Index, list_key);
    let status = list::status(list_key, status)?;
    counts::count(
        &mut batch,
        app,
        Environment::Sandbox,
        id,
        (Some(status), None),
    );
    for (row, _) in store
        .scan(
            Table::Event,
            &key,
            &keys::after(&key),
            Direction::Forward,
            ROWS,
        )
        .await?
    {
        batch.delete(Table::Event, row);
    }
    let journal = format!("{id}/").into_bytes();
    for (row, _) in store
        .scan(
            Table::Journal,
            &journal,
            &keys::after(&journal),
            Direction::Forward,
            ROWS,
        )
        .await?
    {
        batch.delete(Table::Journal, row);
    }
    commit(store, batch).await
}

async fn purge_customers(store: &Store, app: AppId, before: Timestamp) -> Result<u64, RecordError> {
    let prefix = keys::customer_prefix(app, Environment::Sandbox);
    let end = keys::after(&prefix);
    let mut start = prefix.clone();
    let mut gone = 0;
    loop {
        let rows = store
            .scan(Table::Customer, &start, &end, Direction::Forward, CHUNK)
            .await?;
        let full = rows.len() == CHUNK;
        for (key, row) in rows {
            start = [&key[..], &[0]].concat();
            let stored: Stored = serde_json::from_slice(&row)
                .map_err(|_| RecordError::damaged("customer", format!("{key:02x?}")))?;
            let customer = &stored.customer;
            // Customers are ordered by creation time: after the first young one, all are young.
            if customer.created_at >= before {
                return Ok(gone);
            }
            if stored.seen_at() < before {
                let mut batch = Batch::new();
                batch.require_value(Table::Customer, key.clone(), row);
                batch.delete(Table::Customer, key);
                let owner = (app, Environment::Sandbox);
                forget_email(store, &mut batch, owner, customer).await?;
                gone += u64::from(commit(store, batch).await?);
            }
        }
        if !full {
            return Ok(gone);
        }
    }
}

async fn commit(store: &Store, batch: Batch) -> Result<bool, RecordError> {
    match store.commit(batch).await {
        Ok(()) => Ok(true),
        Err(CommitError::Conflict) => Ok(false),
        // The store takes no writes now: a later round deletes the rest.
        Err(CommitError::Unavailable { .. }) => Ok(false),
    }
}
