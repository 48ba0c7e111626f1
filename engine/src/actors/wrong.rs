//! Decisions that the simulation turns wrong, to show that it would find them. See [`crate::planted`].

use crate::planted::{Fault, is_planted};
use crate::transaction::{Attempt, AttemptState, Command, Event, Outcome, Transaction};

/// `events` as a faulty core would have decided them.
pub(super) fn turned(tx: &Transaction, command: &Command, mut events: Vec<Event>) -> Vec<Event> {
    if is_planted(Fault::ContradictionIgnored) {
        events.retain(|event| !matches!(event, Event::CaseOpened { .. }));
    }
    if is_planted(Fault::EndChanged)
        && let Some(succeeded) = changed_end(tx, command)
    {
        return succeeded;
    }
    events
}

/// The success that comes after another end, taken as if nothing had ended.
fn changed_end(tx: &Transaction, command: &Command) -> Option<Vec<Event>> {
    let Command::Answer {
        attempt,
        outcome: Outcome::Succeeded { .. },
        ..
    } = command
    else {
        return None;
    };
    let ended = |attempt: &&Attempt| attempt.state != AttemptState::Succeeded;
    let attempt = tx.attempt(*attempt).filter(ended)?;
    let succeeded = Event::AttemptSucceeded {
        attempt: attempt.id,
        provider_id: None,
        provider_status: None,
        captured: attempt.amount,
        fees: None,
    };
    tx.state
        .is_final()
        .then(|| vec![succeeded, Event::Succeeded])
}
