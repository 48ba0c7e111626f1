//! A verified report names an attempt by an id that the engine did not know. It may be the only
//! name in a later report of money, so the transaction keeps it.

use super::late;
use crate::ids::AttemptId;
use crate::limits::FURTHER_IDS;
use crate::transaction::attempt::{Attempt, AttemptState};
use crate::transaction::command::{Context, Refusal};
use crate::transaction::event::Event;
use crate::transaction::model::Transaction;

pub(super) fn decide(
    tx: &Transaction,
    id: AttemptId,
    provider_id: String,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let attempt = tx.attempt(id).ok_or(Refusal::UnknownAttempt(id))?;
    let attempt = tx.latest_with(attempt.reference).unwrap_or(attempt);
    let named = identified(tx, attempt, provider_id.clone());
    // The provider has an attempt that counted as not sent.
    let is_found = attempt.state == AttemptState::NotSent && !attempt.was_seen();
    let found = match is_found && named.is_some() {
        true => late::found_after_all(tx, attempt, Some(provider_id), context),
        false => Vec::new(),
    };
    Ok(named.into_iter().chain(found).collect())
}

/// The event about a new id of `attempt`. `None`: it has the id, or as many as are kept.
pub(super) fn identified(
    tx: &Transaction,
    attempt: &Attempt,
    provider_id: String,
) -> Option<Event> {
    // The provider knows references only, and a later attempt may have this one now.
    let attempt = tx.latest_with(attempt.reference).unwrap_or(attempt);
    let is_known = tx.ids_of(attempt).contains(&provider_id.as_str());
    let has_room = attempt.further_ids.len() < FURTHER_IDS;
    (!is_known && has_room).then_some(Event::AttemptIdentified {
        attempt: attempt.id,
        provider_id,
    })
}
