//! Limit of the callbacks of one transaction. Beyond it, unverified ones are deleted, and one at a
//! time waits for a query that covers the deleted ones.

use super::row::{self, Callback};
use super::verdict::Verdict;
use crate::engine::{Engine, EngineError};
use switchyard_core::ids::{AttemptId, TransactionId};
use switchyard_core::limits::CALLBACKS_PER_TRANSACTION;

/// Verdict on an unverified callback beyond the limit, until the query that it causes is due: one
/// callback waits for that query, which also covers those that are deleted until then.
pub(super) fn covered_or_later(
    engine: &Engine,
    callback: &Callback,
    attempts: &[AttemptId],
) -> Option<Verdict> {
    let now = engine.clock().now();
    match engine.callbacks().reserve_query(attempts, callback.id, now) {
        None => Some(Verdict::Forget),
        Some(at) if at > now => Some(Verdict::Later {
            at,
            note: CROWDED.to_owned(),
        }),
        Some(_) => None,
    }
}

/// Whether the callback about `attempts` came after the number of kept callbacks of the transaction
/// had reached its limit.
pub(super) async fn is_beyond_limit(
    engine: &Engine,
    callback: &Callback,
    transaction: TransactionId,
    attempts: &[AttemptId],
) -> Result<bool, EngineError> {
    if callback.transaction.is_some() {
        let reserved = |attempt| engine.callbacks().reserved_query(attempt, callback.id);
        return Ok(attempts.iter().any(|attempt| reserved(*attempt).is_some()));
    }
    let rows = row::of_transaction(engine.store(), transaction).await?;
    Ok(rows.len() >= CALLBACKS_PER_TRANSACTION)
}

const CROWDED: &str =
    "Its transaction has too many callbacks. The provider is queried every 10 seconds.";
