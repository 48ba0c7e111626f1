//! A gateway came back about an open attempt: the attempt moves on. Reports about ended attempts
//! are decided in [`super::late`].

use super::cases::{self, Evidence};
use super::end::{next_or_end, unreachable};
use super::success::{self, Success};
use super::{ask, cancel, identify, late};
use crate::ids::AttemptId;
use crate::money::Amount;
use crate::transaction::attempt::{Attempt, AttemptState};
use crate::transaction::charges::{self, Charge, MoneyReport};
use crate::transaction::command::{Context, Refusal};
use crate::transaction::event::Event;
use crate::transaction::model::{Case, CaseReason, Transaction};
use crate::transaction::outcome::{Decline, DeclineReason, Outcome};
use crate::transaction::schedule;

/// Answer of a gateway about one attempt.
pub(super) struct Answer {
    pub attempt: AttemptId,
    pub outcome: Outcome,
    pub gateway_state: Option<serde_json::Value>,
    /// When the query that brought the outcome began, or the call-off that brought a decline.
    /// `None`: it was neither.
    pub asked_at: Option<crate::time::Timestamp>,
}

pub(super) fn decide(
    tx: &Transaction,
    answer: Answer,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let attempt = tx
        .attempt(answer.attempt)
        .ok_or(Refusal::UnknownAttempt(answer.attempt))?;
    // The provider knows references only, and a later attempt may have this one now.
    let is_by_reference = matches!(
        answer.outcome,
        Outcome::Succeeded { .. } | Outcome::Pending { .. }
    );
    let attempt = match is_by_reference {
        true => tx.latest_with(attempt.reference).unwrap_or(attempt),
        false => attempt,
    };
    if is_overtaken(attempt, &answer) {
        return Ok(ask::once_more(tx, attempt, context));
    }
    let answer = Answer {
        outcome: charges::named(attempt, answer.outcome, answer.asked_at),
        ..answer
    };
    let report = MoneyReport::of(attempt, &answer.outcome);
    let id = answer.outcome.provider_id().map(str::to_owned);
    let events = decide_named(tx, attempt, answer, context);
    let tells_of_money = |event: &Event| match event {
        Event::AttemptSucceeded { attempt: id, .. } => *id == attempt.id,
        Event::AttemptPending {
            attempt: id,
            received,
            ..
        } => *id == attempt.id && received.is_some(),
        _ => false,
    };
    let is_told = events.iter().any(tells_of_money);
    let news = report.filter(|report| !is_told && report.is_news(attempt));
    let reported = news.map(|report| Event::MoneyReported {
        attempt: attempt.id,
        report,
    });
    let mut events: Vec<Event> = reported.into_iter().chain(events).collect();
    if events.is_empty() {
        events.extend(id.and_then(|id| identify::identified(tx, attempt, id)));
    }
    Ok(events)
}

/// Whether it is a decline of a call that began before the latest report of money: it says nothing
/// about that money.
fn is_overtaken(attempt: &Attempt, answer: &Answer) -> bool {
    let is_older = |asked| Some(asked) < attempt.money_reported_at;
    matches!(answer.outcome, Outcome::Declined(_)) && answer.asked_at.is_some_and(is_older)
}

fn decide_named(
    tx: &Transaction,
    attempt: &Attempt,
    answer: Answer,
    context: &Context,
) -> Vec<Event> {
    // An ended transaction, or an attempt that another one has followed: nothing moves any more.
    if tx.state.is_final() || !attempt.state.is_open() {
        return late::decide(tx, attempt, answer.outcome, context);
    }
    let has_ended = has_reached_its_end(attempt, &answer);
    match answer.outcome {
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
            match success.enough_for(attempt) {
                Some(captured) => success::settle(tx, attempt, success, captured, context),
                None => amount_differs(tx, attempt, &success, answer.gateway_state, context),
            }
        }
        Outcome::Declined(decline) => declined(tx, attempt, decline, context),
        Outcome::NotSent { .. }
            if has_ended && attempt.was_seen() && !money_was_reported(tx, attempt) =>
        {
            declined(tx, attempt, expired(), context)
        }
        Outcome::NotSent { why } => not_sent(tx, attempt, why, context),
        Outcome::Pending { received, .. }
            if has_ended && !is_money(received) && !money_was_reported(tx, attempt) =>
        {
            declined(tx, attempt, expired(), context)
        }
        mut pending @ Outcome::Pending { .. } => {
            let called_off = cancel::of_unusable_page(tx, attempt, &mut pending, context);
            // Money that is reported again after a reversal needs a case at once. A case about a
            // sum takes in another one.
            let names_money = matches!(&pending,
                Outcome::Pending { received, .. } if is_money(*received));
            let has_case = names_money && has_case_about_sum(tx, attempt);
            let part = (has_ended || has_case || tx.is_taken_back(attempt))
                .then(|| too_little(tx, attempt, &pending, context))
                .flatten();
            let mut events = still_pending(attempt, pending, answer.gateway_state, context);
            events.extend(part);
            events.extend(called_off);
            events.extend(cancel::of_held(tx, attempt, context));
            events
        }
        Outcome::Unknown { why, poll_after } => {
            let doubt = UnknownReason {
                why,
                gateway_state: answer.gateway_state,
                cut_off: false,
                poll_after,
            };
            let mut events = in_doubt(attempt, doubt, context);
            events.extend(cancel::of_held(tx, attempt, context));
            events
        }
    }
}

/// Whether a query that began after the attempt's own end found it pending. No money can move any
/// more then, by the gateway's manifest. An attempt with reported money waits for a person.
fn has_reached_its_end(attempt: &Attempt, answer: &Answer) -> bool {
    let asked_after = |end| answer.asked_at.is_some_and(|asked| asked >= end);
    attempt.ends_at().is_some_and(asked_after)
}

pub(super) fn is_money(received: Option<Amount>) -> bool {
    received.is_some_and(|received| received.minor() > 0)
}

fn has_case_about_sum(tx: &Transaction, attempt: &Attempt) -> bool {
    let is_about_sum = |case: &Case| case.reason == CaseReason::AmountDiffers;
    let mut cases = tx.cases.iter().filter(|case| is_about_sum(case));
    cases.any(|case| case.reference == attempt.reference)
}

/// Opens the case about the part that was received for an attempt that has reached its end.
fn too_little(
    tx: &Transaction,
    attempt: &Attempt,
    pending: &Outcome,
    context: &Context,
) -> Option<Event> {
    let Outcome::Pending {
        provider_id,
        received,
        ..
    } = pending
    else {
        return None;
    };
    // After a reversal only a report that names money brings some.
    let is_taken_back = tx.is_taken_back(attempt);
    let is_of = |part: Amount, is_taken_back: bool| {
        let mut charges = attempt.charges.iter();
        charges.any(|one| one.is_taken_back == is_taken_back && one.amount == Some(part))
    };
    let is_gone = |part: Amount| is_taken_back || (is_of(part, true) && !is_of(part, false));
    let earlier = attempt.received.filter(|part| !is_gone(*part));
    let mut after = attempt.clone();
    after.provider_id = provider_id.clone().or(after.provider_id);
    if let Some(received) = *received {
        charges::apply_pending(&mut after, received);
    }
    let id_of = |part: Amount| {
        let is_it = |one: &&Charge| !one.is_taken_back && one.amount == Some(part);
        let charge = after.charges.iter().rev().find(is_it);
        charge.and_then(|charge| charge.id.clone())
    };
    // A report that names no sum is about the charge of its id, beside others.
    let is_its = |one: &&Charge| provider_id.is_some() && one.id == *provider_id;
    let mut standing = attempt.charges.iter().filter(|one| !one.is_taken_back);
    let its = standing.find(is_its).filter(|one| one.amount.is_some());
    let (part, id) = match (*received, its, earlier) {
        (Some(part), ..) if part.minor() > 0 => {
            let id = provider_id.clone().or_else(|| id_of(part));
            (Some(part), id)
        }
        (None, Some(charge), _) => (charge.amount, charge.id.clone()),
        (None, None, Some(part)) if part.minor() > 0 => (Some(part), id_of(part)),
        _ => {
            let standing = after.standing_charge()?;
            (standing.amount, standing.id.clone())
        }
    };
    // All of it came, and its confirmation is late: no amount differs.
    let is_all = part.is_some_and(|part| success::covers(part, attempt.amount));
    if is_all && !is_taken_back && tx.reported(attempt, None).is_none() {
        return None;
    }
    part_received(tx, attempt, part, id, context)
}

/// Opens the case about the `part` of the money that was received. `None`: one names as much.
pub(super) fn part_received(
    tx: &Transaction,
    attempt: &Attempt,
    part: Option<Amount>,
    provider_id: Option<String>,
    context: &Context,
) -> Option<Event> {
    let part = part.filter(|part| is_money(Some(*part)))?;
    let provider_id = provider_id.or_else(|| attempt.provider_id.clone());
    let known = tx.reported(attempt, provider_id.as_deref());
    if known.is_some_and(|known| known >= part) {
        return None;
    }
    let success = Success::of(attempt, provider_id, Some(part));
    if is_known_contradiction(tx, attempt, &success) {
        return None;
    }
    let evidence = Evidence::amount_differs(attempt, &success);
    cases::open(tx, attempt, evidence, context)
}

fn expired() -> Decline {
    Decline {
        reason: DeclineReason::Expired,
        retryable: false,
        provider_id: None,
        provider_code: None,
        provider_message: None,
        field: None,
    }
}

/// The provider has it, and has not finished. The same report again is not written again; when to
/// query the next time is, if it differs.
fn still_pending(
    attempt: &Attempt,
    outcome: Outcome,
    gateway_state: Option<serde_json::Value>,
    context: &Context,
) -> Vec<Event> {
    let Outcome::Pending {
        provider_id,
        payer_action,
        poll_after,
        provider_status,
        received,
    } = outcome
    else {
        return Vec::new();
    };
    // A query in progress is older than this report of money.
    let is_latest = is_money(received)
        && attempt
            .last_query_at
            .is_some_and(|asked| Some(asked) >= attempt.money_reported_at);
    let unchanged = attempt.state == AttemptState::Pending
        && !is_latest
        && (provider_id.as_deref()).is_none_or(|id| attempt.has_id(id))
        && (payer_action.is_none() || payer_action == attempt.payer_action)
        && (provider_status.is_none() || provider_status == attempt.provider_status)
        && (received.is_none()
            || received == attempt.received
            || charges::is_known_part(attempt, provider_id.as_deref(), received)
            || !(is_money(received) || is_money(attempt.received)))
        && gateway_state
            .as_ref()
            .is_none_or(|state| *state == attempt.gateway_state);
    let age = age(attempt, context);
    let wanted = poll_after.map(|after| context.now.plus(schedule::wait_as_wanted(after, age)));
    if unchanged {
        let planned = wanted.filter(|wanted| Some(*wanted) != attempt.next_query_at);
        let planned = planned.map(|next_query_at| Event::QueryPlanned {
            attempt: attempt.id,
            next_query_at,
        });
        return planned.into_iter().collect();
    }
    let planned = || {
        let wait = schedule::wait_after(attempt.queries, age);
        attempt.next_query_at.unwrap_or(context.now.plus(wait))
    };
    vec![Event::AttemptPending {
        attempt: attempt.id,
        provider_id,
        provider_status,
        payer_action,
        gateway_state,
        next_query_at: wanted.unwrap_or_else(planned),
        received,
    }]
}

/// Reason for which the outcome of an attempt is unknown.
pub(super) struct UnknownReason {
    pub why: String,
    pub gateway_state: Option<serde_json::Value>,
    /// The engine stopped while the submission was away.
    pub cut_off: bool,
    /// When a query will know more.
    pub poll_after: Option<std::time::Duration>,
}

/// Events of an unknown outcome. A reason that is on the timeline is not written again; another
/// state of the gateway is, and the time of the next query, if that is sooner than planned.
pub(super) fn in_doubt(attempt: &Attempt, doubt: UnknownReason, context: &Context) -> Vec<Event> {
    let sooner = doubt.poll_after.map(|after| context.now.plus(after));
    let is_started = attempt.state == AttemptState::Started;
    let planned = attempt.next_query_at.filter(|_| !is_started);
    let scheduled = planned.unwrap_or_else(|| {
        let wait = schedule::wait_after(attempt.queries, age(attempt, context));
        context.now.plus(wait)
    });
    let next_query_at = sooner.map_or(scheduled, |sooner| sooner.min(scheduled));
    let is_other = |state: &serde_json::Value| *state != attempt.gateway_state;
    let gateway_state = doubt.gateway_state.filter(is_other);
    // A failed query says nothing new about an attempt that the provider has.
    if !is_started && gateway_state.is_none() {
        let is_sooner = sooner.is_some() && planned != Some(next_query_at);
        let planned = is_sooner.then_some(Event::QueryPlanned {
            attempt: attempt.id,
            next_query_at,
        });
        return planned.into_iter().collect();
    }
    if attempt.state == AttemptState::Pending {
        return vec![Event::AttemptPending {
            attempt: attempt.id,
            provider_id: None,
            provider_status: None,
            payer_action: None,
            gateway_state,
            next_query_at,
            received: None,
        }];
    }
    vec![Event::AttemptInDoubt {
        attempt: attempt.id,
        why: doubt.why,
        gateway_state,
        next_query_at,
        // A query without a result does not end what a crash began.
        cut_off: doubt.cut_off || (!is_started && attempt.cut_off),
    }]
}

/// No request has left, or the final status from the provider is that it does not know the
/// reference: the next candidate may try, inside the same transaction.
pub(super) fn not_sent(
    tx: &Transaction,
    attempt: &Attempt,
    why: String,
    context: &Context,
) -> Vec<Event> {
    // A provider that took it and later does not know it contradicts itself. That proves nothing:
    // it is queried again.
    if attempt.was_seen() || money_was_reported(tx, attempt) {
        let doubt = UnknownReason {
            why: format!("{why} The provider named the attempt in a report."),
            gateway_state: None,
            cut_off: false,
            poll_after: None,
        };
        return match attempt.state {
            AttemptState::Started => in_doubt(attempt, doubt, context),
            _ => Vec::new(),
        };
    }
    let ended = Event::AttemptNotSent {
        attempt: attempt.id,
        why,
    };
    next_or_end(tx, attempt, ended, &unreachable(true), context)
}

/// The same by a person's word: it ends the attempt, and starts nothing.
pub(super) fn never_sent(tx: &Transaction, attempt: &Attempt, context: &Context) -> Vec<Event> {
    let ended = Event::AttemptNotSent {
        attempt: attempt.id,
        why: "It never reached the provider.".to_owned(),
    };
    next_or_end(tx, attempt, ended, &unreachable(false), context)
}

fn declined(
    tx: &Transaction,
    attempt: &Attempt,
    decline: Decline,
    context: &Context,
) -> Vec<Event> {
    if money_was_reported(tx, attempt) {
        let detail = format!("then it reports a decline: {}", decline.reason.as_str());
        let evidence = Evidence {
            provider_id: decline.provider_id,
            ..Evidence::without_money(CaseReason::SuccessContradicted, detail)
        };
        return cases::open(tx, attempt, evidence, context)
            .into_iter()
            .collect();
    }
    let ended = Event::AttemptDeclined {
        attempt: attempt.id,
        decline: decline.clone(),
    };
    next_or_end(tx, attempt, ended, &decline, context)
}

/// How long the attempt has been in progress.
fn age(attempt: &Attempt, context: &Context) -> std::time::Duration {
    context.now.since(attempt.started_at)
}

/// Whether the provider has reported that some money moved. Then only a person, or the right
/// amount, ends the attempt.
pub(super) fn money_was_reported(tx: &Transaction, attempt: &Attempt) -> bool {
    let holds = |case: &&Case| case.reason.holds() && case.reason.reports_money();
    let mut cases = tx.cases.iter().filter(holds);
    attempt.has_money() || cases.any(|case| case.reference == attempt.reference)
}

/// Less was received than was asked, another currency or an unknown amount: neither a success nor a
/// failure. It needs manual review.
fn amount_differs(
    tx: &Transaction,
    attempt: &Attempt,
    success: &Success,
    gateway_state: Option<serde_json::Value>,
    context: &Context,
) -> Vec<Event> {
    let evidence = Evidence::amount_differs(attempt, success);
    let doubt = UnknownReason {
        why: evidence.detail.clone(),
        gateway_state,
        cut_off: false,
        poll_after: None,
    };
    let mut events = in_doubt(attempt, doubt, context);
    if !is_known_contradiction(tx, attempt, success) {
        events.extend(cases::open(tx, attempt, evidence, context));
    }
    events
}

/// Whether a report of the amount that contradicts a charge is delivered again. Its case names
/// both.
fn is_known_contradiction(tx: &Transaction, attempt: &Attempt, success: &Success) -> bool {
    let id = success.provider_id.as_deref();
    let mut charges = attempt.charges.iter().filter(|charge| charge.is_under(id));
    let is_it = |charge: &Charge| {
        let contradicts = |amount| charge.is_contradicted_by(amount);
        !charge.is_taken_back && success.captured.is_some_and(contradicts)
    };
    charges.any(is_it) && has_case_about_sum(tx, attempt)
}
