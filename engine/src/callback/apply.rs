//! Processes one callback and stores the result. After a crash before the commit, all steps run
//! again: each of them is idempotent.

use std::time::Duration;

use super::room;
use super::row::{self, Callback, CallbackKey, CallbackState};
use super::verdict::{self, MatchedResult, Verdict};
use crate::engine::{Engine, EngineError};
use switchyard_store::{Batch, CommitError};

/// Due time of a callback that waits for the end of our own call, in case that end is never
/// reported: later than any call lasts. The gateway then reads the callback once more.
const OUR_CALL: Duration = Duration::from_secs(90);

/// Processes a due callback. Returns the gateway's reading when it has to wait for the end of our
/// own call.
pub(super) async fn with(
    engine: &Engine,
    which: CallbackKey,
) -> Result<Option<MatchedResult>, EngineError> {
    let Some(before) = row::load(engine.store(), which).await? else {
        return Ok(None);
    };
    let is_due = before
        .next_try_at
        .is_some_and(|at| at <= engine.clock().now());
    if before.state != CallbackState::Waiting || !is_due {
        return Ok(None);
    }
    let mut after = before.clone();
    let verdict = verdict::process(engine, &mut after).await?;
    conclude(engine, &before, after, verdict).await
}

/// Continues with a callback after our own call has returned, without a second gateway call.
pub(super) async fn after_our_call(
    engine: &Engine,
    which: CallbackKey,
    heard: MatchedResult,
) -> Result<Option<MatchedResult>, EngineError> {
    let waiting = |callback: &Callback| callback.state == CallbackState::Waiting;
    let Some(before) = row::load(engine.store(), which).await?.filter(waiting) else {
        return Ok(None);
    };
    let mut after = before.clone();
    let verdict = verdict::after_our_call(engine, &mut after, heard).await?;
    conclude(engine, &before, after, verdict).await
}

/// Records a panic of the engine during the processing of a callback.
pub(super) async fn gateway_failed(engine: &Engine, which: CallbackKey) -> Result<(), EngineError> {
    let Some(before) = row::load(engine.store(), which).await? else {
        return Ok(());
    };
    let why = "The engine failed inside; the log says where.".to_owned();
    let verdict = verdict::gateway_failed(engine, &before, why);
    conclude(engine, &before, before.clone(), verdict).await?;
    Ok(())
}

async fn conclude(
    engine: &Engine,
    before: &Callback,
    mut after: Callback,
    verdict: Verdict,
) -> Result<Option<MatchedResult>, EngineError> {
    let mut batch = Batch::new();
    let result = result_of(&verdict, &after);
    let (mut kept, mut heard) = (None, None);
    match verdict {
        Verdict::Forget => row::delete(&mut batch, before),
        Verdict::Later { at, note } => {
            after.next_try_at = Some(at);
            after.note = Some(note);
            row::write(&mut batch, Some(before), &after);
        }
        Verdict::AfterOurCall(waits) => {
            after.next_try_at = Some(engine.clock().now().plus(OUR_CALL));
            after.note = Some("Our own call to the provider has not come back.".to_owned());
            row::write(&mut batch, Some(before), &after);
            heard = Some(*waits);
        }
        Verdict::Again { at, note } => {
            after.next_try_at = Some(at);
            after.note = Some(note);
            after.tries += 1;
            row::write(&mut batch, Some(before), &after);
        }
        Verdict::End { state, note } => {
            after.state = state;
            after.next_try_at = None;
            after.dealt_with_at = Some(engine.clock().now());
            after.note = Some(note);
            after.awaits = state == CallbackState::Unmatched;
            if after.awaits {
                // This commit and the one that makes the name known may race: the second one sees
                // the first.
                engine.callbacks().park();
                for name in after.names() {
                    name.require_unknown(&mut batch);
                }
            }
            row::write(&mut batch, Some(before), &after);
            kept = Some(state);
        }
    }
    match engine.store().commit(batch).await {
        // Conflict: its transaction appeared, or an operator changed it. It is processed again.
        Err(CommitError::Conflict) => return Ok(None),
        stored => stored?,
    }
    let Some(result) = result else {
        return Ok(heard);
    };
    metrics::counter!(
        "switchyard_callbacks_total",
        "gateway" => before.gateway.clone(),
        "result" => result
    )
    .increment(1);
    engine.callbacks().out(before.connection, before.bytes);
    if let Some(state) = kept {
        room::make(engine, before.connection, state).await?;
    }
    Ok(None)
}

/// Label of the metric. `None`: the callback stays queued.
fn result_of(verdict: &Verdict, after: &Callback) -> Option<&'static str> {
    match verdict {
        Verdict::Later { .. } | Verdict::Again { .. } | Verdict::AfterOurCall(_) => None,
        Verdict::Forget => Some("forgotten"),
        Verdict::End { state, .. } => Some(match state {
            CallbackState::Matched if after.trusted == Some(true) => "verified",
            CallbackState::Matched => "hint",
            other => other.as_str(),
        }),
    }
}
