//! A report about an attempt that has ended, or of a transaction that has. A repetition is silent.
//! A success settles a transaction that still waits and has no other attempt in progress; any other
//! contradiction opens a case.

use super::cases::{self, Evidence};
use super::success::{self, Success};
use super::{answer, cancel};
use crate::money::Amount;
use crate::transaction::attempt::{Attempt, AttemptState};
use crate::transaction::charges::{self, Charge, MoneyReport};
use crate::transaction::command::Context;
use crate::transaction::event::Event;
use crate::transaction::model::{CaseReason, Transaction};
use crate::transaction::outcome::{Captured, Decline, Outcome};
use crate::transaction::state::State;

pub(super) fn decide(
    tx: &Transaction,
    attempt: &Attempt,
    outcome: Outcome,
    context: &Context,
) -> Vec<Event> {
    if is_repetition(attempt, &outcome) {
        return Vec::new();
    }
    let report = MoneyReport::of(attempt, &outcome);
    match outcome {
        Outcome::Succeeded {
            provider_id,
            amount,
            fees,
            provider_status,
        } => {
            let captured = success::amount(amount, attempt);
            let success = Success {
                provider_status,
                fees,
                ..Success::of(attempt, provider_id, captured)
            };
            match attempt.state {
                AttemptState::Succeeded => {
                    let names_amount = matches!(amount, Captured::Named(_));
                    contradicting(tx, attempt, &success, names_amount, context)
                }
                _ => {
                    let enough = success.enough_for(attempt);
                    money(tx, attempt, success, enough, context)
                }
            }
        }
        Outcome::Declined(decline) => contradicted(tx, attempt, &decline, context),
        // Money that came for an attempt which the provider still has: it settles nothing.
        Outcome::Pending {
            provider_id,
            provider_status,
            received,
            ..
        } if answer::is_money(received) => {
            let is_more = is_more(attempt, provider_id.as_deref(), received);
            let id = report.as_ref().and_then(MoneyReport::provider_id);
            let id = id.map(str::to_owned);
            let success = Success {
                provider_status,
                ..Success::of(attempt, provider_id.or(id), received)
            };
            match is_more {
                true => contradicting(tx, attempt, &success, true, context),
                false => part(tx, attempt, success, report, context),
            }
        }
        // A decline by the provider is final. A person can be mistaken.
        Outcome::Pending { provider_id, .. }
            if attempt.state == AttemptState::NotSent || attempt.settled.is_some() =>
        {
            found_after_all(tx, attempt, provider_id, context)
        }
        Outcome::NotSent { .. } | Outcome::Pending { .. } | Outcome::Unknown { .. } => Vec::new(),
    }
}

/// Whether a report about money says nothing new about the charges of `attempt`. Another amount for
/// the charge that it succeeded with changes none, and contradicts it.
fn is_repetition(attempt: &Attempt, outcome: &Outcome) -> bool {
    match MoneyReport::of(attempt, outcome) {
        Some(report @ MoneyReport::Moved { .. }) if attempt.state == AttemptState::Succeeded => {
            // The other charges have their cases.
            let is_about = |one: &&Charge| one.is_under(report.provider_id());
            let mut about = attempt.charges.iter().filter(is_about);
            about.all(|one| !one.is_recorded && !one.is_taken_back) && report.is_repeated(attempt)
        }
        Some(MoneyReport::Part { amount, .. })
            if is_more(attempt, outcome.provider_id(), Some(amount)) =>
        {
            false
        }
        Some(report) => report.is_repeated(attempt),
        None => false,
    }
}

/// A part of the money for an ended attempt, `success.captured` of it, that is not more than is
/// known.
fn part(
    tx: &Transaction,
    attempt: &Attempt,
    mut success: Success,
    report: Option<MoneyReport>,
    context: &Context,
) -> Vec<Event> {
    // A smaller sum than the known one is an older report.
    let known = report.and_then(|report| charges::amount_after(attempt, &report));
    success.captured = known.or(success.captured);
    success.before = None;
    match attempt.state {
        AttemptState::Succeeded => {
            let id = success.provider_id.as_deref();
            let mut about = attempt.charges.iter().filter(|charge| charge.is_under(id));
            let is_back = about.any(|charge| charge.is_taken_back) || tx.is_taken_back(attempt);
            contradicting(tx, attempt, &success, is_back, context)
        }
        _ => money(tx, attempt, success, None, context),
    }
}

/// Whether an attempt that succeeded received more than its captured amount, and more than the
/// payer's fee explains. Of a total, each charge has its own amount.
fn is_more(attempt: &Attempt, id: Option<&str>, received: Option<Amount>) -> bool {
    let has_succeeded = attempt.state == AttemptState::Succeeded;
    let (Some(captured), Some(received)) = (attempt.captured.filter(|_| has_succeeded), received)
    else {
        return false;
    };
    let recorded = || attempt.charges.iter().filter(|charge| charge.is_recorded);
    let is_total = recorded().nth(1).is_some();
    let mut own =
        recorded().filter(|charge| is_total && id.is_some() && charge.id.as_deref() == id);
    if let Some(own) = own.find_map(|charge| charge.amount) {
        return is_beyond(received, &[own]);
    }
    let with_fee = attempt.with_payer_fee().unwrap_or(captured);
    is_beyond(received, &[captured, with_fee])
}

/// Whether money is more than each of these amounts, or in another currency.
fn is_beyond(received: Amount, known: &[Amount]) -> bool {
    received.minor() > 0 && !known.iter().any(|amount| received <= *amount)
}

/// The provider has an attempt that counted as not sent, or that a person called failed. It may
/// move money yet, so nothing starts.
pub(super) fn found_after_all(
    tx: &Transaction,
    attempt: &Attempt,
    provider_id: Option<String>,
    context: &Context,
) -> Vec<Event> {
    if tx.state == State::Succeeded || answer::money_was_reported(tx, attempt) {
        return Vec::new();
    }
    let evidence = Evidence {
        reason: CaseReason::FoundAfterNotSent,
        detail: format!(
            "the provider has an attempt that counted as {}, and may move money for it",
            match attempt.state {
                AttemptState::NotSent => "not sent",
                _ => "failed by an operator's order",
            }
        ),
        amount: None,
        before: None,
        is_clearing: false,
        provider_id,
    };
    let opened = cases::open(tx, attempt, evidence, context);
    let waits = matches!(tx.state, State::AwaitingCustomer | State::AwaitingDispatch);
    let held = (waits && opened.is_some()).then_some(Event::Held);
    opened.into_iter().chain(held).collect()
}

/// A success was taken back.
fn contradicted(
    tx: &Transaction,
    attempt: &Attempt,
    decline: &Decline,
    context: &Context,
) -> Vec<Event> {
    if attempt.charges.is_empty() {
        return Vec::new();
    }
    let detail = format!(
        "the provider now says that it declined: {}",
        decline.reason.as_str()
    );
    let evidence = Evidence {
        provider_id: decline.provider_id.clone(),
        ..Evidence::without_money(CaseReason::SuccessContradicted, detail)
    };
    cases::open(tx, attempt, evidence, context)
        .into_iter()
        .collect()
}

/// A second success of an attempt that has succeeded: a repetition, or another charge.
fn contradicting(
    tx: &Transaction,
    attempt: &Attempt,
    success: &Success,
    names_amount: bool,
    context: &Context,
) -> Vec<Event> {
    let id = success.provider_id.as_deref();
    let is_decided = |charge: &Charge| charge.was_decided(id, success.captured);
    if attempt.charges.iter().any(is_decided) {
        return Vec::new();
    }
    let recorded: Vec<_> = attempt
        .charges
        .iter()
        .filter(|one| one.is_recorded)
        .collect();
    // The charge under exactly this id comes before a recorded one without an id.
    let exact = |one: &&Charge| id.is_some() && one.id.as_deref() == id;
    let other_id = match attempt.charges.iter().find(exact) {
        _ if recorded.is_empty() => false,
        Some(own) => !own.is_recorded,
        None => recorded.iter().all(|one| !one.is_under(id)),
    };
    let is_expected = match (recorded.as_slice(), id) {
        // A person recorded the total of several charges.
        ([_, _, ..], Some(_)) => recorded
            .iter()
            .any(|one| one.is_under(id) && one.amount == success.captured),
        ([_, _, ..], None) => {
            let mut sums = recorded.iter().map(|one| one.amount);
            attempt.captured == success.captured || sums.any(|sum| sum == success.captured)
        }
        _ => attempt.captured == success.captured,
    };
    let other_amount = names_amount && !is_expected;
    if !(other_id || other_amount) {
        return Vec::new();
    }
    let recorded = attempt.captured.unwrap_or(attempt.amount);
    let id = |id: &Option<String>| id.clone().unwrap_or_else(|| "no id".to_owned());
    let detail = format!(
        "recorded {} under {}, the provider now reports {} under {}",
        recorded.format(),
        id(&attempt.provider_id),
        success.sum(),
        id(&success.provider_id)
    );
    let evidence = Evidence::of(CaseReason::ContradictingSuccess, success, detail);
    cases::open(tx, attempt, evidence, context)
        .into_iter()
        .collect()
}

/// Money for an attempt that had ended without any.
///
/// `enough`: the amount, if it settles the attempt.
fn money(
    tx: &Transaction,
    attempt: &Attempt,
    success: Success,
    enough: Option<Amount>,
    context: &Context,
) -> Vec<Event> {
    match &tx.state {
        State::Succeeded if tx.is_paid_beside(attempt, success.provider_id.as_deref()) => {
            case(tx, attempt, CaseReason::PaidTwice, &success, context)
        }
        State::Succeeded | State::Failed(_) | State::Cancelled => {
            case(tx, attempt, CaseReason::MoneyAfterTheEnd, &success, context)
        }
        State::AwaitingGateway | State::AwaitingProvider | State::InDoubt => {
            let mut events = match enough {
                Some(_) => case(tx, attempt, CaseReason::MoneyAfterTheEnd, &success, context),
                None => differs(tx, attempt, &success, context),
            };
            if let Some(open) = tx.current_attempt().filter(|_| !events.is_empty()) {
                events.extend(cancel::superseded(open, context));
            }
            events
        }
        State::AwaitingCustomer | State::AwaitingDispatch | State::OnHold => match enough {
            // Money that was taken back may be reported once more: a person decides.
            Some(_) if tx.state == State::OnHold && tx.was_taken_back(attempt) => {
                case(tx, attempt, CaseReason::MoneyAfterTheEnd, &success, context)
            }
            Some(captured) => {
                let mut events = case(tx, attempt, CaseReason::LateSuccess, &success, context);
                events.extend(success::settle(tx, attempt, success, captured, context));
                events
            }
            None => {
                let mut events = differs(tx, attempt, &success, context);
                events.extend((tx.state != State::OnHold).then_some(Event::Held));
                events
            }
        },
    }
}

fn differs(
    tx: &Transaction,
    attempt: &Attempt,
    success: &Success,
    context: &Context,
) -> Vec<Event> {
    let evidence = Evidence::amount_differs(attempt, success);
    cases::open(tx, attempt, evidence, context)
        .into_iter()
        .collect()
}

fn case(
    tx: &Transaction,
    attempt: &Attempt,
    reason: CaseReason,
    success: &Success,
    context: &Context,
) -> Vec<Event> {
    let ended = match attempt.state {
        AttemptState::NotSent => "counted as not sent",
        _ => "counted as declined",
    };
    let detail = format!(
        "the provider reports {} for an attempt that {ended}, of a transaction that is {}",
        success.sum(),
        tx.status().as_str()
    );
    let evidence = Evidence::of(reason, success, detail);
    cases::open(tx, attempt, evidence, context)
        .into_iter()
        .collect()
}
