//! A person has looked into the provider's books, and says what came of an attempt that nobody knew the end of.
//!
//! Only an attempt that is open at a provider can be settled, and nothing is submitted anew because of it: who wants the money to move
//! once more asks for a new transaction. What contradicts a person's word later opens a case, as with any other end.

use super::answer::{self, covers, money_was_reported};
use crate::ids::CaseId;
use crate::transaction::attempt::{Attempt, AttemptState};
use crate::transaction::command::{Context, Refusal};
use crate::transaction::event::Event;
use crate::transaction::model::Transaction;
use crate::transaction::operator::{Closed, Resolution, Verdict};
use crate::transaction::outcome::{Decline, DeclineReason};
use crate::transaction::state::State;

pub(super) fn decide(
    tx: &Transaction,
    resolution: Resolution,
    closed: &Closed,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let attempt = open_attempt(tx)?;
    if let Some(wanted) = resolution.attempt.filter(|wanted| *wanted != attempt.id) {
        return Err(match tx.attempt(wanted) {
            Some(_) => Refusal::AttemptClosed(wanted),
            None => Refusal::UnknownAttempt(wanted),
        });
    }
    let mut events = match resolution.verdict {
        Verdict::Succeeded {
            amount,
            provider_id,
        } => {
            if amount.is_none() && money_was_reported(tx, attempt) {
                return Err(Refusal::AmountNeeded);
            }
            let captured = amount.unwrap_or(attempt.amount);
            if !covers(captured, attempt.amount) {
                return Err(Refusal::AmountTooLow(attempt.amount.format()));
            }
            if provider_id.is_none() && attempt.provider_id.is_none() {
                return Err(Refusal::ProviderIdNeeded);
            }
            let succeeded = Event::AttemptSucceeded {
                attempt: attempt.id,
                provider_id,
                provider_status: None,
                captured,
                fees: None,
            };
            vec![succeeded, Event::Succeeded]
        }
        Verdict::Failed { message } => failed(tx, attempt, message, context),
        Verdict::NeverSent => {
            if attempt.state == AttemptState::Pending || money_was_reported(tx, attempt) {
                return Err(Refusal::ProviderHasIt);
            }
            answer::never_sent(tx, attempt, context)
        }
    };
    let settled = tx
        .cases
        .iter()
        .filter(|case| case.reference == attempt.reference && case.closed.is_none());
    events.extend(settled.map(|case| Event::CaseClosed {
        case: case.id,
        closed: closed.clone(),
    }));
    Ok(events)
}

/// Closes a case whose attempt has ended.
pub(super) fn close_case(
    tx: &Transaction,
    id: CaseId,
    closed: Closed,
) -> Result<Vec<Event>, Refusal> {
    let case = tx.cases.iter().find(|case| case.id == id);
    let case = case.ok_or(Refusal::UnknownCase(id))?;
    if case.closed.is_some() {
        return Err(Refusal::CaseClosed);
    }
    let about = |attempt: &&Attempt| attempt.reference == case.reference;
    if tx
        .attempts
        .iter()
        .find(about)
        .is_some_and(|attempt| attempt.state.is_open())
    {
        return Err(Refusal::CaseAboutOpenAttempt);
    }
    Ok(vec![Event::CaseClosed { case: id, closed }])
}

/// The attempt that is at a provider now, with no call away that could end it in this very moment.
fn open_attempt(tx: &Transaction) -> Result<&Attempt, Refusal> {
    match tx.state {
        State::AwaitingProvider | State::InDoubt => {}
        State::AwaitingGateway => return Err(Refusal::AttemptUnderWay),
        State::AwaitingCustomer | State::AwaitingDispatch => return Err(Refusal::NothingOpen),
        State::Succeeded | State::Failed(_) | State::Cancelled => {
            return Err(Refusal::AlreadyEnded(tx.status()));
        }
    }
    let attempt = tx.current_attempt().ok_or(Refusal::NothingOpen)?;
    if attempt.code_away_since.is_some() {
        return Err(Refusal::AttemptUnderWay);
    }
    Ok(attempt)
}

fn failed(
    tx: &Transaction,
    attempt: &Attempt,
    message: Option<String>,
    context: &Context,
) -> Vec<Event> {
    let decline = Decline {
        reason: DeclineReason::Other,
        retryable: false,
        provider_id: None,
        provider_code: None,
        provider_message: Some(
            message.unwrap_or_else(|| "The provider did not carry it out.".to_owned()),
        ),
    };
    let ended = Event::AttemptDeclined {
        attempt: attempt.id,
        decline: decline.clone(),
    };
    answer::next_or_end(tx, attempt, ended, &decline, context)
}
