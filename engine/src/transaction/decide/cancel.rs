//! The payer, or an operator, does not want the payment any more. Possible while no attempt is open: money that may be moving cannot be
//! called back, unless the provider calls it off.

use crate::transaction::attempt::CallOff;
use crate::transaction::command::{CancelledBy, Context, Refusal};
use crate::transaction::event::Event;
use crate::transaction::model::Transaction;
use crate::transaction::schedule::CALL_OFF_AGAIN;
use crate::transaction::state::State;

pub(super) fn decide(tx: &Transaction, by: CancelledBy) -> Result<Vec<Event>, Refusal> {
    if !tx.is_payment() {
        return Err(Refusal::NotAPayment);
    }
    match tx.state {
        State::AwaitingCustomer => Ok(vec![Event::Cancelled { by }]),
        // Twice the same button is once the same wish.
        State::Cancelled => Ok(Vec::new()),
        State::Succeeded | State::Failed(_) => Err(Refusal::AlreadyEnded(tx.status())),
        State::AwaitingDispatch
        | State::AwaitingGateway
        | State::AwaitingProvider
        | State::InDoubt => Err(Refusal::AttemptUnderWay),
    }
}

/// The same where the gateway can call an attempt off. The provider is asked to, and only its word ends the attempt: until then the
/// payment is as pending as before.
pub(super) fn call_off(
    tx: &Transaction,
    by: CancelledBy,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let open = matches!(tx.state, State::AwaitingProvider | State::InDoubt);
    let (true, true, Some(attempt)) = (tx.is_payment(), open, tx.current_attempt()) else {
        return decide(tx, by);
    };
    let asked_lately = |asked: CallOff| context.now.since(asked.asked_at) < CALL_OFF_AGAIN;
    if attempt.call_off.is_some_and(asked_lately) {
        return Ok(Vec::new());
    }
    Ok(vec![Event::CallOffStarted {
        attempt: attempt.id,
        by,
    }])
}
