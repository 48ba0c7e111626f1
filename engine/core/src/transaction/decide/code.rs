//! The payer types a code that the provider sent, and the provider says what it thinks of it.
//!
//! A code belongs to an attempt that the provider has already, so no command here starts or ends an
//! attempt: sending the same code twice cannot take the money twice, and a code that got lost may
//! be typed again.

use super::answer::{self, Answer};
use super::ask;
use crate::ids::AttemptId;
use crate::limits::CODES_PER_ATTEMPT;
use crate::transaction::command::{Context, Refusal};
use crate::transaction::event::Event;
use crate::transaction::model::Transaction;
use crate::transaction::outcome::{Outcome, PayerAction};
use crate::transaction::state::State;

/// `tried`: how many codes the page knew of.
pub(super) fn decide(
    tx: &Transaction,
    attempt: AttemptId,
    tried: u32,
) -> Result<Vec<Event>, Refusal> {
    tx.payment().ok_or(Refusal::NotAPayment)?;
    if tx.state.is_final() {
        return Err(Refusal::AlreadyEnded(tx.status()));
    }
    let current = tx.current_attempt().filter(|current| current.id == attempt);
    let current = current
        .filter(|_| tx.state == State::AwaitingProvider)
        .ok_or(Refusal::NoCodeAsked)?;
    // The button pressed twice, or a page that was left open.
    if current.codes != tried || current.code_away_since.is_some() {
        return Ok(Vec::new());
    }
    // A code makes the provider take the money.
    if tx.is_held() {
        return Err(Refusal::Held);
    }
    if current.call_off.is_some() {
        return Err(Refusal::AttemptUnderWay);
    }
    if tx.asks_for_code().is_none() {
        return Err(Refusal::NoCodeAsked);
    }
    if current.codes >= CODES_PER_ATTEMPT {
        return Err(Refusal::NoMoreCodes);
    }
    Ok(vec![Event::CodeSubmitted { attempt }])
}

pub(super) fn answer(
    tx: &Transaction,
    id: AttemptId,
    outcome: Outcome,
    gateway_state: Option<serde_json::Value>,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let attempt = tx.attempt(id).ok_or(Refusal::UnknownAttempt(id))?;
    // Too late: the payer has already read that the code may be lost, or the attempt has ended.
    if tx.state.is_final() || attempt.code_away_since.is_none() {
        let answer = answer_to(id, as_of_query(outcome), gateway_state);
        return answer::decide(tx, answer, context);
    }
    if let Outcome::NotSent { why } | Outcome::Unknown { why, .. } = outcome {
        return Ok(lost(tx, id, why, context));
    }
    let asks_again = matches!(
        outcome,
        Outcome::Pending {
            payer_action: Some(PayerAction::EnterCode { .. }),
            ..
        }
    );
    let answered = Event::CodeAnswered {
        attempt: id,
        accepted: !asks_again,
        why: None,
    };
    let events = answer::decide(tx, answer_to(id, outcome, gateway_state), context)?;
    Ok(std::iter::once(answered).chain(events).collect())
}

/// Response for a code of which it is unknown whether it arrived: the provider is queried, and
/// until then the payer may enter the code again.
pub(super) fn lost(tx: &Transaction, id: AttemptId, why: String, context: &Context) -> Vec<Event> {
    let answered = Event::CodeAnswered {
        attempt: id,
        accepted: false,
        why: Some(why),
    };
    std::iter::once(answered)
        .chain(ask::at_once(tx, context))
        .collect()
}

fn answer_to(
    attempt: AttemptId,
    outcome: Outcome,
    gateway_state: Option<serde_json::Value>,
) -> Answer {
    Answer {
        attempt,
        outcome,
        gateway_state,
        asked_at: None,
    }
}

/// That a code was not sent says nothing of the attempt.
fn as_of_query(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::NotSent { why } => Outcome::unknown(why),
        other => other,
    }
}
