//! A provider reports success: the transaction ends, and cases name what is wrong about the money.

use super::cases::{self, Evidence};
use crate::money::Amount;
use crate::planted::{Fault, is_planted};
use crate::transaction::attempt::Attempt;
use crate::transaction::command::Context;
use crate::transaction::event::Event;
use crate::transaction::model::{CaseReason, Transaction};
use crate::transaction::outcome::Captured;

/// Success as a provider reports it.
pub(super) struct Success {
    pub provider_id: Option<String>,
    pub provider_status: Option<String>,
    /// `None`: the amount cannot be read.
    pub captured: Option<Amount>,
    pub fees: Option<Amount>,
}

impl Success {
    /// The captured amount, if it pays for all of `attempt`.
    pub fn enough_for(&self, attempt: &Attempt) -> Option<Amount> {
        self.captured
            .filter(|captured| covers(*captured, attempt.amount))
    }

    /// The captured amount, for people.
    pub fn sum(&self) -> String {
        sum(self.captured)
    }
}

/// The captured amount of a success of `attempt`. `None`: it cannot be read.
pub(super) fn amount(captured: Captured, attempt: &Attempt) -> Option<Amount> {
    match captured {
        Captured::Named(amount) => Some(amount),
        Captured::AsAsked => Some(attempt.amount),
        Captured::Unreadable => None,
    }
}

fn sum(amount: Option<Amount>) -> String {
    amount.map_or_else(
        || "an amount that cannot be read".to_owned(),
        Amount::format,
    )
}

/// Whether `captured` is enough money in the right currency.
pub(super) fn covers(captured: Amount, asked: Amount) -> bool {
    let is_enough = captured.minor() >= asked.minor() || is_planted(Fault::LessIsEnough);
    captured.currency() == asked.currency() && is_enough
}

/// Ends the transaction as success by `attempt`, for which `captured` is enough. A surplus opens a
/// case, and so does money that was reported for another attempt: it was received in addition and is
/// to be refunded.
pub(super) fn settle(
    tx: &Transaction,
    attempt: &Attempt,
    success: Success,
    captured: Amount,
    context: &Context,
) -> Vec<Event> {
    let mut opened = Vec::new();
    if captured.minor() > attempt.amount.minor() {
        let evidence = Evidence::surplus(tx, attempt, &success, captured);
        opened.extend(cases::open(tx, attempt, evidence, context));
    }
    let is_other = |other: &&Attempt| other.reference != attempt.reference;
    for other in tx.attempts.iter().filter(is_other) {
        let held = tx.cases.iter().rev().find(|case| {
            case.reference == other.reference
                && case.reason.holds()
                && case.closed.is_none()
                && case.reason.reports_money()
                && !tx.is_taken_back(other)
        });
        let Some(held) = held else {
            continue;
        };
        let what = match tx.is_payment() {
            true => ("received", "refund it"),
            false => ("sent", "ask for it back"),
        };
        let evidence = Evidence {
            reason: CaseReason::PaidTwice,
            detail: format!(
                "{} was {} for this attempt, and the transaction succeeded by another one: {}. \
                 The case `{}` of this attempt is about the same money",
                sum(held.amount),
                what.0,
                what.1,
                held.reason.as_str()
            ),
            amount: held.amount,
            provider_id: held.provider_id.clone(),
        };
        opened.extend(cases::open(tx, other, evidence, context));
    }
    let ended = [
        Event::AttemptSucceeded {
            attempt: attempt.id,
            provider_id: success.provider_id,
            provider_status: success.provider_status,
            captured,
            fees: success.fees,
        },
        Event::Succeeded,
    ];
    ended.into_iter().chain(opened).collect()
}
