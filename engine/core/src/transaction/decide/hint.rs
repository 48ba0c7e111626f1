//! The provider sent something that proves nothing, such as a callback without a signature: it is
//! asked now. The schedule stays as it was.

use crate::limits::CALLBACK_HINT_AGE;
use crate::transaction::command::Context;
use crate::transaction::event::Event;
use crate::transaction::model::Transaction;
use crate::transaction::state::State;

/// Asks unless the provider was asked a moment ago: who sends many hints gets one query for them.
pub(super) fn decide(tx: &Transaction, context: &Context) -> Vec<Event> {
    if !matches!(tx.state, State::AwaitingProvider | State::InDoubt) {
        return Vec::new();
    }
    let Some(attempt) = tx.current_attempt() else {
        return Vec::new();
    };
    let last = attempt.last_query_at.unwrap_or(attempt.started_at);
    if context.now.since(last) < CALLBACK_HINT_AGE {
        return Vec::new();
    }
    vec![Event::QueryStarted {
        attempt: attempt.id,
        scheduled: false,
        next_query_at: attempt.next_query_at.unwrap_or(context.now),
    }]
}
