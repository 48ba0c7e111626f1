//! Queries outside of the schedule, for a verify request or an operator. The schedule stays as it
//! was.

use std::time::Duration;

use crate::limits::{CHECK_QUERY_AGE, VERIFY_QUERY_AGE};
use crate::transaction::attempt::Attempt;
use crate::transaction::command::{Context, Refusal};
use crate::transaction::event::Event;
use crate::transaction::model::Transaction;
use crate::transaction::schedule;
use crate::transaction::state::State;

/// Asks unless the provider was asked, or answered the submission, less than ten seconds ago
/// (docs/contract/responses.md).
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
        State::AwaitingCustomer | State::AwaitingDispatch => {
            settled_by_person(tx, context).ok_or(Refusal::NothingOpen)
        }
        State::Failed(_) | State::Cancelled => {
            settled_by_person(tx, context).ok_or(Refusal::AlreadyEnded(tx.status()))
        }
        State::Succeeded => Err(Refusal::AlreadyEnded(tx.status())),
    }
}

/// Queries the provider about the latest attempt that ended by a person's statement, which can be
/// mistaken. `None`: there is no such attempt.
fn settled_by_person(tx: &Transaction, context: &Context) -> Option<Vec<Event>> {
    let mut attempts = tx.attempts.iter().rev();
    let attempt = attempts.find(|attempt| attempt.settled.is_some())?;
    Some(unless_recent(attempt, CHECK_QUERY_AGE, false, context))
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
    let attempt = tx.held_attempt();
    attempt.map_or_else(Vec::new, |attempt| {
        unless_recent(attempt, age, scheduled, context)
    })
}

/// Queries the provider about `attempt` again, since the result of a query is older than a report:
/// soon where a schedule is, else at once.
pub(super) fn once_more(tx: &Transaction, attempt: &Attempt, context: &Context) -> Vec<Event> {
    if !matches!(tx.state, State::AwaitingProvider | State::InDoubt) || !attempt.state.is_open() {
        return unless_recent(attempt, Duration::ZERO, false, context);
    }
    let soon = context.now.plus(schedule::SOON);
    let is_sooner = attempt.next_query_at.is_none_or(|planned| soon < planned);
    let planned = is_sooner.then_some(Event::QueryPlanned {
        attempt: attempt.id,
        next_query_at: soon,
    });
    planned.into_iter().collect()
}

/// Queries the provider about an attempt that is not the current one, unless it did so less than
/// `age` ago.
fn unless_recent(
    attempt: &Attempt,
    age: Duration,
    scheduled: bool,
    context: &Context,
) -> Vec<Event> {
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
