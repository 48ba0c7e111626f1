//! The process died while a gateway's call was away. The journal tells whether something may have left.

use super::answer;
use crate::ids::AttemptId;
use crate::transaction::attempt::AttemptState;
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
    Ok(answer::not_sent(tx, attempt, why, context))
}
