//! The process died while a gateway's call was away. The journal tells whether something may have left.

use super::answer;
use crate::ids::AttemptId;
use crate::transaction::attempt::{Attempt, AttemptState};
use crate::transaction::command::{Context, Refusal};
use crate::transaction::event::Event;
use crate::transaction::model::Transaction;

/// `sent`: the gateway's state when something may have left; `None` when nothing has.
pub(super) fn decide(
    tx: &Transaction,
    attempt: AttemptId,
    sent: Option<Option<serde_json::Value>>,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let attempt = tx
        .attempt(attempt)
        .ok_or(Refusal::UnknownAttempt(attempt))?;
    if tx.state.is_final() || attempt.state != AttemptState::Started {
        return Ok(Vec::new());
    }
    if let Some(gateway_state) = sent {
        let why = "the engine stopped while the provider was being called".to_owned();
        return Ok(answer::in_doubt(attempt, why, gateway_state, context));
    }
    let why = "The engine stopped before anything was sent.".to_owned();
    Ok(answer::not_sent(
        tx,
        &with_its_own_candidate_first(tx, attempt),
        why,
        context,
    ))
}

/// That the engine stopped is no fault of the gateway: it is tried again before the others. Not for ever, in case that it is the gateway
/// which stops the engine.
fn with_its_own_candidate_first(tx: &Transaction, attempt: &Attempt) -> Attempt {
    let here = |other: &&Attempt| other.candidate.connection == attempt.candidate.connection;
    let mut attempt = attempt.clone();
    if tx.attempts.iter().filter(here).count() < TRIES_AT_ONE_CONNECTION {
        attempt.remaining.insert(0, attempt.candidate.clone());
    }
    attempt
}

const TRIES_AT_ONE_CONNECTION: usize = 3;
