//! A person has looked into the provider's records, and says what came of an attempt whose result is
//! not known, or of money that holds the transaction.
//!
//! Nothing is submitted anew because of it: whoever wants the money to move once more initializes a new
//! transaction. A later report that contradicts a person's word opens a case, as with any other end.

use super::answer::{self, money_was_reported};
use super::end::{self, next_or_end};
use super::success::{self, Success, covers};
use crate::ids::CaseId;
use crate::transaction::attempt::Attempt;
use crate::transaction::attempt::AttemptState;
use crate::transaction::command::{Context, Refusal};
use crate::transaction::event::Event;
use crate::transaction::model::{Case, Transaction};
use crate::transaction::operator::{Closed, Resolution, Verdict};
use crate::transaction::outcome::{Decline, DeclineReason};
use crate::transaction::state::State;

pub(super) fn decide(
    tx: &Transaction,
    resolution: Resolution,
    closed: &Closed,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let attempt = attempt_to_settle(tx, &resolution)?;
    let mut events = match resolution.verdict {
        Verdict::Succeeded {
            amount,
            provider_id,
        } => succeeded(tx, attempt, amount, provider_id, context)?,
        Verdict::Failed { message } => failed(tx, attempt, message, context),
        Verdict::NeverSent => {
            if !attempt.state.is_open() && !money_was_reported(tx, attempt) {
                return Err(Refusal::AttemptClosed(attempt.id));
            }
            if attempt.state == AttemptState::Pending || money_was_reported(tx, attempt) {
                return Err(Refusal::ProviderHasIt);
            }
            answer::never_sent(tx, attempt, context)
        }
    };
    // All money that held the transaction is settled with it.
    let settled = tx.cases.iter().filter(|case| {
        let is_about = case.reference == attempt.reference
            || (tx.state == State::OnHold && case.reason.holds());
        is_about && case.closed.is_none()
    });
    events.extend(settled.map(|case| Event::CaseClosed {
        case: case.id,
        closed: closed.clone(),
    }));
    Ok(events)
}

fn succeeded(
    tx: &Transaction,
    attempt: &Attempt,
    amount: Option<crate::money::Amount>,
    provider_id: Option<String>,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    // *This money settles it*: the amount that holds the transaction was reported already.
    let reported = || tx.reported(attempt).filter(|_| tx.state == State::OnHold);
    let amount = amount.or_else(reported);
    let is_in_question = tx.state == State::OnHold || money_was_reported(tx, attempt);
    if amount.is_none() && is_in_question {
        return Err(Refusal::AmountNeeded);
    }
    let captured = amount.unwrap_or(attempt.amount);
    if !covers(captured, attempt.amount) {
        return Err(Refusal::AmountTooLow(attempt.amount.format()));
    }
    let named = |case: &&Case| case.reference == attempt.reference && case.reason.holds();
    let held = tx.cases.iter().rev().filter(named);
    let provider_id = provider_id.or_else(|| held.flat_map(|case| case.provider_id.clone()).next());
    if provider_id.is_none() && attempt.provider_id.is_none() {
        return Err(Refusal::ProviderIdNeeded);
    }
    let success = Success {
        provider_id,
        provider_status: None,
        captured: Some(captured),
        fees: None,
    };
    Ok(success::settle(tx, attempt, success, captured, context))
}

/// Closes a case whose attempt has ended, and whose money holds nothing.
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
    let open = tx
        .attempt_of(case)
        .filter(|attempt| attempt.state.is_open());
    if open.is_some() {
        return Err(Refusal::CaseAboutOpenAttempt);
    }
    if case.reason.holds() && !tx.state.is_final() {
        return Err(Refusal::CaseHolds);
    }
    Ok(vec![Event::CaseClosed { case: id, closed }])
}

/// The attempt that is at a provider now, with no call in flight that could end it in this very moment;
/// of a transaction on hold, the attempt whose money holds it, or another one that the operator names.
fn attempt_to_settle<'t>(
    tx: &'t Transaction,
    resolution: &Resolution,
) -> Result<&'t Attempt, Refusal> {
    let attempt = match tx.state {
        State::AwaitingProvider | State::InDoubt => tx.current_attempt(),
        State::OnHold => match resolution.attempt {
            Some(wanted) => return tx.attempt(wanted).ok_or(Refusal::UnknownAttempt(wanted)),
            None => tx.held_attempt(),
        },
        State::AwaitingGateway => return Err(Refusal::AttemptUnderWay),
        State::AwaitingCustomer | State::AwaitingDispatch => return Err(Refusal::NothingOpen),
        State::Succeeded | State::Failed(_) | State::Cancelled => {
            return Err(Refusal::AlreadyEnded(tx.status()));
        }
    };
    let attempt = attempt.ok_or(Refusal::NothingOpen)?;
    if let Some(wanted) = resolution.attempt.filter(|wanted| *wanted != attempt.id) {
        return Err(match tx.attempt(wanted) {
            Some(_) => Refusal::AttemptClosed(wanted),
            None => Refusal::UnknownAttempt(wanted),
        });
    }
    if attempt.code_away_since.is_some() {
        return Err(Refusal::AttemptUnderWay);
    }
    Ok(attempt)
}

/// Of a transaction whose attempt had money reported, the end: that money is returned outside.
fn failed(
    tx: &Transaction,
    attempt: &Attempt,
    message: Option<String>,
    context: &Context,
) -> Vec<Event> {
    let reported = money_was_reported(tx, attempt);
    let default = match (reported, tx.is_payment()) {
        (true, _) if tx.is_taken_back(attempt) => {
            "The provider took back the money that it had reported."
        }
        (true, true) => {
            "The money that was received did not settle this payment and is to be returned."
        }
        (true, false) => {
            "The money that was sent did not settle this payout and is to be asked back."
        }
        (false, _) => "The provider did not carry it out.",
    };
    let decline = Decline {
        reason: DeclineReason::Other,
        retryable: false,
        provider_id: None,
        provider_code: None,
        provider_message: Some(message.unwrap_or_else(|| default.to_owned())),
        field: None,
    };
    let ended = Event::AttemptDeclined {
        attempt: attempt.id,
        decline: decline.clone(),
    };
    if tx.state == State::OnHold {
        return vec![end::failed(&ended, &decline)];
    }
    if reported {
        let failed = || vec![end::failed(&ended, &decline)];
        let next = end::settle_held(tx, attempt.id, context).unwrap_or_else(failed);
        // The part that came while it was pending is to be returned.
        let part = answer::part_received(tx, attempt, attempt.received, None, context);
        return std::iter::once(ended).chain(next).chain(part).collect();
    }
    next_or_end(tx, attempt, ended, &decline, context)
}
