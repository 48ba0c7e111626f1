//! The payer or an operator does not want the payment any more, or the payer wants to pay another
//! way. With no attempt open that is possible at once. Money that may be moving cannot be called
//! back: an open attempt is cancelled at its provider, or its own end is awaited.

use super::answer::money_was_reported;
use super::ask;
use crate::transaction::attempt::{AfterCallOff, Attempt, AttemptState, CancelRequest};
use crate::transaction::command::{CancelledBy, Context, Refusal};
use crate::transaction::event::Event;
use crate::transaction::kind::Kind;
use crate::transaction::model::Transaction;
use crate::transaction::outcome::{DeclineReason, Outcome, PayerAction};
use crate::transaction::schedule::CALL_OFF_AGAIN;
use crate::transaction::state::{Failure, State};

pub(super) fn decide(
    tx: &Transaction,
    by: CancelledBy,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    match tx.kind() {
        Kind::Payment => payment(tx, by, context),
        Kind::Payout => payout(tx, by, context),
    }
}

fn payment(tx: &Transaction, by: CancelledBy, context: &Context) -> Result<Vec<Event>, Refusal> {
    match tx.state {
        // It may have been paid after the backup: the providers are asked first.
        State::AwaitingCustomer if !context.permit.unasked.is_empty() => Err(Refusal::Paused),
        State::AwaitingCustomer => Ok(vec![Event::Cancelled { by }]),
        // The same button pressed twice is one request.
        State::Cancelled => Ok(Vec::new()),
        State::Succeeded | State::Failed(_) => Err(Refusal::AlreadyEnded(tx.status())),
        State::OnHold => Err(Refusal::Held),
        State::AwaitingProvider | State::InDoubt => call_off(tx, by, AfterCallOff::Cancel, context)
            .map_err(|refusal| match refusal {
                Refusal::CannotCallOff => Refusal::AttemptUnderWay,
                other => other,
            }),
        State::AwaitingDispatch | State::AwaitingGateway => Err(Refusal::AttemptUnderWay),
    }
}

/// An operator stops a payout that waits to be sent and that no provider has. It fails: a payout is
/// not cancelled.
fn payout(tx: &Transaction, by: CancelledBy, context: &Context) -> Result<Vec<Event>, Refusal> {
    let is_ordered = by == CancelledBy::Operator;
    match tx.state {
        State::AwaitingDispatch if is_ordered && context.permit.unasked.is_empty() => {
            let failure = Failure {
                reason: DeclineReason::NotPermitted,
                message: "It was stopped before it was sent to a provider.".to_owned(),
            };
            Ok(vec![Event::Failed { failure }])
        }
        // The engine of before a restore may have sent it: the providers are asked first.
        State::AwaitingDispatch if is_ordered => Err(Refusal::Paused),
        _ => Err(Refusal::NotAPayment),
    }
}

/// The payer got no prompt, or wants to pay another way.
pub(super) fn give_up(tx: &Transaction, context: &Context) -> Result<Vec<Event>, Refusal> {
    tx.payment().ok_or(Refusal::NotAPayment)?;
    match tx.state {
        State::AwaitingCustomer => Ok(Vec::new()),
        State::Succeeded | State::Failed(_) | State::Cancelled => {
            Err(Refusal::AlreadyEnded(tx.status()))
        }
        State::OnHold => Err(Refusal::Held),
        State::AwaitingDispatch | State::AwaitingGateway => Err(Refusal::AttemptUnderWay),
        State::AwaitingProvider | State::InDoubt => {
            let young = |attempt: &Attempt| context.now < attempt.may_be_given_up_at();
            if tx.current_attempt().is_some_and(young) {
                return Err(Refusal::TooEarly);
            }
            let by = CancelledBy::Customer;
            call_off(tx, by, AfterCallOff::ChooseAgain, context)
        }
    }
}

/// Cancels the open attempt at its provider, or waits for its own end. Until the provider says that
/// it moved no money, the payment is as pending as before.
fn call_off(
    tx: &Transaction,
    by: CancelledBy,
    then: AfterCallOff,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let attempt = tx.current_attempt().ok_or(Refusal::NothingOpen)?;
    if tx.is_held() || money_was_reported(tx, attempt) {
        return Err(Refusal::Held);
    }
    let is_ordered = |asked: CancelRequest| asked.by == CancelledBy::Operator;
    if then == AfterCallOff::ChooseAgain && attempt.call_off.is_some_and(is_ordered) {
        return Err(Refusal::AttemptUnderWay);
    }
    // A later request of the payer does not replace an operator's order.
    let (by, then) = match attempt.call_off.filter(|asked| is_ordered(*asked)) {
        Some(ordered) => (ordered.by, ordered.then),
        None => (by, then),
    };
    let asked_lately = |asked: CancelRequest| {
        asked.then == then && context.now.since(asked.asked_at) < CALL_OFF_AGAIN
    };
    if attempt.call_off.is_some_and(asked_lately) {
        return Ok(Vec::new());
    }
    let started = |at_provider| Event::CallOffStarted {
        attempt: attempt.id,
        by,
        then,
        at_provider,
    };
    match (attempt.candidate.can_cancel, attempt.ends_at()) {
        (true, _) => Ok(vec![started(true)]),
        (false, Some(_)) => {
            let query = ask::at_once(tx, context);
            Ok(std::iter::once(started(false)).chain(query).collect())
        }
        (false, None) => Err(Refusal::CannotCallOff),
    }
}

/// Repeats a call-off that has not ended its attempt: the request to the provider may be lost. It
/// comes with the scheduled queries, so less and less often.
pub(super) fn again(tx: &Transaction, attempt: &Attempt, context: &Context) -> Option<Event> {
    let asked = attempt.call_off?;
    let is_due = context.now.since(asked.asked_at) >= CALL_OFF_AGAIN;
    let may_cancel = attempt.candidate.can_cancel && !money_was_reported(tx, attempt);
    (is_due && may_cancel).then_some(Event::CallOffStarted {
        attempt: attempt.id,
        by: asked.by,
        then: asked.then,
        at_provider: true,
    })
}

/// Calls `open` off, for which money must not be taken any more because it was reported for another
/// attempt. `None`: its gateway cannot cancel, its submission is still away, or it was asked
/// already.
pub(super) fn superseded(open: &Attempt, context: &Context) -> Option<Event> {
    let at_provider = matches!(open.state, AttemptState::Pending | AttemptState::InDoubt);
    call_off_superseded(open, at_provider, context)
}

/// The same once the provider has the attempt of a held transaction.
pub(super) fn of_held(tx: &Transaction, open: &Attempt, context: &Context) -> Option<Event> {
    let by_another = tx
        .cases
        .iter()
        .any(|case| case.reason.holds() && case.reference != open.reference);
    call_off_superseded(open, by_another, context)
}

fn call_off_superseded(open: &Attempt, is_due: bool, context: &Context) -> Option<Event> {
    let by_engine = |asked: CancelRequest| {
        asked.by == CancelledBy::Engine || context.now.since(asked.asked_at) < CALL_OFF_AGAIN
    };
    let was_asked = open.call_off.is_some_and(by_engine);
    (is_due && open.candidate.can_cancel && !was_asked).then_some(Event::CallOffStarted {
        attempt: open.id,
        by: CancelledBy::Engine,
        then: AfterCallOff::Cancel,
        at_provider: true,
    })
}

/// Calls an attempt off whose page cannot be opened: the payer is not sent there, and the provider
/// may still hold the attempt. So it is not declared failed: the payer chooses again once the
/// provider has cancelled it or its own end is confirmed. `None`: neither is possible, it was asked
/// already, or the payer was sent to a page before, which stays.
pub(super) fn of_unusable_page(
    tx: &Transaction,
    attempt: &Attempt,
    pending: &mut Outcome,
    context: &Context,
) -> Option<Event> {
    let Outcome::Pending { payer_action, .. } = pending else {
        return None;
    };
    let is_unusable = |action: &PayerAction| matches!(action, PayerAction::UnusablePage { .. });
    if !payer_action.as_ref().is_some_and(is_unusable) {
        return None;
    }
    if let Some(PayerAction::Redirect { .. }) = attempt.payer_action {
        *payer_action = None;
        return None;
    }
    let may_ask = |asked: CancelRequest| {
        asked.by == CancelledBy::Engine
            && asked.then == AfterCallOff::ChooseAgain
            && context.now.since(asked.asked_at) >= CALL_OFF_AGAIN
    };
    let at_provider = attempt.candidate.can_cancel;
    let can_end = at_provider || (attempt.call_off.is_none() && attempt.ends_at().is_some());
    let is_due = match tx.kind() {
        Kind::Payment => can_end && !tx.is_held(),
        Kind::Payout => false,
    };
    (is_due && attempt.call_off.is_none_or(may_ask)).then_some(Event::CallOffStarted {
        attempt: attempt.id,
        by: CancelledBy::Engine,
        then: AfterCallOff::ChooseAgain,
        at_provider,
    })
}
