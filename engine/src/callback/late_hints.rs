//! Hint about an attempt that has ended. After an end without success, the provider may have
//! collected the money anyway. After a success, it may have returned the money; this is checked
//! only when the provider itself reports that nothing was paid. The provider is queried once more,
//! and a result that contradicts the end leads to manual review.

use super::row::Callback;
use super::verdict::{Hint, Verdict, apply, matched};
use crate::engine::{Engine, EngineError};
use crate::processing;
use switchyard_core::limits::{CALLBACK_CROWD_PAUSE, CALLBACK_HINT_AGE, CALLBACK_RETRY_WINDOW};
use switchyard_core::transaction::{Attempt, AttemptState, Outcome, Transaction};

/// Queries the provider. `None`: not possible before our own call about the attempt has ended.
pub(super) async fn ask(
    engine: &Engine,
    callback: &Callback,
    tx: &Transaction,
    attempt: &Attempt,
    hint: Hint<'_>,
) -> Result<Option<Verdict>, EngineError> {
    let why = hint.why;
    let end = |what: &str| Ok(Some(matched(format!("{why} {what}"))));
    // A callback after a success nearly always repeats the success.
    let has_succeeded = attempt.state == AttemptState::Succeeded;
    if has_succeeded && !hint.takes_back {
        return end("The attempt has ended.");
    }
    if engine.submissions().contains(attempt.id) {
        return Ok(None);
    }
    // Many hints lead to one query. A query in the timeline is no proof: a crash or a store error
    // may have prevented its result from being stored.
    let since = engine.callbacks().reserved_query(attempt.id, callback.id);
    if engine
        .callbacks()
        .was_queried_since(attempt.id, since.unwrap_or(callback.received_at))
    {
        return end("The attempt has ended, and the provider was asked since.");
    }
    let asked_at = engine.clock().now();
    // While the provider cannot answer, each callback in flight causes one query in a pause.
    let pause = asked_at.minus(CALLBACK_CROWD_PAUSE);
    if engine.callbacks().was_unanswered_after(attempt.id, pause) {
        return Ok(Some(later(engine, callback, why)));
    }
    let asked = Some(asked_at);
    let verdict = match processing::query(engine, tx, attempt).await {
        money if money.reports_money() => apply(engine, tx, attempt, (money, asked)).await,
        declined @ Outcome::Declined(_) if has_succeeded => {
            apply(engine, tx, attempt, (declined, asked)).await
        }
        Outcome::Unknown { .. } => {
            engine
                .callbacks()
                .note_query_without_result(attempt.id, asked_at);
            return Ok(Some(later(engine, callback, why)));
        }
        _ if has_succeeded => end("The attempt has ended, and the provider does not take it back."),
        // The attempt may still collect money: no other attempt may start.
        found @ Outcome::Pending { .. } if attempt.state == AttemptState::NotSent => {
            apply(engine, tx, attempt, (found, asked)).await
        }
        // A report of money may name this id alone.
        named if is_new_id(tx, attempt, &named) => apply(engine, tx, attempt, (named, asked)).await,
        Outcome::Succeeded { .. }
        | Outcome::Declined(_)
        | Outcome::NotSent { .. }
        | Outcome::Pending { .. } => {
            end("The attempt has ended, and the provider knows of no money.")
        }
    }?;
    if verdict.is_some() {
        engine.callbacks().note_query_result(attempt.id, asked_at);
    }
    Ok(verdict)
}

fn is_new_id(tx: &Transaction, attempt: &Attempt, outcome: &Outcome) -> bool {
    let id = outcome.provider_id();
    id.is_some_and(|id| !tx.ids_of(attempt).contains(&id))
}

/// Schedules the next query after an inconclusive one. The delay is the age of the callback, so it
/// doubles each time, for one day.
fn later(engine: &Engine, callback: &Callback, why: &str) -> Verdict {
    let now = engine.clock().now();
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
