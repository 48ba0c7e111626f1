//! Decisions that the simulation turns wrong, to show that it would find them. See [`crate::planted`].

use crate::planted::{Fault, is_planted};
use crate::transaction::{
    Attempt, AttemptState, CaseReason, Command, DeclineReason, Event, Failure, Outcome, Refusal,
    Transaction,
};

/// What was decided, as a faulty core would have decided it.
pub(super) fn turned(
    tx: &Transaction,
    command: &Command,
    decided: Result<Vec<Event>, Refusal>,
) -> Result<Vec<Event>, Refusal> {
    if is_planted(Fault::WordAgainstProvider) && matches!(decided, Err(Refusal::ProviderHasIt)) {
        return Ok(never_sent(tx));
    }
    let mut events = decided?;
    if is_planted(Fault::ContradictionIgnored) {
        events.retain(|event| !matches!(event, Event::CaseOpened { .. }));
    }
    if is_planted(Fault::ReversalIgnored) {
        events.retain(|event| !takes_success_back(event));
    }
    if is_planted(Fault::LateMoneyIgnored) && events.iter().any(is_late_success) {
        events.retain(is_late_success);
    }
    if is_planted(Fault::SurplusIgnored) {
        events.retain(|event| !is_surplus(event));
    }
    if is_planted(Fault::OrderUnsigned) {
        events.retain(|event| !matches!(event, Event::OperatorActed { .. }));
    }
    if is_planted(Fault::EndChanged)
        && let Some(succeeded) = changed_end(tx, command)
    {
        return Ok(succeeded);
    }
    Ok(events)
}

fn takes_success_back(event: &Event) -> bool {
    matches!(event, Event::CaseOpened { case } if case.reason == CaseReason::SuccessContradicted)
}

fn is_late_success(event: &Event) -> bool {
    matches!(event, Event::CaseOpened { case } if case.reason == CaseReason::LateSuccess)
}

fn is_surplus(event: &Event) -> bool {
    let is = |reason| {
        matches!(
            reason,
            CaseReason::Surplus | CaseReason::ContradictingSuccess
        )
    };
    matches!(event, Event::CaseOpened { case } if is(case.reason))
}

/// An operator says that the open attempt was never sent, and is believed.
fn never_sent(tx: &Transaction) -> Vec<Event> {
    let Some(attempt) = tx.current_attempt() else {
        return Vec::new();
    };
    let failure = Failure {
        reason: DeclineReason::ProviderUnavailable,
        message: "It never reached the provider.".to_owned(),
    };
    let ended = Event::AttemptNotSent {
        attempt: attempt.id,
        why: failure.message.clone(),
    };
    vec![ended, Event::Failed { failure }]
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
