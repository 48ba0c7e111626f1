//! A gateway came back. Open attempts move on; news about closed ones changes nothing, and opens a case when it contradicts.

use super::onward;
use super::recover::RESUMES;
use crate::ids::AttemptId;
use crate::limits::ATTEMPTS_PER_PAYMENT;
use crate::money::Amount;
use crate::planted::{Fault, is_planted};
use crate::transaction::attempt::{Attempt, AttemptState};
use crate::transaction::command::{Context, Refusal};
use crate::transaction::event::Event;
use crate::transaction::model::{Case, CaseReason, Transaction};
use crate::transaction::outcome::{Decline, DeclineReason, Outcome};
use crate::transaction::schedule;
use crate::transaction::state::Failure;

pub(super) fn decide(
    tx: &Transaction,
    attempt: AttemptId,
    outcome: Outcome,
    gateway_state: Option<serde_json::Value>,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let attempt = tx
        .attempt(attempt)
        .ok_or(Refusal::UnknownAttempt(attempt))?;
    // An ended transaction, or an attempt that another one has followed: nothing moves any more.
    if tx.state.is_final() || !attempt.state.is_open() {
        return Ok(late_news(tx, attempt, &outcome, context));
    }
    Ok(match outcome {
        Outcome::Succeeded {
            provider_id,
            amount,
            fees,
            provider_status,
        } => {
            let captured = amount.unwrap_or(attempt.amount);
            if !covers(captured, attempt.amount) {
                return Ok(amount_differs(tx, attempt, captured, provider_id, context));
            }
            vec![
                Event::AttemptSucceeded {
                    attempt: attempt.id,
                    provider_id,
                    provider_status,
                    captured,
                    fees,
                },
                Event::Succeeded,
            ]
        }
        Outcome::Declined(decline) => declined(tx, attempt, decline, context),
        Outcome::NotSent { why } => not_sent(tx, attempt, why, context),
        pending @ Outcome::Pending { .. } => {
            still_pending(attempt, pending, gateway_state, context)
        }
        Outcome::Unknown { why } => {
            let doubt = Doubt {
                why,
                gateway_state,
                cut_off: false,
            };
            in_doubt(attempt, doubt, context)
        }
    })
}

/// The provider has it, and has not finished. The same word again is not written again; when to ask the next time is, if it differs.
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
    } = outcome
    else {
        return Vec::new();
    };
    let unchanged = attempt.state == AttemptState::Pending
        && (provider_id.is_none() || provider_id == attempt.provider_id)
        && (payer_action.is_none() || payer_action == attempt.payer_action)
        && (provider_status.is_none() || provider_status == attempt.provider_status)
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
    }]
}

/// Why nobody knows the outcome of an attempt.
pub(super) struct Doubt {
    pub why: String,
    pub gateway_state: Option<serde_json::Value>,
    /// The engine stopped while the submission was away.
    pub cut_off: bool,
}

/// The attempt's outcome is not known. Doubt that is already on the timeline is not written again.
pub(super) fn in_doubt(attempt: &Attempt, doubt: Doubt, context: &Context) -> Vec<Event> {
    // A query that failed tells nothing new of an attempt that the provider has.
    if attempt.state != AttemptState::Started {
        return Vec::new();
    }
    let wait = schedule::wait_after(attempt.queries, age(attempt, context));
    let next_query_at = context.now.plus(wait);
    vec![Event::AttemptInDoubt {
        attempt: attempt.id,
        why: doubt.why,
        gateway_state: doubt.gateway_state,
        next_query_at,
        cut_off: doubt.cut_off,
    }]
}

/// Nothing has left, or the provider said for good that it does not know the reference: the next candidate may try, inside the same
/// transaction.
pub(super) fn not_sent(
    tx: &Transaction,
    attempt: &Attempt,
    why: String,
    context: &Context,
) -> Vec<Event> {
    // A provider that took it and later does not know it contradicts itself. That proves nothing: it is asked again.
    if attempt.state == AttemptState::Pending || money_was_reported(tx, attempt) {
        return Vec::new();
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

/// What a merchant is told, whatever the reason.
const UNSENT: &str = "The payment provider could not be reached; nothing was sent.";

fn unreachable(retryable: bool) -> Decline {
    Decline {
        reason: DeclineReason::ProviderUnavailable,
        retryable,
        provider_id: None,
        provider_code: None,
        provider_message: None,
    }
}

fn declined(
    tx: &Transaction,
    attempt: &Attempt,
    decline: Decline,
    context: &Context,
) -> Vec<Event> {
    if money_was_reported(tx, attempt) {
        let detail = format!("then it reports a decline: {}", decline.reason.as_str());
        let case = open_case(
            tx,
            attempt,
            CaseReason::SuccessContradicted,
            detail,
            context,
        );
        return case.into_iter().collect();
    }
    let ended = Event::AttemptDeclined {
        attempt: attempt.id,
        decline: decline.clone(),
    };
    next_or_end(tx, attempt, ended, &decline, context)
}

/// After an attempt that surely moved no money: the next candidate, else another chance, else the end.
pub(super) fn next_or_end(
    tx: &Transaction,
    attempt: &Attempt,
    ended: Event,
    decline: &Decline,
    context: &Context,
) -> Vec<Event> {
    // Somebody wanted this: the payment was called off, and now it is sure that it moved no money.
    if let Some(wish) = attempt.call_off {
        return vec![ended, Event::Cancelled { by: wish.by }];
    }
    let unsent = matches!(ended, Event::AttemptNotSent { .. });
    let mut stepped_over = None;
    if decline.retryable && may_start(tx, context) {
        let is_cut_off = unsent && attempt.cut_off && attempt.resumed < RESUMES;
        match onward::next(attempt, is_cut_off, context) {
            Ok(started) => return vec![ended, started],
            Err(skipped) => {
                stepped_over = (!skipped.is_empty()).then_some(Event::SteppedOver { skipped });
            }
        }
    }
    let last = end_of_round(tx, attempt, &ended, decline, context);
    std::iter::once(ended)
        .chain(stepped_over)
        .chain(std::iter::once(last))
        .collect()
}

/// Nothing more can be tried by itself: another chance, else the end.
fn end_of_round(
    tx: &Transaction,
    attempt: &Attempt,
    ended: &Event,
    decline: &Decline,
    context: &Context,
) -> Event {
    let unsent = matches!(ended, Event::AttemptNotSent { .. });
    if may_choose_again(tx, attempt, unsent, context) {
        return Event::AttemptAllowed;
    }
    // Nothing was sent, so waiting costs nothing, and a provider that cannot be reached now may be back in a minute.
    let patient = context.now.since(tx.created_at) < schedule::DISPATCH_PATIENCE;
    if unsent && decline.retryable && patient && !tx.is_payment() {
        return Event::AttemptAllowed;
    }
    let message = match (ended, &decline.provider_message) {
        // Why is for operators, who read it on the timeline: it may name hosts, files and settings of theirs.
        (Event::AttemptNotSent { .. }, _) => UNSENT.to_owned(),
        (_, Some(message)) => message.clone(),
        (_, None) => format!(
            "The provider declined: {}.",
            decline.reason.as_str().replace('_', " ")
        ),
    };
    Event::Failed {
        failure: Failure {
            reason: decline.reason,
            message,
        },
    }
}

/// Whether something may be submitted without asking the payer again. They have long gone when their time is up, and would be
/// surprised by a prompt on their phone.
pub(super) fn may_start(tx: &Transaction, context: &Context) -> bool {
    tx.payment()
        .is_none_or(|payment| context.now < payment.expires_at)
}

/// Whether the payer chooses again. What reached no provider is no attempt of theirs: the payment is as payable as before, by another
/// method or by the same one a little later, until its time is up, which lets it go as any other that nobody paid.
fn may_choose_again(tx: &Transaction, attempt: &Attempt, unsent: bool, context: &Context) -> bool {
    let Some(payment) = tx.payment() else {
        return false;
    };
    if tx.attempts.len() >= ATTEMPTS_PER_PAYMENT {
        return false;
    }
    let declining = (!unsent).then_some(attempt.id);
    tx.attempts_left_after(declining) > 0 && (unsent || context.now < payment.expires_at)
}

/// How long the attempt has been under way.
fn age(attempt: &Attempt, context: &Context) -> std::time::Duration {
    context.now.since(attempt.started_at)
}

pub(super) fn covers(captured: Amount, asked: Amount) -> bool {
    let is_enough = captured.minor() >= asked.minor() || is_planted(Fault::LessIsEnough);
    captured.currency() == asked.currency() && is_enough
}

/// Whether the provider has already said that some money moved. Then nothing but a person, or the right amount, ends the attempt.
pub(super) fn money_was_reported(tx: &Transaction, attempt: &Attempt) -> bool {
    let differs = |case: &&Case| case.reason == CaseReason::AmountDiffers;
    tx.cases
        .iter()
        .filter(differs)
        .any(|case| case.reference == attempt.reference)
}

/// Less came in than was asked, or other money: not a success, and not a failure either. A person has to look.
fn amount_differs(
    tx: &Transaction,
    attempt: &Attempt,
    captured: Amount,
    provider_id: Option<String>,
    context: &Context,
) -> Vec<Event> {
    let under = provider_id.map_or_else(String::new, |id| format!(" under its id {id}"));
    let detail = format!(
        "asked {}, the provider reports {}{under}",
        attempt.amount.format(),
        captured.format()
    );
    let doubt = Doubt {
        why: detail.clone(),
        gateway_state: None,
        cut_off: false,
    };
    let mut events = in_doubt(attempt, doubt, context);
    events.extend(open_case(
        tx,
        attempt,
        CaseReason::AmountDiffers,
        detail,
        context,
    ));
    events
}

/// News about something that has ended. A repetition is silent; a contradiction opens a case, once.
fn late_news(
    tx: &Transaction,
    attempt: &Attempt,
    outcome: &Outcome,
    context: &Context,
) -> Vec<Event> {
    match outcome {
        Outcome::Succeeded { amount, .. } if attempt.state != AttemptState::Succeeded => {
            let came = amount.unwrap_or(attempt.amount).format();
            let detail = format!(
                "the provider reports {came} for an attempt of a transaction that is {}",
                tx.status().as_str()
            );
            open_case(tx, attempt, CaseReason::MoneyAfterTheEnd, detail, context)
                .into_iter()
                .collect()
        }
        Outcome::Declined(decline) if attempt.state == AttemptState::Succeeded => {
            let detail = format!(
                "the provider now says that it declined: {}",
                decline.reason.as_str()
            );
            open_case(
                tx,
                attempt,
                CaseReason::SuccessContradicted,
                detail,
                context,
            )
            .into_iter()
            .collect()
        }
        _ => Vec::new(),
    }
}

/// Opens a case about `attempt`, unless one for the same reason is open already.
pub(super) fn open_case(
    tx: &Transaction,
    attempt: &Attempt,
    reason: CaseReason,
    detail: String,
    context: &Context,
) -> Option<Event> {
    let known = tx
        .cases
        .iter()
        .any(|case| case.reference == attempt.reference && case.reason == reason);
    (!known).then_some(Event::CaseOpened {
        case: Case {
            id: context.case,
            opened_at: context.now,
            reason,
            reference: attempt.reference,
            detail,
            closed: None,
        },
    })
}
