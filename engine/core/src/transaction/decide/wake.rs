//! Wake-ups: an unpaid payment expires, or the provider is queried as the schedule says.

use std::time::Duration;

use super::cases::{self, Evidence};
use super::{ask, cancel, code, restored, scheduled_query};
use crate::transaction::command::{CancelledBy, Context};
use crate::transaction::event::Event;
use crate::transaction::model::{CaseReason, Transaction};
use crate::transaction::schedule;
use crate::transaction::state::State;

/// A wake-up that comes too early, or to a transaction that does not wait for time, changes
/// nothing.
pub(super) fn decide(tx: &Transaction, context: &Context) -> Vec<Event> {
    // Before its time: the payer may have paid after the backup.
    if tx.state == State::AwaitingCustomer
        && let Some(asking) = restored::ask(tx, context)
    {
        return asking;
    }
    if tx.wake_at().is_none_or(|at| context.now < at) {
        return Vec::new();
    }
    match tx.state {
        State::AwaitingCustomer => vec![Event::Cancelled {
            by: CancelledBy::Expiry,
        }],
        State::AwaitingProvider | State::InDoubt => ask_as_scheduled(tx, context),
        State::OnHold => ask::held(tx, Duration::ZERO, true, context),
        // Both wait for the engine itself, which dispatches or recovers them by a command of their
        // own.
        State::AwaitingDispatch | State::AwaitingGateway => Vec::new(),
        State::Succeeded | State::Failed(_) | State::Cancelled => Vec::new(),
    }
}

fn ask_as_scheduled(tx: &Transaction, context: &Context) -> Vec<Event> {
    let Some(attempt) = tx.current_attempt() else {
        return Vec::new();
    };
    let code_is_lost = attempt
        .code_away_since
        .is_some_and(|since| context.now >= since.plus(schedule::CODE_WATCH));
    if code_is_lost {
        let why = "the gateway has not come back with the code".to_owned();
        return code::lost(tx, attempt.id, why, context);
    }
    let mut events = vec![scheduled_query(attempt, context)];
    events.extend(cancel::again(tx, attempt, context));
    if context.now.since(attempt.started_at) >= schedule::CASE_AFTER {
        let detail = "the provider has given no final answer for three days".to_owned();
        let evidence = Evidence::without_money(CaseReason::NoFinalAnswer, detail);
        events.extend(cases::open(tx, attempt, evidence, context));
    }
    events
}
