//! A gateway came back. Open attempts move on; news about closed ones changes nothing, and opens a case when it contradicts.

use super::{Try, start};
use crate::ids::AttemptId;
use crate::money::Amount;
use crate::transaction::attempt::{Attempt, AttemptState, Decision};
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
                return Ok(amount_differs(tx, attempt, captured, context));
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
        Outcome::Unknown { why } => in_doubt(attempt, why, gateway_state, context),
    })
}

/// The provider has it, and has not finished. The same word again is not written again.
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
    if unchanged {
        return Vec::new();
    }
    let planned = attempt.next_query_at.unwrap_or_else(|| {
        context
            .now
            .plus(schedule::wait_after(attempt.queries, age(attempt, context)))
    });
    vec![Event::AttemptPending {
        attempt: attempt.id,
        provider_id,
        provider_status,
        payer_action,
        gateway_state,
        next_query_at: poll_after.map_or(planned, |after| context.now.plus(after)),
    }]
}

/// The attempt's outcome is not known. Doubt that is already on the timeline is not written again.
pub(super) fn in_doubt(
    attempt: &Attempt,
    why: String,
    gateway_state: Option<serde_json::Value>,
    context: &Context,
) -> Vec<Event> {
    // A query that failed tells nothing new of an attempt that the provider has.
    if attempt.state != AttemptState::Started {
        return Vec::new();
    }
    let wait = schedule::wait_after(attempt.queries, age(attempt, context));
    let next_query_at = context.now.plus(wait);
    vec![Event::AttemptInDoubt {
        attempt: attempt.id,
        why,
        gateway_state,
        next_query_at,
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
    let decline = Decline {
        reason: DeclineReason::ProviderUnavailable,
        retryable: true,
        provider_id: None,
        provider_code: None,
        provider_message: None,
    };
    let ended = Event::AttemptNotSent {
        attempt: attempt.id,
        why,
    };
    next_or_fail(tx, attempt, ended, &decline, context)
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
    next_or_fail(tx, attempt, ended, &decline, context)
}

/// After an attempt that surely moved no money: the next candidate, else the payer's next attempt, else the end.
fn next_or_fail(
    tx: &Transaction,
    attempt: &Attempt,
    ended: Event,
    decline: &Decline,
    context: &Context,
) -> Vec<Event> {
    if decline.retryable {
        let what = Try {
            follows: Some(attempt.id),
            method: attempt.method.clone(),
            country: attempt.country.clone(),
            phone: attempt.phone.clone(),
            fields: attempt.fields.clone(),
        };
        let decision = Decision {
            chosen_because: format!("{} could not take it", attempt.candidate.gateway),
            skipped: attempt.decision.skipped.clone(),
        };
        if let Some(started) = start(tx, what, attempt.remaining.clone(), decision, context) {
            return vec![ended, started];
        }
    }
    if may_try_again(tx, context) {
        return vec![ended, Event::AttemptAllowed];
    }
    let message = match (&ended, &decline.provider_message) {
        (Event::AttemptNotSent { why, .. }, _) => {
            format!("The payment provider could not be reached; nothing was sent. {why}")
        }
        (_, Some(message)) => message.clone(),
        (_, None) => format!(
            "The provider declined: {}.",
            decline.reason.as_str().replace('_', " ")
        ),
    };
    vec![
        ended,
        Event::Failed {
            failure: Failure {
                reason: decline.reason,
                message,
            },
        },
    ]
}

/// Whether the payer has an attempt left. Fail-over inside one confirmation is not an attempt of theirs.
fn may_try_again(tx: &Transaction, context: &Context) -> bool {
    let Some(payment) = tx.payment() else {
        return false;
    };
    let used = tx
        .attempts
        .iter()
        .filter(|attempt| attempt.follows.is_none())
        .count();
    used < usize::from(payment.attempts_allowed) && context.now < payment.expires_at
}

/// How long the attempt has been under way.
fn age(attempt: &Attempt, context: &Context) -> std::time::Duration {
    context.now.since(attempt.started_at)
}

fn covers(captured: Amount, asked: Amount) -> bool {
    captured.currency() == asked.currency() && captured.minor() >= asked.minor()
}

/// Whether the provider has already said that some money moved. Then nothing but a person, or the right amount, ends the attempt.
fn money_was_reported(tx: &Transaction, attempt: &Attempt) -> bool {
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
    context: &Context,
) -> Vec<Event> {
    let detail = format!(
        "asked {}, the provider reports {}",
        attempt.amount.format(),
        captured.format()
    );
    let mut events = in_doubt(attempt, detail.clone(), None, context);
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
        },
    })
}
