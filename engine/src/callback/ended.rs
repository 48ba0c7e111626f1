//! A hint about an attempt that has ended without success. Its provider may have taken the money all the same, so it is asked once more:
//! should it have, the transaction comes before a person.

use super::row::Callback;
use super::verdict::{Verdict, apply, matched};
use crate::actors;
use crate::clock::Timestamp;
use crate::engine::{Engine, EngineError};
use crate::gateway::{Operation, exchanges};
use crate::limits::{CALLBACK_HINT_AGE, CALLBACK_PATIENCE};
use crate::transaction::{Attempt, AttemptState, Outcome, Transaction};

/// `None`: not before our own call about the attempt has ended.
pub(super) async fn ask(
    engine: &Engine,
    callback: &Callback,
    tx: &Transaction,
    attempt: &Attempt,
    why: &str,
) -> Result<Option<Verdict>, EngineError> {
    let end = |what: &str| Ok(Some(matched(format!("{why} {what}"))));
    // What a provider tells after a success is nearly always that success again.
    if attempt.state == AttemptState::Succeeded {
        return end("The attempt has ended.");
    }
    if engine.running.contains(attempt.id) {
        return Ok(None);
    }
    if was_asked_since(engine, tx, attempt, callback.received_at).await? {
        return end("The attempt has ended, and the provider was asked since.");
    }
    match actors::query(engine, tx, attempt).await {
        success @ Outcome::Succeeded { .. } => apply(engine, tx, attempt, success).await,
        Outcome::Unknown { .. } => Ok(Some(later(engine, callback, why))),
        Outcome::Declined(_) | Outcome::NotSent { .. } | Outcome::Pending { .. } => {
            end("The attempt has ended, and the provider knows of no money.")
        }
    }
}

/// Who sends many hints gets one query for them.
async fn was_asked_since(
    engine: &Engine,
    tx: &Transaction,
    attempt: &Attempt,
    since: Timestamp,
) -> Result<bool, EngineError> {
    let rows = exchanges(&engine.store, tx.id, attempt.id).await?;
    let query = Operation::Query.as_str();
    Ok(rows
        .iter()
        .any(|row| row.operation == query && row.status.is_some() && row.at >= since))
}

/// The provider could not say. It is asked again after as long as the callback has waited already, for a day.
fn later(engine: &Engine, callback: &Callback, why: &str) -> Verdict {
    let now = engine.clock.now();
    let waited = now.since(callback.received_at);
    if waited > CALLBACK_PATIENCE {
        return matched(format!(
            "{why} The attempt has ended, and for a day the provider could not say more."
        ));
    }
    Verdict::Later {
        at: now.plus(waited.max(CALLBACK_HINT_AGE)),
        note: format!(
            "{why} The attempt has ended; the provider could not say whether money came, and is asked again."
        ),
    }
}
