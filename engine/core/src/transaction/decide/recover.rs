//! Recovery of a gateway's call that was in flight when the engine stopped. The journal proves
//! whether a request may have left.

use super::answer::{self, UnknownReason};
use super::end;
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
    // A report that names the attempt shows that a request has left, whatever the journal has.
    if let Some(gateway_state) = sent.or(attempt.was_seen().then_some(None)) {
        let doubt = UnknownReason {
            why: "the engine stopped while the provider was being called".to_owned(),
            gateway_state,
            cut_off: true,
            poll_after: None,
        };
        return Ok(answer::in_doubt(attempt, doubt, context));
    }
    if tx.is_held() {
        let why = "The engine stopped before anything was sent, and money was reported for an \
                   earlier attempt.";
        return Ok(answer::not_sent(tx, attempt, why.to_owned(), context));
    }
    // A connection that accepts no new attempts does not get this one again, either.
    if let Err(because) = context.standing(&attempt.candidate) {
        let why = format!("The engine stopped before anything was sent, and now {because}.");
        return Ok(answer::not_sent(tx, attempt, why, context));
    }
    if !context.permit.is_free() {
        let why = "The engine stopped before anything was sent, and starts no attempt now.";
        return Ok(answer::not_sent(tx, attempt, why.to_owned(), context));
    }
    // The engine's stop is no fault of the gateway and no try: the provider never received the
    // reference, so it stays. The number of repetitions is limited, in case that this attempt makes
    // the engine stop. A payment whose payer has long gone is not repeated.
    if attempt.resumed < RESUMES && end::may_start(tx, context) {
        return Ok(vec![Event::SubmissionResumed {
            attempt: attempt.id,
        }]);
    }
    let why = "The engine stopped before anything was sent.".to_owned();
    Ok(answer::not_sent(tx, attempt, why, context))
}

/// How often the engine's own stops make one confirmation, or one dispatch, begin again at the same
/// connection.
pub(super) const RESUMES: u32 = 3;
