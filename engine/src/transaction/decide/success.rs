//! A provider reports success: the transaction ends, and cases name what is wrong about the money.

use super::cases::{self, Evidence};
use crate::money::Amount;
use crate::planted::{Fault, is_planted};
use crate::transaction::attempt::Attempt;
use crate::transaction::command::Context;
use crate::transaction::event::Event;
use crate::transaction::model::{CaseReason, Transaction};

/// Success as a provider reports it.
pub(super) struct Success {
    pub provider_id: Option<String>,
    pub provider_status: Option<String>,
    pub captured: Amount,
    pub fees: Option<Amount>,
}

/// Whether `captured` is enough money in the right currency.
pub(super) fn covers(captured: Amount, asked: Amount) -> bool {
    let is_enough = captured.minor() >= asked.minor() || is_planted(Fault::LessIsEnough);
    captured.currency() == asked.currency() && is_enough
}

/// Ends the transaction as success by `attempt`. A surplus opens a case, and so does money that was
/// reported for another attempt: it was received in addition and is to be refunded.
pub(super) fn settle(
    tx: &Transaction,
    attempt: &Attempt,
    success: Success,
    context: &Context,
) -> Vec<Event> {
    let mut opened = Vec::new();
    if success.captured.minor() > attempt.amount.minor() {
        opened.extend(cases::open(
            tx,
            attempt,
            Evidence::surplus(attempt, &success),
            context,
        ));
    }
    for other in tx.attempts.iter().filter(|other| other.id != attempt.id) {
        let held = tx.cases.iter().rev().find(|case| {
            case.reference == other.reference
                && case.reason.holds()
                && case.closed.is_none()
                && case.amount.is_some()
                && !tx.was_taken_back(other)
        });
        let Some((amount, provider_id)) =
            held.and_then(|case| Some((case.amount?, case.provider_id.clone())))
        else {
            continue;
        };
        let evidence = Evidence {
            reason: CaseReason::PaidTwice,
            detail: format!(
                "{} was received for this attempt, and the transaction succeeded by another one: \
                 refund it",
                amount.format()
            ),
            amount: Some(amount),
            provider_id,
        };
        opened.extend(cases::open(tx, other, evidence, context));
    }
    let ended = [
        Event::AttemptSucceeded {
            attempt: attempt.id,
            provider_id: success.provider_id,
            provider_status: success.provider_status,
            captured: success.captured,
            fees: success.fees,
        },
        Event::Succeeded,
    ];
    ended.into_iter().chain(opened).collect()
}
