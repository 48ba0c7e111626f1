//! A provider reports success: the transaction ends, and cases name what is wrong about the money.

use super::cases::{self, Evidence};
use crate::money::Amount;
use crate::transaction::attempt::Attempt;
use crate::transaction::charges::{self, Charge};
use crate::transaction::command::Context;
use crate::transaction::event::Event;
use crate::transaction::kind::Kind;
use crate::transaction::model::{Case, CaseReason, Transaction};
use crate::transaction::operator::EntryKind;
use crate::transaction::outcome::Captured;

/// Success as a provider reports it, or a person decides it.
pub(super) struct Success {
    pub provider_id: Option<String>,
    pub provider_status: Option<String>,
    /// `None`: the amount cannot be read.
    pub captured: Option<Amount>,
    /// Sum that the provider reported before for the same charge, if it is larger than `captured`
    /// or `captured` cannot be read. `None`: there is none.
    pub before: Option<Amount>,
    pub fees: Option<Amount>,
    /// Whether `captured` takes the place of an amount that could not be read.
    pub is_clearing: bool,
    /// Kind of a person's entry. `None`: the provider reports the success.
    pub entered: Option<EntryKind>,
}

impl Success {
    /// Money under `provider_id` for `attempt`.
    pub fn of(attempt: &Attempt, provider_id: Option<String>, captured: Option<Amount>) -> Self {
        let id = provider_id.as_deref();
        Self {
            is_clearing: captured.is_some() && charges::is_unclear(attempt, id),
            before: match captured {
                Some(_) => charges::larger_before(attempt, id, captured),
                None => charges::before_unreadable(attempt, id),
            },
            provider_id,
            provider_status: None,
            captured,
            fees: None,
            entered: None,
        }
    }

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

pub(super) fn sum(amount: Option<Amount>) -> String {
    amount.map_or_else(
        || "an amount that cannot be read".to_owned(),
        Amount::format,
    )
}

/// Whether `captured` is enough money in the right currency.
pub(super) fn covers(captured: Amount, asked: Amount) -> bool {
    captured.currency() == asked.currency() && captured.minor() >= asked.minor()
}

/// Ends the transaction as success by `attempt`, for which `captured` is enough. A surplus opens a
/// case, except for the provider's fee that the payer adds. So does money that was reported for
/// another attempt, or under another id of this one: it was received in addition.
pub(super) fn settle(
    tx: &Transaction,
    attempt: &Attempt,
    success: Success,
    captured: Amount,
    context: &Context,
) -> Vec<Event> {
    let mut opened = Vec::new();
    let most = attempt.with_payer_fee().unwrap_or(attempt.amount);
    if captured.minor() > most.minor() {
        let evidence = Evidence::surplus(tx, attempt, &success, captured);
        opened.extend(cases::open(tx, attempt, evidence, context));
    }
    let id = success
        .provider_id
        .as_deref()
        .or(attempt.provider_id.as_deref());
    // A total is that of all charges.
    let is_one = success.entered != Some(EntryKind::Total);
    let part = charges::recorded_at(&attempt.charges, id).map(|place| &attempt.charges[place]);
    let differs = |amount: Amount| {
        let is_larger = amount > captured && amount > most;
        is_larger || (amount.currency() != captured.currency() && success.entered.is_none())
    };
    let part = part.filter(|_| is_one);
    let same = part.filter(|part| part.amount.is_some_and(differs) && !part.is_taken_back);
    let others = beside(attempt, id).into_iter().filter(|_| is_one);
    for charge in same.into_iter().chain(others) {
        let evidence = charged_beside(tx, attempt, charge, (captured, success.entered));
        // The success names a charge without an id, and with it the case about the charge.
        let evidence = evidence.map(|found| Evidence {
            provider_id: found.provider_id.or_else(|| id.map(str::to_owned)),
            ..found
        });
        opened.extend(evidence.and_then(|found| cases::open(tx, attempt, found, context)));
    }
    let is_other = |other: &&Attempt| other.reference != attempt.reference && !tx.has_lent(other);
    for other in tx.attempts.iter().filter(is_other) {
        for charge in &other.charges {
            let evidence = paid_twice(tx, other, charge);
            opened.extend(evidence.and_then(|found| cases::open(tx, other, found, context)));
        }
    }
    let ended = [
        Event::AttemptSucceeded {
            attempt: attempt.id,
            provider_id: success.provider_id,
            provider_status: success.provider_status,
            captured,
            fees: success.fees,
            entered: success.entered,
        },
        Event::Succeeded,
    ];
    ended.into_iter().chain(opened).collect()
}

/// Charges of an attempt that stay beside the one under `id`, with which it succeeds.
fn beside<'a>(attempt: &'a Attempt, id: Option<&str>) -> Vec<&'a Charge> {
    let place = charges::recorded_at(&attempt.charges, id);
    let others = attempt.charges.iter().enumerate();
    let others = others.filter(|(at, charge)| Some(*at) != place && !charge.is_taken_back);
    others.map(|(_, charge)| charge).collect()
}

/// Evidence of a charge for `attempt` beside the one with which it succeeds. `None`: a case has it.
/// A person's entry closes cases without an id, and money of a closed case is received beside the
/// success, so only an open case with the id has it then.
fn charged_beside(
    tx: &Transaction,
    attempt: &Attempt,
    charge: &Charge,
    (captured, entered): (Amount, Option<EntryKind>),
) -> Option<Evidence> {
    let is_in = |amount: Amount| amount.currency() == captured.currency();
    // Before the success, a case about the sum in another currency contradicts nothing.
    let is_about = |case: &Case| {
        case.reason == CaseReason::ContradictingSuccess || charge.amount.is_none_or(is_in)
    };
    let is_its = |case: &Case| case.closed.is_none() && case.provider_id == charge.id;
    let is_kept = |case: &Case| entered.is_none() || is_its(case);
    let is_known = cases_about(tx, attempt, charge)
        .filter(|case| is_about(case) && is_kept(case))
        .any(|case| charge.amount.is_none() || case.amount == charge.amount);
    (!is_known).then(|| Evidence {
        reason: CaseReason::ContradictingSuccess,
        detail: format!(
            "the attempt succeeds with {}, and the provider reported {} beside it",
            captured.format(),
            sum(charge.amount)
        ),
        amount: charge.amount,
        before: None,
        is_clearing: false,
        provider_id: charge.id.clone(),
    })
}

/// The cases about a charge, the latest first.
fn cases_about<'a>(
    tx: &'a Transaction,
    attempt: &Attempt,
    charge: &Charge,
) -> impl Iterator<Item = &'a Case> {
    tx.cases.iter().rev().filter(|case| {
        case.reference == attempt.reference
            && case.reason.reports_money()
            && case.reason != CaseReason::SuccessContradicted
            && charge.is_under(case.provider_id.as_deref())
    })
}

/// Evidence of a charge for `other`, an attempt that did not settle the transaction. `None`: its
/// cases are closed, or the provider took it back.
fn paid_twice(tx: &Transaction, other: &Attempt, charge: &Charge) -> Option<Evidence> {
    let is_open = |case: &&Case| case.reason.holds() && case.closed.is_none();
    let held = cases_about(tx, other, charge).find(is_open);
    let is_new = cases_about(tx, other, charge).next().is_none();
    if charge.is_taken_back || (held.is_none() && !is_new) {
        return None;
    }
    let (moved, ask) = match tx.kind() {
        Kind::Payment => ("received", "refund it"),
        Kind::Payout => ("sent", "ask for it back"),
    };
    let mut detail = format!(
        "{} was {moved} for this attempt, and the transaction succeeded by another one: {ask}",
        sum(charge.amount),
    );
    if let Some(case) = held {
        let case = case.reason.as_str();
        detail.push_str(&format!(
            ". The case `{case}` of this attempt is about the same money"
        ));
    }
    Some(Evidence {
        reason: CaseReason::PaidTwice,
        detail,
        amount: charge.amount,
        before: None,
        is_clearing: false,
        provider_id: charge.id.clone(),
    })
}
