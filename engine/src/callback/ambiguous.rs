//! Callbacks with a provider id that several attempts have, or with the reference of an attempt
//! that has not succeeded and the id of another one. They change no attempt: each attempt is
//! queried by our reference, and a case is opened.

use std::sync::Arc;

use super::row::Callback;
use super::verdict::{Hint, Verdict, hint, matched};
use crate::engine::{Engine, EngineError};
use switchyard_core::ids::AttemptId;
use switchyard_core::transaction::{AttemptKey, Command, Outcome, Transaction};
use switchyard_gateway_host::CallbackReport;

/// Queries `attempts`, each by our reference.
pub(super) async fn query(
    engine: &Engine,
    callback: &Callback,
    attempts: Vec<AttemptKey>,
    read: &CallbackReport,
) -> Result<Verdict, EngineError> {
    const WHY: &str = "Its provider id belongs to several attempts.";
    for (id, attempt) in attempts {
        let Some(mut tx) = engine.transaction(id).await? else {
            continue;
        };
        if is_news(&tx, attempt, read) {
            match report(engine, callback, (id, attempt)).await? {
                Some(after) => tx = after,
                None => continue,
            }
        }
        let Some(attempt) = tx.attempt(attempt) else {
            continue;
        };
        match hint(engine, callback, &tx, attempt, Hint::of(WHY)).await? {
            // Our own call is in flight, or a query was sent a moment ago: try the callback again
            // later.
            None => {
                return Ok(Verdict::Later {
                    at: engine.clock().now().plus(SOON),
                    note: WHY.to_owned(),
                });
            }
            Some(later @ Verdict::Later { .. }) => return Ok(later),
            Some(_) => {}
        }
    }
    Ok(matched(format!("{WHY} Each was queried by our reference.")))
}

/// Whether the callback says that money may have moved for the attempt. One that nobody vouches for
/// says nothing, and one without money nothing about an attempt that ended without any.
fn is_news(tx: &Transaction, attempt: AttemptId, read: &CallbackReport) -> bool {
    let Some(attempt) = tx.attempt(attempt).filter(|_| read.is_trusted()) else {
        return false;
    };
    let reports_money = match read.outcome(tx.id, attempt.amount) {
        Some(Outcome::Succeeded { .. }) => true,
        Some(Outcome::Pending { received, .. }) => received.is_some(),
        _ => false,
    };
    reports_money || attempt.may_have_moved_money()
}

/// Opens a case about an attempt: the provider uses the callback's id for another one, too. `None`:
/// the transaction is gone or takes no case.
async fn report(
    engine: &Engine,
    callback: &Callback,
    (id, attempt): AttemptKey,
) -> Result<Option<Arc<Transaction>>, EngineError> {
    let command = Command::AmbiguousId {
        attempt,
        provider_id: callback.provider_id.clone().unwrap_or_default(),
    };
    match engine.registry().send(engine, id, command).await {
        Ok(tx) => Ok(Some(tx)),
        Err(EngineError::NotFound | EngineError::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Delay before a callback is processed again after our own call was in flight.
const SOON: std::time::Duration = std::time::Duration::from_secs(1);
