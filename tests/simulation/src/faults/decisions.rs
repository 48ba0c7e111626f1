//! Faulty decisions, in place of those of the transaction core.

use switchyard_core::money::{Amount, Rate};
use switchyard_core::transaction::{
    Attempt, AttemptState, Captured, CaseReason, Command, Context, Decline, DeclineReason, Event,
    Failure, Outcome, Price, Refusal, State, Transaction, decide,
};
use switchyard_system::simulation::Decide;

use super::{Fault, planted};

/// Returns the decisions of the planted fault. `None`: the core decides.
pub fn replaced() -> Option<Decide> {
    let is_decision = matches!(
        planted()?,
        Fault::UnknownRetried
            | Fault::EndChanged
            | Fault::ContradictionIgnored
            | Fault::ReversalIgnored
            | Fault::LessIsEnough
            | Fault::ConfirmedInDoubt
            | Fault::TimeoutDeclined
            | Fault::NotFoundBelieved
            | Fault::RecoveryBlind
            | Fault::OrderUnsigned
            | Fault::WordAgainstProvider
            | Fault::RateMoved
            | Fault::RateReadAnew
            | Fault::LateMoneyIgnored
            | Fault::SurplusIgnored
            | Fault::UnreadableIgnored
            | Fault::SharedIdIgnored
    );
    is_decision.then_some(faulty as Decide)
}

fn faulty(
    tx: &Transaction,
    mut command: Command,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let Some(fault) = planted() else {
        return decide(tx, command, context);
    };
    match &mut command {
        Command::Answer {
            attempt,
            outcome,
            asked_at,
            ..
        } => {
            let asked = tx.attempt(*attempt).map(|attempt| attempt.amount);
            misread(fault, outcome, asked, asked_at.is_some());
        }
        Command::Recover { maybe_sent, .. } if fault == Fault::RecoveryBlind => {
            *maybe_sent = false;
        }
        Command::Confirm(confirm) => misprice(fault, &mut confirm.price),
        Command::AmbiguousId { .. } if fault == Fault::SharedIdIgnored => return Ok(Vec::new()),
        _ => {}
    }
    if fault == Fault::ConfirmedInDoubt && matches!(command, Command::Confirm(_)) {
        let mut waiting = tx.clone();
        if waiting.state == State::InDoubt {
            waiting.state = State::AwaitingCustomer;
        }
        return decide(&waiting, command, context);
    }
    let asked = command.clone();
    let decided = decide(tx, command, context);
    if fault == Fault::WordAgainstProvider && matches!(decided, Err(Refusal::ProviderHasIt)) {
        return Ok(never_sent(tx));
    }
    let mut events = decided?;
    if fault == Fault::EndChanged
        && let Some(succeeded) = changed_end(tx, &asked)
    {
        return Ok(succeeded);
    }
    omit(fault, &mut events);
    Ok(events)
}

/// Changes the outcome of a call. `is_query`: whether a query brought it.
fn misread(fault: Fault, outcome: &mut Outcome, asked: Option<Amount>, is_query: bool) {
    match (fault, &mut *outcome) {
        (Fault::LessIsEnough, Outcome::Succeeded { amount, .. }) => {
            if let (Captured::Named(named), Some(asked)) = (*amount, asked)
                && named.currency() == asked.currency()
                && named.minor() < asked.minor()
            {
                *amount = Captured::Named(asked);
            }
        }
        (
            Fault::UnreadableIgnored,
            Outcome::Succeeded {
                amount: Captured::Unreadable,
                ..
            },
        ) => *outcome = Outcome::unknown("the amount cannot be read"),
        (Fault::UnknownRetried, Outcome::Unknown { why, .. }) if !is_query => {
            let why = std::mem::take(why);
            *outcome = Outcome::NotSent { why };
        }
        (Fault::NotFoundBelieved, Outcome::Unknown { why, .. }) if why.starts_with(NOT_FOUND) => {
            let why = std::mem::take(why);
            *outcome = Outcome::NotSent { why };
        }
        (Fault::TimeoutDeclined, Outcome::Unknown { .. }) => {
            *outcome = Outcome::Declined(Decline {
                reason: DeclineReason::PayerTimeout,
                retryable: false,
                provider_id: None,
                provider_code: None,
                provider_message: None,
                field: None,
            });
        }
        _ => {}
    }
}

/// Changes the price that the payer confirmed.
fn misprice(fault: Fault, price: &mut Price) {
    let Some(conversion) = &mut price.conversion else {
        return;
    };
    match fault {
        Fault::RateMoved => {
            let moved = price.amount.minor() + price.amount.minor() / 10 + 1;
            price.amount = Amount::from_minor(moved, price.amount.currency());
        }
        Fault::RateReadAnew => {
            if let Ok(rate) = Rate::parse(ANOTHER_RATE) {
                conversion.rate = rate;
            }
        }
        _ => {}
    }
}

/// Omits events from a decision.
fn omit(fault: Fault, events: &mut Vec<Event>) {
    match fault {
        Fault::ContradictionIgnored => {
            events.retain(|event| !matches!(event, Event::CaseOpened { .. }));
        }
        Fault::ReversalIgnored => events.retain(|event| !takes_success_back(event)),
        Fault::LateMoneyIgnored if events.iter().any(is_late_success) => {
            events.retain(is_late_success);
        }
        Fault::SurplusIgnored => events.retain(|event| !is_surplus(event)),
        Fault::OrderUnsigned => {
            events.retain(|event| !matches!(event, Event::OperatorActed { .. }));
        }
        _ => {}
    }
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

/// Events with which an operator's "never sent" about the open attempt is accepted.
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

/// Events with which a success after another end is accepted.
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
        entered: None,
    };
    tx.state
        .is_final()
        .then(|| vec![succeeded, Event::Succeeded])
}

/// Beginning of the reason with which the simulated gateway responds that its provider does not
/// know a reference.
const NOT_FOUND: &str = "the provider does not know it";
const ANOTHER_RATE: &str = "733.1";
