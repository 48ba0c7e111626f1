//! An attempt ended without money: the next candidate, another choice, or the end of the
//! transaction.

use super::failover;
use super::recover::RESUMES;
use super::restored;
use super::success::{self, Success, covers};
use crate::ids::AttemptId;
use crate::limits::ATTEMPTS_PER_PAYMENT;
use crate::transaction::attempt::{AfterCallOff, Attempt};
use crate::transaction::charges::Charge;
use crate::transaction::command::Context;
use crate::transaction::event::Event;
use crate::transaction::kind::Kind;
use crate::transaction::model::{Case, CaseReason, Transaction};
use crate::transaction::outcome::{Decline, DeclineReason};
use crate::transaction::state::Failure;

/// Message for merchants, whatever the reason.
pub(super) const UNSENT: &str = "The payment provider could not be reached; nothing was sent.";

pub(super) fn unreachable(retryable: bool) -> Decline {
    Decline {
        reason: DeclineReason::ProviderUnavailable,
        retryable,
        provider_id: None,
        provider_code: None,
        provider_message: None,
        field: None,
    }
}

/// Next step after an attempt that surely moved no money: the settlement of money that was reported
/// for another attempt and not taken back, else the next candidate, else another choice, else the
/// end.
pub(super) fn next_or_end(
    tx: &Transaction,
    attempt: &Attempt,
    ended: Event,
    decline: &Decline,
    context: &Context,
) -> Vec<Event> {
    if let Some(events) = settle_held(tx, attempt.id, context) {
        return std::iter::once(ended).chain(events).collect();
    }
    let unsent = matches!(ended, Event::AttemptNotSent { .. });
    let is_cut_off = unsent && attempt.cut_off && attempt.resumed < RESUMES;
    let is_restored = attempt.presumed || !context.permit.unasked.is_empty();
    if is_restored || (context.permit.is_held && attempt.call_off.is_none()) {
        let is_able = || failover::next(attempt, is_cut_off, context).is_ok();
        let is_next = match is_restored {
            // The lost engine may have started it at a connection that is switched off now.
            true => is_cut_off || !attempt.remaining.is_empty(),
            false => may_start(tx, context) && is_able(),
        };
        let would_start = decline.retryable && is_next;
        let last = |ended: &Event| end_of_round(tx, attempt, ended, decline, context);
        return restored::after(tx, attempt, ended, would_start, last, context);
    }
    let by_person = attempt.settled.is_some();
    if let Some(request) = attempt.call_off {
        let next = match request.then {
            AfterCallOff::Cancel => Event::Cancelled { by: request.by },
            AfterCallOff::ChooseAgain
                if tx.attempts.len() < ATTEMPTS_PER_PAYMENT && (unsent || !by_person) =>
            {
                Event::AttemptAllowed
            }
            AfterCallOff::ChooseAgain => failed(&ended, decline),
        };
        return vec![ended, next];
    }
    let mut stepped_over = None;
    if decline.retryable && may_start(tx, context) {
        match failover::next(attempt, is_cut_off, context) {
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

/// Next step of a held transaction whose attempt `ended` moved no money: money for an earlier
/// attempt settles it if it is enough, otherwise a person does. `None`: no money holds it.
pub(super) fn settle_held(
    tx: &Transaction,
    ended: AttemptId,
    context: &Context,
) -> Option<Vec<Event>> {
    let mut held = None;
    let mut judged = Vec::new();
    // A person closes the case about money that they settled, and the transaction goes on only to
    // have other connections queried.
    let holds = |case: &&Case| case.reason.holds() && case.closed.is_none();
    for case in tx.cases.iter().rev().filter(holds) {
        let is_ambiguous = case.reason == CaseReason::AmbiguousProviderId;
        // A success under a shared id may have been meant for the very attempt that ended.
        let is_in_question =
            |attempt: &&Attempt| attempt.id != ended || (is_ambiguous && attempt.settled.is_none());
        let Some(attempt) = tx.attempt_of(case).filter(is_in_question) else {
            continue;
        };
        if is_ambiguous {
            held = Some(vec![Event::Held]);
            continue;
        }
        // Only the latest report about an attempt counts.
        if judged.contains(&case.reference) {
            continue;
        }
        judged.push(case.reference);
        let was_taken_back = tx.was_taken_back(attempt);
        let id = case.provider_id.as_deref();
        let charge = attempt
            .charges
            .iter()
            .find(|charge| charge.id.as_deref() == id);
        let enough = charge
            .and_then(Charge::certain_amount)
            .filter(|amount| covers(*amount, attempt.amount) && !was_taken_back);
        if let Some(captured) = enough {
            let success = Success::of(attempt, case.provider_id.clone(), Some(captured));
            return Some(success::settle(tx, attempt, success, captured, context));
        }
        held = Some(vec![Event::Held]);
    }
    held
}

/// End of the automatic tries: another choice of the payer, else the end.
fn end_of_round(
    tx: &Transaction,
    attempt: &Attempt,
    ended: &Event,
    decline: &Decline,
    context: &Context,
) -> Event {
    let unsent = matches!(ended, Event::AttemptNotSent { .. });
    let costs = !unsent && decline.field.is_none();
    if may_choose_again(tx, attempt, (unsent, costs), context) {
        return Event::AttemptAllowed;
    }
    // Nothing was sent, so waiting costs nothing, and a provider that cannot be reached now may be
    // back in a minute.
    let patient = !restored::has_waited_long(tx, context);
    let may_wait = match tx.kind() {
        Kind::Payment => false,
        Kind::Payout => unsent && decline.retryable && patient,
    };
    match may_wait {
        true => Event::AttemptAllowed,
        false => failed(ended, decline),
    }
}

pub(super) fn failed(ended: &Event, decline: &Decline) -> Event {
    let message = match (ended, &decline.provider_message) {
        // The reason is for operators, who read it on the timeline: it may name hosts, files and
        // settings of theirs.
        (Event::AttemptNotSent { .. }, _) => UNSENT.to_owned(),
        (_, Some(message)) => message.clone(),
        (_, None) if decline.reason == DeclineReason::Expired => {
            "The time to pay had ended.".to_owned()
        }
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

/// Whether something may be submitted without asking the payer again. After its time the payer has
/// left, and does not expect a prompt.
pub(super) fn may_start(tx: &Transaction, context: &Context) -> bool {
    tx.payment()
        .is_none_or(|payment| context.now < payment.expires_at)
}

/// Whether the payer chooses again. A submission that reached no provider is no attempt of theirs:
/// the payment is as payable as before, by another method or by the same one a little later, until
/// its time is up, which cancels it as any other unpaid payment. After a person's statement that an
/// attempt failed, which the provider has not confirmed, the payer is not invited to pay again.
/// `costs`: the attempt counts as one of the payer's.
fn may_choose_again(
    tx: &Transaction,
    attempt: &Attempt,
    (unsent, costs): (bool, bool),
    context: &Context,
) -> bool {
    let Some(payment) = tx.payment() else {
        return false;
    };
    let by_person = !unsent && attempt.settled.is_some();
    if by_person || tx.attempts.len() >= ATTEMPTS_PER_PAYMENT {
        return false;
    }
    let declining = costs.then_some(attempt.id);
    tx.attempts_left_after(declining) > 0 && (unsent || context.now < payment.expires_at)
}
