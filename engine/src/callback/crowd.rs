//! Limit of the callbacks of one transaction. Beyond it, unverified ones are deleted, and one at a
//! time waits for a query that covers the deleted ones.

use super::row::{self, Callback};
use super::verdict::Verdict;
use crate::engine::{Engine, EngineError};
use switchyard_core::ids::TransactionId;
use switchyard_core::limits::CALLBACKS_PER_TRANSACTION;
use switchyard_store::{Direction, Table};

/// Verdict on an unverified callback beyond the limit, until the query that it causes is due: one
/// callback waits for that query, which also covers those that are deleted until then.
pub(super) fn covered_or_later(
    engine: &Engine,
    callback: &Callback,
    transaction: TransactionId,
) -> Option<Verdict> {
    let now = engine.clock().now();
    let reserved = engine
        .callbacks()
        .reserve_query(transaction, callback.id, now);
    match reserved {
        None => Some(Verdict::Forget),
        Some(at) if at > now => Some(Verdict::Later {
            at,
            note: CROWDED.to_owned(),
        }),
        Some(_) => None,
    }
}

/// Whether the callback came after the number of kept callbacks of the transaction had reached its
/// limit.
pub(super) async fn is_beyond_limit(
    engine: &Engine,
    callback: &Callback,
    transaction: TransactionId,
) -> Result<bool, EngineError> {
    if callback.transaction.is_some() {
        return Ok(engine.callbacks().reserved_query(callback).is_some());
    }
    let range = row::transaction_prefix(transaction).range();
    let rows = engine
        .store()
        .scan(
            Table::Callback,
            range.from(),
            range.to(),
            Direction::Forward,
            CALLBACKS_PER_TRANSACTION,
        )
        .await?;
    Ok(rows.len() >= CALLBACKS_PER_TRANSACTION)
}

const CROWDED: &str =
    "Its transaction has too many callbacks. The provider is queried once a minute.";
