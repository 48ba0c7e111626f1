//! A hint about an attempt that has ended. Without success, its provider may have taken the money all the same; with success, it may have
//! given it back, if it says so itself. So it is asked once more, and what contradicts the end brings the transaction before a person.

use super::row::Callback;
use super::verdict::{Hint, Verdict, apply, matched};
use crate::actors;
use crate::engine::{Engine, EngineError};
use crate::limits::{CALLBACK_HINT_AGE, CALLBACK_RETRY_WINDOW};
use crate::transaction::{Attempt, AttemptState, Outcome, Transaction};

/// `None`: not before our own call about the attempt has ended.
pub(super) async fn ask(
    engine: &Engine,
    callback: &Callback,
    tx: &Transaction,
    attempt: &Attempt,
    hint: Hint<'_>,
) -> Result<Option<Verdict>, EngineError> {
    let why = hint.why;
    let end = |what: &str| Ok(Some(matched(format!("{why} {what}"))));
    // What a provider tells after a success is nearly always that success again.
    let has_succeeded = attempt.state == AttemptState::Succeeded;
    if has_succeeded && !hint.takes_back {
        return end("The attempt has ended.");
    }
    if engine.running.contains(attempt.id) {
        return Ok(None);
    }
    // Who sends many hints gets one query for them. That the timeline has a query proves nothing: whoever made it may have died, or found
    // the store closed, before what it brought was kept.
    if engine
        .callbacks
        .was_heard_since(attempt.id, callback.received_at)
    {
        return end("The attempt has ended, and the provider was asked since.");
    }
    let asked_at = engine.clock.now();
    let verdict = match actors::query(engine, tx, attempt).await {
        declined @ Outcome::Declined(_) if has_succeeded => {
            apply(engine, tx, attempt, declined).await
        }
        Outcome::Unknown { .. } => return Ok(Some(later(engine, callback, why))),
        _ if has_succeeded => end("The attempt has ended, and the provider does not take it back."),
        success @ Outcome::Succeeded { .. } => apply(engine, tx, attempt, success).await,
        // It may take money yet: nothing else may start.
        found @ Outcome::Pending { .. } if attempt.state == AttemptState::NotSent => {
            apply(engine, tx, attempt, found).await
        }
        Outcome::Declined(_) | Outcome::NotSent { .. } | Outcome::Pending { .. } => {
            end("The attempt has ended, and the provider knows of no money.")
        }
    }?;
    if verdict.is_some() {
        engine.callbacks.heard(attempt.id, asked_at);
    }
    Ok(verdict)
}

/// The provider could not say. It is asked again after as long as the callback has waited already, for a day.
fn later(engine: &Engine, callback: &Callback, why: &str) -> Verdict {
    let now = engine.clock.now();
    let waited = now.since(callback.received_at);
    if waited > CALLBACK_RETRY_WINDOW {
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
