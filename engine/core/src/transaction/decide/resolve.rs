//! Manual resolution: a person has read the provider's records and enters the result of an attempt
//! in doubt, or of money that holds the transaction.
//!
//! Nothing is submitted again because of it: to move the money once more, initialize a new
//! transaction. A later report that contradicts the person's entry opens a case, as with any other
//! end.

use super::answer::{self, money_was_reported};
use super::end::{self, next_or_end};
use super::restored;
use super::success::{self, Success, covers};
use crate::ids::{AttemptId, CaseId};
use crate::money::Amount;
use crate::transaction::attempt::Attempt;
use crate::transaction::charges::Charge;
use crate::transaction::command::{Context, Refusal};
use crate::transaction::event::Event;
use crate::transaction::kind::Kind;
use crate::transaction::model::{Case, CaseReason, Transaction};
use crate::transaction::operator::{Closed, EntryKind, Resolution, Settled, Verdict};
use crate::transaction::outcome::{Decline, DeclineReason};
use crate::transaction::state::State;

pub(super) fn decide(
    tx: &Transaction,
    attempt: AttemptId,
    verdict: Verdict,
    closed: &Closed,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let attempt = tx.attempt(attempt);
    let attempt = attempt.ok_or(Refusal::NothingOpen)?;
    let mut events = match verdict {
        Verdict::Succeeded {
            amount,
            provider_id,
        } => succeeded(tx, attempt, amount, provider_id, context)?,
        Verdict::Failed { .. } => failed(tx, attempt, context),
        Verdict::NeverSent => {
            if !attempt.state.is_open() && !money_was_reported(tx, attempt) {
                return Err(Refusal::AttemptClosed(attempt.id));
            }
            let has_it = money_was_reported(tx, attempt) || money_is_in_question(tx, attempt);
            if attempt.was_seen() || has_it {
                return Err(Refusal::ProviderHasIt);
            }
            answer::never_sent(tx, attempt, context)
        }
    };
    // All money that held the transaction is settled with it, except other charges of the attempt
    // that the entered amount does not contain.
    let charge = events.iter().find_map(|event| match event {
        Event::AttemptSucceeded {
            attempt: succeeded,
            provider_id,
            entered: Some(EntryKind::Charge),
            ..
        } if *succeeded == attempt.id => provider_id.clone(),
        _ => None,
    });
    let settled = tx.cases.iter().filter(|case| {
        let is_money = case.reason.holds() && case.reason != CaseReason::AmbiguousProviderId;
        let is_about =
            case.reference == attempt.reference || (tx.state == State::OnHold && is_money);
        is_about && case.closed.is_none() && !is_other_charge(tx, attempt, case, charge.as_deref())
    });
    events.extend(settled.map(|case| Event::CaseClosed {
        case: case.id,
        closed: closed.clone(),
    }));
    Ok(events)
}

/// Whether `case` is about money that came for `attempt` under another id than `charge`.
fn is_other_charge(tx: &Transaction, attempt: &Attempt, case: &Case, charge: Option<&str>) -> bool {
    let is_money = case.reason.reports_money() && case.reason != CaseReason::SuccessContradicted;
    let is_other = match (charge, case.provider_id.as_deref()) {
        (Some(charge), Some(id)) => charge != id,
        _ => false,
    };
    is_money && is_other && case.reference == attempt.reference && !tx.is_superseded(case)
}

fn succeeded(
    tx: &Transaction,
    attempt: &Attempt,
    amount: Option<Amount>,
    provider_id: Option<String>,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    // *This money settles it*: the charge that the operator names, else the latest that stands.
    let charge = charge_to_settle(attempt, amount, provider_id.as_deref());
    let standing = charge.filter(|charge| !charge.is_taken_back);
    let is_unnamed = provider_id.is_none() && amount.is_some();
    let is_total = is_unnamed && attempt.total_of_charges() == amount;
    let is_of_one = charge.is_some_and(|charge| charge.amount == amount);
    if is_unnamed && !is_total && !is_of_one && attempt.charges.len() > 1 {
        return Err(Refusal::ProviderIdNeeded);
    }
    let reported = standing.and_then(|charge| charge.amount);
    let amount = amount.or(reported.filter(|_| tx.state == State::OnHold));
    let is_in_question = tx.state == State::OnHold
        || money_was_reported(tx, attempt)
        || money_is_in_question(tx, attempt);
    if amount.is_none() && is_in_question {
        return Err(Refusal::AmountNeeded);
    }
    let captured = amount.unwrap_or(attempt.amount);
    if !covers(captured, attempt.amount) {
        return Err(Refusal::AmountTooLow(attempt.amount.format()));
    }
    let named = |case: &&Case| {
        let is_ambiguous = case.reason == CaseReason::AmbiguousProviderId;
        case.reference == attempt.reference && case.reason.holds() && !is_ambiguous
    };
    let held = tx.cases.iter().rev().filter(named);
    let of_charge = charge.and_then(|charge| charge.id.clone());
    let provider_id = provider_id
        .or(of_charge)
        .or_else(|| held.flat_map(|case| case.provider_id.clone()).next());
    if provider_id.is_none() && attempt.provider_id.is_none() {
        return Err(Refusal::ProviderIdNeeded);
    }
    let entered = match is_total {
        true => EntryKind::Total,
        false => EntryKind::Charge,
    };
    let success = Success {
        entered: Some(entered),
        ..Success::of(attempt, provider_id, Some(captured))
    };
    Ok(success::settle(tx, attempt, success, captured, context))
}

/// Whether money was reported under an id that another attempt has, too.
fn money_is_in_question(tx: &Transaction, attempt: &Attempt) -> bool {
    let is_about = |case: &Case| case.reference == attempt.reference;
    let mut cases = tx.cases.iter().filter(|case| is_about(case));
    cases.any(Case::names_ambiguous_money)
}

/// The charge under the id that the operator names, else the latest one of the amount that they
/// name, else the latest one; charges that were not taken back come first.
fn charge_to_settle<'t>(
    attempt: &'t Attempt,
    amount: Option<Amount>,
    id: Option<&str>,
) -> Option<&'t Charge> {
    let charges = || attempt.charges.iter().rev();
    if id.is_some() {
        return charges().find(|charge| charge.id.as_deref() == id);
    }
    let standing = || charges().filter(|charge| !charge.is_taken_back);
    let of_amount = |charge: &&Charge| amount.is_some() && charge.amount == amount;
    let same = standing().find(of_amount);
    same.or_else(|| standing().next())
        .or_else(|| charges().find(of_amount))
        .or_else(|| charges().next())
}

/// Closes a case whose attempt has ended, and whose money holds nothing.
pub(super) fn close_case(
    tx: &Transaction,
    id: CaseId,
    closed: Closed,
) -> Result<Vec<Event>, Refusal> {
    let case = tx.cases.iter().find(|case| case.id == id);
    let case = case.ok_or(Refusal::UnknownCase(id))?;
    tx.require_closable(case)?;
    Ok(vec![Event::CaseClosed { case: id, closed }])
}

impl Transaction {
    /// Checks that a person can close `case`.
    ///
    /// # Errors
    ///
    /// It was closed before, its attempt is open, or it holds the transaction.
    pub fn require_closable(&self, case: &Case) -> Result<(), Refusal> {
        let mut attempt = self.attempt_of(case).into_iter();
        if case.closed.is_some() {
            return Err(Refusal::CaseClosed);
        }
        if attempt.any(|attempt| attempt.state.is_open()) {
            return Err(Refusal::CaseAboutOpenAttempt);
        }
        if case.reason.holds() && !self.state.is_final() {
            return Err(Refusal::CaseHolds);
        }
        Ok(())
    }
}

/// The attempt that is at a provider now, with no call in flight that could end it in this very
/// moment; of a transaction on hold, the attempt whose money holds it, or another one that the
/// operator names.
pub(super) fn attempt_to_settle<'t>(
    tx: &'t Transaction,
    resolution: &Resolution,
) -> Result<&'t Attempt, Refusal> {
    let attempt = match tx.state {
        State::AwaitingProvider | State::InDoubt => tx.current_attempt(),
        State::OnHold => match resolution.attempt {
            Some(wanted) => {
                let named = tx.attempt(wanted).ok_or(Refusal::UnknownAttempt(wanted))?;
                // The money is that of the latest attempt with the reference.
                return Ok(tx.latest_with(named.reference).unwrap_or(named));
            }
            None => tx.held_attempt(),
        },
        State::AwaitingGateway => return Err(Refusal::AttemptUnderWay),
        State::AwaitingCustomer | State::AwaitingDispatch => return Err(Refusal::NothingOpen),
        State::Succeeded | State::Failed(_) | State::Cancelled => {
            return Err(Refusal::AlreadyEnded(tx.status()));
        }
    };
    let attempt = attempt.ok_or(Refusal::NothingOpen)?;
    // A success without the name of its attempt would most likely mean the other one.
    let is_success = matches!(resolution.verdict, Verdict::Succeeded { .. });
    let held = tx.held_attempt().filter(|held| held.id != attempt.id);
    if let (None, true, Some(held)) = (resolution.attempt, is_success, held) {
        return Err(Refusal::WhichAttempt {
            open: attempt.id,
            paid: held.id,
        });
    }
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

/// The person's statement about an attempt without a success.
pub(super) fn settled(tx: &Transaction, attempt: &Attempt, verdict: &Verdict) -> Option<Settled> {
    let message = match verdict {
        Verdict::Succeeded { .. } => return None,
        Verdict::Failed { message: Some(own) } => own,
        Verdict::Failed { message: None } => default_message(tx, attempt),
        Verdict::NeverSent => end::UNSENT,
    };
    Some(Settled {
        attempt: attempt.id,
        message: message.to_owned(),
    })
}

/// Words for the merchant where the person gave none.
fn default_message(tx: &Transaction, attempt: &Attempt) -> &'static str {
    // An order about a transaction on hold settles the money of all its attempts.
    let settled = |one: &&Attempt| one.id == attempt.id || tx.state == State::OnHold;
    let paid = tx.attempts.iter().filter(settled);
    let paid: Vec<_> = paid.filter(|one| money_was_reported(tx, one)).collect();
    let mut standing = paid.iter().flat_map(|one| &one.charges);
    // By the person's word, no money moved where reports cannot be read or contradict each other.
    let has_sum = standing
        .any(|charge| !charge.is_taken_back && charge.amount.is_some() && !charge.is_disputed());
    match tx.kind() {
        _ if !paid.is_empty() && paid.iter().all(|one| tx.is_taken_back(one)) => {
            "The provider took back the money that it had reported."
        }
        Kind::Payment if has_sum => {
            "The money that was received did not settle this payment and is to be returned."
        }
        Kind::Payout if has_sum => {
            "The money that was sent did not settle this payout and is to be asked back."
        }
        Kind::Payment | Kind::Payout => "It was recorded as failed after a review.",
    }
}

/// Events after a person called an attempt failed. If money was reported for it, the transaction
/// ends, and the money is returned outside the engine. After a restore, the connections that may
/// have an unknown attempt are queried before the end.
fn failed(tx: &Transaction, attempt: &Attempt, context: &Context) -> Vec<Event> {
    let decline = Decline {
        reason: DeclineReason::Other,
        retryable: false,
        provider_id: None,
        provider_code: None,
        provider_message: attempt.settled.clone(),
        field: None,
    };
    let ended = Event::AttemptDeclined {
        attempt: attempt.id,
        decline: decline.clone(),
    };
    let last = || {
        let asking = restored::ask(tx, context);
        asking.unwrap_or_else(|| vec![end::failed(&ended, &decline)])
    };
    if tx.state == State::OnHold {
        return last();
    }
    if money_was_reported(tx, attempt) {
        let next = end::settle_held(tx, attempt.id, context).unwrap_or_else(last);
        // Each part that came while it was pending is to be returned. Beside the success of another
        // attempt it is a second payment, which has its case.
        let is_settled = next.iter().any(|event| matches!(event, Event::Succeeded));
        let stands = |charge: &&Charge| !is_settled && !charge.is_taken_back;
        let parts = attempt.charges.iter().filter(stands).filter_map(|charge| {
            answer::part_received(tx, attempt, charge.amount, charge.id.clone(), context)
        });
        let events = std::iter::once(ended).chain(next).chain(parts);
        return events.collect();
    }
    next_or_end(tx, attempt, ended, &decline, context)
}
