//! Somebody wants to know now. The schedule stays as it was.

use crate::limits::VERIFY_QUERY_AGE;
use crate::transaction::command::Context;
use crate::transaction::event::Event;
use crate::transaction::model::Transaction;
use crate::transaction::state::State;

/// Asks unless the provider was asked, or answered the submission, less than ten seconds ago (decisions 3).
pub(super) fn decide(tx: &Transaction, context: &Context) -> Vec<Event> {
    if !matches!(tx.state, State::AwaitingProvider | State::InDoubt) {
        return Vec::new();
    }
    let Some(attempt) = tx.current_attempt() else {
        return Vec::new();
    };
    let last = attempt.last_query_at.unwrap_or(attempt.started_at);
    if context.now.since(last) < VERIFY_QUERY_AGE {
        return Vec::new();
    }
    let next_query_at = attempt.next_query_at.unwrap_or(context.now);
    vec![Event::QueryStarted {
        attempt: attempt.id,
        scheduled: false,
        next_query_at,
    }]
}
