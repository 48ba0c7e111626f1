//! The payer does not want to pay. Possible only while no attempt is open: money that may be moving cannot be called back.

use crate::transaction::command::{CancelledBy, Refusal};
use crate::transaction::event::Event;
use crate::transaction::model::Transaction;
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
