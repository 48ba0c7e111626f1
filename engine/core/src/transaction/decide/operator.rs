//! An operator's order. It is stored before its effects; an order that changes nothing is not
//! stored.

use super::{ask, cancel, resolve};
use crate::transaction::command::{CancelledBy, Context, Refusal};
use crate::transaction::event::Event;
use crate::transaction::model::Transaction;
use crate::transaction::operator::{ByOperator, Closed, OperatorCommand, OperatorEvent};

pub(super) fn decide(
    tx: &Transaction,
    order: ByOperator,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let ByOperator {
        operator,
        note,
        order,
    } = order;
    let closed = Closed {
        at: context.now,
        by: operator.clone(),
        note: note.clone(),
    };
    let mut settled = None;
    let (act, events) = match order {
        OperatorCommand::Check => (OperatorEvent::Checked, ask::now(tx, context)?),
        OperatorCommand::Resolve(resolution) => {
            let attempt = resolve::attempt_to_settle(tx, &resolution)?;
            settled = resolve::settled(tx, attempt, &resolution.verdict);
            let attempt = attempt.id;
            let mut tx = tx.clone();
            tx.settle_by_person(settled.as_ref());
            let events = resolve::decide(&tx, attempt, resolution.verdict, &closed, context)?;
            (OperatorEvent::Resolved, events)
        }
        OperatorCommand::CloseCase(case) => (
            OperatorEvent::ClosedCase,
            resolve::close_case(tx, case, closed)?,
        ),
        OperatorCommand::Cancel => (
            OperatorEvent::Cancelled,
            cancel::decide(tx, CancelledBy::Operator, context)?,
        ),
    };
    if events.is_empty() {
        return Ok(events);
    }
    let acted = Event::OperatorActed {
        operator,
        act,
        note,
        settled,
    };
    Ok(std::iter::once(acted).chain(events).collect())
}
