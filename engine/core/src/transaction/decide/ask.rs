//! Queries outside of the schedule, for a verify request or an operator. The schedule stays as it
//! was.

use std::time::Duration;

use crate::limits::{CHECK_QUERY_AGE, VERIFY_QUERY_AGE};
use crate::transaction::command::{Context, Refusal};
use crate::transaction::event::Event;
use crate::transaction::model::Transaction;
use crate::transaction::schedule;
use crate::transaction::state::State;

/// Asks unless the provider was asked, or answered the submission, less than ten seconds ago
/// (decisions 3).
pub(super) fn decide(tx: &Transaction, context: &Context) -> Vec<Event> {
    if_older(tx, VERIFY_QUERY_AGE, context)
}

/// An operator asks: at once, but a button that is pressed all the time does not become the
/// provider's trouble.
pub(super) fn now(tx: &Transaction, context: &Context) -> Result<Vec<Event>, Refusal> {
    match tx.state {
        State::AwaitingProvider | State::InDoubt => Ok(if_older(tx, CHECK_QUERY_AGE, context)),
        // A query is in flight already.
        State::AwaitingGateway => Ok(Vec::new()),
        State::OnHold => Ok(held(tx, CHECK_QUERY_AGE, false, context)),
        State::AwaitingCustomer | State::AwaitingDispatch => Err(Refusal::NothingOpen),
        State::Succeeded | State::Failed(_) | State::Cancelled => {
            Err(Refusal::AlreadyEnded(tx.status()))
        }
    }
}

/// Asks whenever it was asked last.
pub(super) fn at_once(tx: &Transaction, context: &Context) -> Vec<Event> {
    if_older(tx, Duration::ZERO, context)
}

/// Queries the provider whose money holds the transaction. `scheduled`: the daily query.
pub(super) fn held(
    tx: &Transaction,
    age: Duration,
    scheduled: bool,
    context: &Context,
) -> Vec<Event> {
    let Some(attempt) = tx.held_attempt() else {
        return Vec::new();
    };
    let queried = attempt.last_query_at;
    if queried.is_some_and(|queried| context.now.since(queried) < age) {
        return Vec::new();
    }
    let planned = attempt.next_query_at.filter(|_| !scheduled);
    vec![Event::QueryStarted {
        attempt: attempt.id,
        scheduled,
        next_query_at: planned.unwrap_or(context.now.plus(schedule::HELD_QUERY)),
    }]
}

fn if_older(tx: &Transaction, age: Duration, context: &Context) -> Vec<Event> {
    if !matches!(tx.state, State::AwaitingProvider | State::InDoubt) {
        return Vec::new();
    }
    let Some(attempt) = tx.current_attempt() else {
        return Vec::new();
    };
    let last = attempt.last_query_at.unwrap_or(attempt.started_at);
    if context.now.since(last) < age {
        return Vec::new();
    }
    let next_query_at = attempt.next_query_at.unwrap_or(context.now);
    vec![Event::QueryStarted {
        attempt: attempt.id,
        scheduled: false,
        next_query_at,
    }]
}
