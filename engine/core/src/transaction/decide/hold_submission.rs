//! Submissions that the engine held back, because their gateway must not be called now. Nothing was
//! sent and no provider failed: the next candidate is tried, and without one the transaction waits
//! as it did before the attempt.

use super::answer;
use crate::ids::AttemptId;
use crate::transaction::attempt::AttemptState;
use crate::transaction::command::{Context, Refusal};
use crate::transaction::event::Event;
use crate::transaction::model::Transaction;

pub(super) fn decide(
    tx: &Transaction,
    attempt: AttemptId,
    why: String,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let attempt = tx
        .attempt(attempt)
        .ok_or(Refusal::UnknownAttempt(attempt))?;
    if tx.state.is_final() || attempt.state != AttemptState::Started {
        return Ok(Vec::new());
    }
    Ok(answer::not_sent(tx, attempt, why, context))
}
