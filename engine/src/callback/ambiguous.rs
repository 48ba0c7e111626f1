//! A callback names only a provider id that several attempts have. It proves nothing about any of them:
//! each is queried by our reference, and gets a case.

use super::row::Callback;
use super::verdict::{Hint, Verdict, hint, matched};
use crate::engine::{Engine, EngineError};
use crate::transaction::{AttemptKey, Command};

/// Queries `attempts`, each by our reference.
pub(super) async fn query(
    engine: &Engine,
    callback: &Callback,
    attempts: Vec<AttemptKey>,
) -> Result<Verdict, EngineError> {
    const WHY: &str = "Its provider id belongs to several attempts.";
    let provider_id = callback.provider_id.clone().unwrap_or_default();
    for (id, attempt) in attempts {
        let command = Command::AmbiguousId {
            attempt,
            provider_id: provider_id.clone(),
        };
        let tx = match engine.registry.tell(engine, id, command).await {
            Ok(tx) => tx,
            Err(EngineError::NotFound | EngineError::Refused(_)) => continue,
            Err(error) => return Err(error),
        };
        let Some(attempt) = tx.attempt(attempt) else {
            continue;
        };
        match hint(engine, callback, &tx, attempt, Hint::of(WHY)).await? {
            // Its own call is in flight, or it was queried a moment ago: the callback comes back for it.
            None => {
                return Ok(Verdict::Later {
                    at: engine.clock.now().plus(SOON),
                    note: WHY.to_owned(),
                });
            }
            Some(later @ Verdict::Later { .. }) => return Ok(later),
            Some(_) => {}
        }
    }
    Ok(matched(format!("{WHY} Each was queried by our reference.")))
}

/// How soon a callback is dealt with again that met a call in flight.
const SOON: std::time::Duration = std::time::Duration::from_secs(1);
