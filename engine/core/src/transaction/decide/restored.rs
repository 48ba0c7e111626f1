//! The store was restored from a backup: attempts may have been made after it that this store does
//! not know. Each connection is asked for them by the reference that they would have, before an
//! attempt starts. An unknown attempt is recorded as a presumed one, in doubt until its provider
//! answers: found, it settles the transaction like any other; finally not found, it counts as not
//! sent.

use super::cases::{self, Evidence};
use super::{Try, end, new_attempt, scheduled_query};
use crate::transaction::attempt::{AfterCallOff, Attempt, AttemptState, Price};
use crate::transaction::command::{CancelledBy, Context, Unasked};
use crate::transaction::decision::Decision;
use crate::transaction::event::Event;
use crate::transaction::kind::Kind;
use crate::transaction::model::{CaseReason, Transaction};
use crate::transaction::outcome::DeclineReason;
use crate::transaction::schedule;
use crate::transaction::state::Failure;

/// The events that ask the next connection; `None` when all have been asked.
pub(super) fn ask(tx: &Transaction, context: &Context) -> Option<Vec<Event>> {
    let unasked = context.permit.unasked.first()?;
    Some(ask_at(tx, unasked, context))
}

fn ask_at(tx: &Transaction, unasked: &Unasked, context: &Context) -> Vec<Event> {
    let attempt = presumed(tx, unasked, context);
    let mut events = vec![
        Event::AttemptStarted {
            attempt: Box::new(attempt.clone()),
        },
        scheduled_query(&attempt, context),
    ];
    if !unasked.can_be_asked {
        let detail = format!(
            "the store was restored from a backup, {} may have an attempt that was made after it, \
             and its gateway cannot find that: look for the reference in the provider's records",
            attempt.candidate.account_name
        );
        let evidence = Evidence::without_money(CaseReason::UnknownAfterRestore, detail);
        events.extend(cases::open(tx, &attempt, evidence, context));
    }
    events
}

/// The attempt that may have been made at a connection.
fn presumed(tx: &Transaction, unasked: &Unasked, context: &Context) -> Attempt {
    let recipient = tx.payout().map(|payout| payout.recipient.clone());
    let what = Try {
        follows: None,
        method: unasked.method.clone(),
        country: None,
        phone: None,
        fields: recipient.unwrap_or_default(),
        price: Price {
            amount: tx.amount,
            conversion: None,
        },
        resumed: 0,
    };
    let why = "the store was restored from a backup that does not know it";
    Attempt {
        presumed: true,
        state: AttemptState::InDoubt,
        decision: Decision {
            chosen_because: "it may have been made after the backup".to_owned(),
            ..Decision::default()
        },
        why: Some(why.to_owned()),
        ..new_attempt(what, unasked.candidate.clone(), unasked.reference, context)
    }
}

/// The events after an attempt that moved no money, while attempts may not start freely.
/// `would_start`: whether another attempt would follow it; `last`: the event when none does.
pub(super) fn after(
    tx: &Transaction,
    attempt: &Attempt,
    ended: Event,
    would_start: bool,
    last: impl FnOnce(&Event) -> Event,
    context: &Context,
) -> Vec<Event> {
    // A presumed attempt is not the last word: attempts at other connections may have followed it.
    let last = match ordered_cancel(tx) {
        Some(by) => Event::Cancelled { by },
        None if attempt.presumed || would_start => Event::AttemptAllowed,
        None => last(&ended),
    };
    let is_done = matches!(ended, Event::AttemptNotSent { .. }) && attempt.presumed;
    let connection = attempt.candidate.connection;
    let mut unasked = context.permit.unasked.iter();
    let next = unasked.find(|next| !is_done || next.candidate.connection != connection);
    // The lost engine ended a payout by the same decline at once. A payment may have gone on: its
    // time was not over then, or its payer had given the attempt up. A person's word was not given
    // to the lost engine.
    let by_person = failed_on_hold(tx);
    let is_declined = match tx.kind() {
        Kind::Payment => false,
        Kind::Payout => attempt.settled.is_none() && by_person.is_none(),
    };
    let is_the_end = is_declined && matches!(last, Event::Failed { .. });
    match next.filter(|_| !is_the_end) {
        Some(next) => {
            let asking = ask_at(tx, next, context);
            std::iter::once(ended).chain(asking).collect()
        }
        None => {
            let is_allowed = matches!(last, Event::AttemptAllowed);
            let failed = is_allowed.then(|| {
                payment_failed_by_person(tx, &ended).or_else(|| end_of_payment(tx, &ended, context))
            });
            let failed = failed.flatten();
            vec![ended, by_person.or(failed).unwrap_or(last)]
        }
    }
}

/// Author of the order to cancel the payment. The order also counts after the queries that follow
/// the end of its attempt.
fn ordered_cancel(tx: &Transaction) -> Option<CancelledBy> {
    let mut requests = tx.attempts.iter().rev().filter_map(|one| one.call_off);
    let ordered = requests.find(|request| request.then == AfterCallOff::Cancel);
    ordered.map(|request| request.by)
}

/// The end of a payment whose payer has no attempt or no time left once `ended` is applied, by its
/// latest decline. An attempt of the lost span counts like any other.
fn end_of_payment(tx: &Transaction, ended: &Event, context: &Context) -> Option<Event> {
    let declining = match ended {
        Event::AttemptDeclined { attempt, decline } if decline.field.is_none() => Some(*attempt),
        _ => None,
    };
    let expires_at = tx.payment()?.expires_at;
    if context.now < expires_at && tx.attempts_left_after(declining) > 0 {
        return None;
    }
    match ended {
        Event::AttemptDeclined { decline, .. } => Some(end::failed(ended, decline)),
        _ => failed_by(tx.attempts.iter().rev()),
    }
}

/// The end that a person ordered while money held the transaction.
fn failed_on_hold(tx: &Transaction) -> Option<Event> {
    let is_held = |one: &&Attempt| {
        let mut cases = tx.cases.iter();
        cases.any(|case| case.reference == one.reference && case.reason.holds())
    };
    failed_by_person(tx.attempts.iter().rev().filter(is_held))
}

/// The end of a payment of which a person called an attempt failed. Its provider has not confirmed
/// that, so the payer is not invited to pay again. After *never sent*, the payment is as payable as
/// before.
fn payment_failed_by_person(tx: &Transaction, ended: &Event) -> Option<Event> {
    let is_unsent = |one: &Attempt| match ended {
        Event::AttemptNotSent { attempt, .. } if *attempt == one.id => true,
        _ => one.state == AttemptState::NotSent,
    };
    let sent = tx.attempts.iter().rev().filter(|one| !is_unsent(one));
    tx.payment().and_then(|_| failed_by_person(sent))
}

/// The end of a payout whose presumed attempts were declined. Its merchant may have received that
/// result before the restore and have paid another way: the payout is not sent again. Nor is it
/// after a person's word about an attempt of this store.
pub(super) fn end_of_payout(tx: &Transaction) -> Option<Event> {
    let known = tx.attempts.iter().rev().filter(|one| !one.presumed);
    failed_by(tx.attempts.iter().rev().filter(|attempt| attempt.presumed))
        .or_else(|| failed_by_person(known))
}

/// The failure by the first statement of a person about one of `attempts`.
fn failed_by_person<'a>(mut attempts: impl Iterator<Item = &'a Attempt>) -> Option<Event> {
    let message = attempts.find_map(|attempt| attempt.settled.clone())?;
    Some(Event::Failed {
        failure: Failure {
            reason: DeclineReason::Other,
            message,
        },
    })
}

/// The failure by the first decline of `attempts`.
fn failed_by<'a>(mut attempts: impl Iterator<Item = &'a Attempt>) -> Option<Event> {
    let (attempt, decline) =
        attempts.find_map(|attempt| Some((attempt.id, attempt.decline.clone()?)))?;
    let ended = Event::AttemptDeclined {
        attempt,
        decline: decline.clone(),
    };
    Some(end::failed(&ended, &decline))
}

/// Whether a transaction has waited for a gateway longer than it may.
pub(super) fn has_waited_long(tx: &Transaction, context: &Context) -> bool {
    let since = context.permit.released_at.unwrap_or(tx.created_at);
    let waited = context.now.since(since.max(tx.created_at));
    context.permit.is_free() && waited >= schedule::DISPATCH_RETRY_WINDOW
}
