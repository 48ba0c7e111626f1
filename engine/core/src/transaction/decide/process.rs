//! The merchant has delivered, and marks the payment processed. Once is enough; more does no harm.

use crate::transaction::command::Refusal;
use crate::transaction::event::Event;
use crate::transaction::model::Transaction;
use crate::transaction::state::Status;

pub(super) fn decide(tx: &Transaction) -> Result<Vec<Event>, Refusal> {
    tx.payment().ok_or(Refusal::NotAPayment)?;
    match tx.status() {
        Status::Success if tx.processed_at.is_some() => Ok(Vec::new()),
        Status::Success => Ok(vec![Event::Processed]),
        other => Err(Refusal::NotSuccessful(other)),
    }
}
