//! `evolve`: how an event changes a transaction. Total: every event can be applied to every
//! transaction, so that a stored history always reads back.

use super::attempt::{Attempt, AttemptState, CancelRequest};
use super::charges::{self, Charge, MoneyReport};
use super::event::Event;
use super::model::{Case, Transaction};
use super::outcome::PayerAction;
use super::state::State;
use crate::ids::{AttemptId, CaseId};
use crate::limits::FURTHER_IDS;
use crate::time::Timestamp;

/// The transaction after `event`, which happened at `now`.
pub fn evolve(mut tx: Transaction, event: &Event, now: Timestamp) -> Transaction {
    tx.version += 1;
    tx.updated_at = now;
    match event {
        Event::Initiated => {}
        Event::Confirmed { customer, context } => {
            tx.customer = (**customer).clone();
            tx.context = context.clone();
        }
        Event::AttemptStarted { attempt } => start(&mut tx, attempt, now),
        Event::Succeeded => {
            tx.pending_at.get_or_insert(now);
            tx.success_at = Some(now);
            tx.state = State::Succeeded;
        }
        Event::Failed { failure } => {
            tx.failed_at = Some(now);
            tx.state = State::Failed(failure.clone());
        }
        Event::Cancelled { .. } => {
            tx.cancelled_at = Some(now);
            tx.state = State::Cancelled;
        }
        Event::OperatorActed { settled, .. } => tx.settle_by_person(settled.as_ref()),
        Event::SteppedOver { .. } => {}
        Event::CaseClosed { case, closed } => change_case(&mut tx, *case, |found| {
            found.closed = Some(closed.clone());
        }),
        Event::CaseAmended {
            case,
            amount,
            detail,
        } => change_case(&mut tx, *case, |found| {
            found.amount = Some(*amount);
            found.detail.clone_from(detail);
        }),
        Event::MoneyReported { attempt, report } => money_reported(&mut tx, *attempt, report, now),
        Event::Held => tx.state = State::OnHold,
        Event::SubmissionResumed { attempt } => {
            tx.state = State::AwaitingGateway;
            change(&mut tx, *attempt, |found| evolve_attempt(found, event, now));
        }
        Event::AttemptAllowed => tx.state = State::before_an_attempt(tx.kind()),
        Event::Processed => tx.processed_at = Some(now),
        Event::CaseOpened { case } => tx.cases.push(case.clone()),
        Event::AttemptPending { attempt, .. } => {
            tx.state = State::AwaitingProvider;
            tx.pending_at.get_or_insert(now);
            change_charges(&mut tx, *attempt, |found| evolve_attempt(found, event, now));
        }
        Event::AttemptSucceeded { attempt, .. } => {
            change_charges(&mut tx, *attempt, |found| evolve_attempt(found, event, now));
        }
        Event::AttemptInDoubt { attempt, .. } => {
            tx.state = State::InDoubt;
            change(&mut tx, *attempt, |found| evolve_attempt(found, event, now));
        }
        Event::AttemptNotSent { attempt, .. }
        | Event::AttemptDeclined { attempt, .. }
        | Event::AttemptIdentified { attempt, .. }
        | Event::QueryStarted { attempt, .. }
        | Event::QueryPlanned { attempt, .. }
        | Event::CodeSubmitted { attempt }
        | Event::CodeAnswered { attempt, .. }
        | Event::CallOffStarted { attempt, .. } => {
            change(&mut tx, *attempt, |found| evolve_attempt(found, event, now))
        }
    }
    tx
}

fn money_reported(tx: &mut Transaction, id: AttemptId, report: &MoneyReport, now: Timestamp) {
    change_charges(tx, id, |found| {
        charges::apply(&mut found.charges, report);
        match report {
            MoneyReport::Moved { .. } | MoneyReport::Part { .. } => {
                found.money_reported_at = Some(now);
            }
            MoneyReport::TakenBack { .. } => {}
        }
    });
}

/// The first report that names an id names the charge, the cases about it, and an attempt that
/// succeeded without one.
fn change_charges(tx: &mut Transaction, id: AttemptId, with: impl FnOnce(&mut Attempt)) {
    let Some(attempt) = tx.attempts.iter_mut().find(|attempt| attempt.id == id) else {
        return;
    };
    let unnamed = |charge: &Charge| charge.id.is_none();
    let place = attempt.charges.iter().position(unnamed);
    with(attempt);
    let named = place.and_then(|place| attempt.charges.get(place));
    let Some((charge, id)) = named.and_then(|charge| Some((charge, charge.id.clone()?))) else {
        return;
    };
    if charge.is_recorded {
        attempt.provider_id.get_or_insert_with(|| id.clone());
    }
    let reference = attempt.reference;
    let about = |case: &&mut Case| case.reference == reference && case.reason.reports_money();
    for case in tx.cases.iter_mut().filter(about) {
        case.provider_id.get_or_insert_with(|| id.clone());
    }
}

/// A presumed attempt is in doubt from its beginning, and pending only when its provider has it.
fn start(tx: &mut Transaction, attempt: &Attempt, now: Timestamp) {
    tx.attempts.push(attempt.clone());
    tx.state = match attempt.presumed {
        true => State::InDoubt,
        false => State::AwaitingGateway,
    };
    if !attempt.presumed {
        tx.pending_at.get_or_insert(now);
    }
}

fn change(tx: &mut Transaction, id: AttemptId, with: impl FnOnce(&mut Attempt)) {
    if let Some(attempt) = tx.attempts.iter_mut().find(|attempt| attempt.id == id) {
        with(attempt);
    }
}

fn change_case(tx: &mut Transaction, id: CaseId, with: impl FnOnce(&mut Case)) {
    if let Some(case) = tx.cases.iter_mut().find(|case| case.id == id) {
        with(case);
    }
}

fn evolve_attempt(attempt: &mut Attempt, event: &Event, now: Timestamp) {
    match event {
        Event::AttemptPending {
            provider_id,
            provider_status,
            payer_action,
            gateway_state,
            next_query_at,
            received,
            ..
        } => {
            attempt.state = AttemptState::Pending;
            keep(&mut attempt.received, received);
            replace_id(attempt, provider_id.as_ref());
            if let Some(amount) = received {
                charges::apply_pending(attempt, *amount);
            }
            let has_come = received.is_some_and(|received| received.minor() > 0);
            keep(&mut attempt.money_reported_at, &has_come.then_some(now));
            keep(&mut attempt.provider_status, provider_status);
            keep_action(attempt, payer_action);
            if let Some(state) = gateway_state {
                attempt.gateway_state = state.clone();
            }
            attempt.next_query_at = Some(*next_query_at);
            attempt.why = None;
        }
        Event::AttemptInDoubt {
            why,
            gateway_state,
            next_query_at,
            cut_off,
            ..
        } => {
            attempt.state = AttemptState::InDoubt;
            attempt.cut_off = *cut_off;
            attempt.why = Some(why.clone());
            if let Some(state) = gateway_state {
                attempt.gateway_state = state.clone();
            }
            attempt.next_query_at = Some(*next_query_at);
        }
        Event::AttemptNotSent { why, .. } => {
            attempt.why = Some(why.clone());
            end(attempt, AttemptState::NotSent, now);
        }
        Event::AttemptDeclined { decline, .. } => {
            replace_id(attempt, decline.provider_id.as_ref());
            attempt.decline = Some(decline.clone());
            end(attempt, AttemptState::Declined, now);
        }
        Event::AttemptSucceeded {
            provider_id,
            provider_status,
            captured,
            fees,
            entered,
            ..
        } => {
            replace_id(attempt, provider_id.as_ref());
            keep(&mut attempt.provider_status, provider_status);
            charges::record(attempt, *captured, *entered);
            attempt.money_reported_at = Some(now);
            attempt.captured = Some(*captured);
            attempt.fees = *fees;
            // A success after a decline or after "not sent" leaves no failure behind.
            attempt.decline = None;
            (attempt.why, attempt.settled) = (None, None);
            end(attempt, AttemptState::Succeeded, now);
        }
        other => evolve_what_is_under_way(attempt, other, now),
    }
}

/// Takes the id of a report. The id that it replaces stays known: a later report may name it alone.
fn replace_id(attempt: &mut Attempt, reported: Option<&String>) {
    let Some(id) = reported.filter(|id| attempt.provider_id.as_ref() != Some(id)) else {
        return;
    };
    let earlier = attempt.provider_id.replace(id.clone());
    let has_room = attempt.further_ids.len() < FURTHER_IDS;
    let unknown = earlier.filter(|earlier| has_room && !attempt.has_id(earlier));
    attempt.further_ids.extend(unknown);
}

/// Changes of an attempt besides its end: queries, codes, ids.
fn evolve_what_is_under_way(attempt: &mut Attempt, event: &Event, now: Timestamp) {
    match event {
        Event::QueryStarted {
            scheduled,
            next_query_at,
            ..
        } => {
            attempt.last_query_at = Some(now);
            attempt.next_query_at = Some(*next_query_at);
            attempt.queries = attempt.queries.saturating_add(u32::from(*scheduled));
        }
        Event::AttemptIdentified { provider_id, .. } => {
            attempt.further_ids.push(provider_id.clone());
        }
        Event::SubmissionResumed { .. } => {
            attempt.resumed += 1;
            attempt.resumed_at = Some(now);
        }
        Event::QueryPlanned { next_query_at, .. } => {
            attempt.next_query_at = Some(*next_query_at);
        }
        Event::CodeSubmitted { .. } => {
            attempt.codes = attempt.codes.saturating_add(1);
            attempt.code_away_since = Some(now);
            attempt.why = None;
        }
        Event::CodeAnswered { accepted, why, .. } => {
            attempt.code_away_since = None;
            attempt.why.clone_from(why);
            if *accepted {
                attempt.payer_action = None;
            }
        }
        Event::CallOffStarted { by, then, .. } => {
            attempt.call_off = Some(CancelRequest {
                by: *by,
                asked_at: now,
                then: *then,
            });
        }
        _ => {}
    }
}

fn end(attempt: &mut Attempt, state: AttemptState, now: Timestamp) {
    attempt.state = state;
    attempt.ended_at = Some(now);
    attempt.next_query_at = None;
    attempt.payer_action = None;
    attempt.code_away_since = None;
    attempt.remaining.clear();
}

/// The fee of a transfer stays known after later instructions.
fn keep_action(attempt: &mut Attempt, news: &Option<PayerAction>) {
    keep(&mut attempt.payer_action, news);
    let fee = news.as_ref().and_then(PayerAction::fee);
    keep(&mut attempt.payer_fee, &fee);
}

fn keep<T: Clone>(kept: &mut Option<T>, news: &Option<T>) {
    if news.is_some() {
        kept.clone_from(news);
    }
}
