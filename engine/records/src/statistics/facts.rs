//! Contribution of one transaction to the statistics: a pure function of the stored transaction, so
//! that the difference of two versions is exact. Part of the store's schema: a transaction leaves
//! the rows with the numbers that it came with.

use super::figures::{Money, Numbers};
use switchyard_core::ids::ConnectionId;
use switchyard_core::money::{Amount, Currency};
use switchyard_core::transaction::{Attempt, AttemptState, CaseReason, Charge, State, Transaction};

/// Combination under which numbers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dimensions<'a> {
    pub currency: Currency,
    /// ISO 3166-1 alpha-2; zeros: not known.
    pub country: [u8; 2],
    pub connection: Option<ConnectionId>,
    /// Empty: the payer has not chosen.
    pub method: &'a str,
}

/// The numbers of a transaction by their dimensions: one set, unless its money moved in another
/// currency or by another attempt than the one that decides its outcome.
pub(super) fn facts(tx: &Transaction) -> Vec<(Dimensions<'_>, Numbers)> {
    let deciding = tx.deciding_attempt();
    let dimensions = match deciding {
        Some(attempt) => Dimensions::of(attempt, attempt.amount.currency()),
        None => Dimensions {
            currency: tx.amount.currency(),
            country: [0; 2],
            connection: None,
            method: tx.method().unwrap_or_default(),
        },
    };
    let mut all = vec![(dimensions, counted(tx, deciding))];
    // A later attempt may have the reference of an earlier one that never left.
    let last_with = |one: &Attempt| {
        let mut latest = tx.attempts.iter().rev();
        latest.find(|other| other.reference == one.reference)
    };
    for attempt in &tx.attempts {
        if last_with(attempt).is_some_and(|last| last.id == attempt.id) {
            add_money(tx, attempt, &mut all);
        }
    }
    let has_unknown = all.iter().any(|(_, numbers)| numbers.has(Money::Unknown));
    if has_unknown || matches!(tx.state, State::InDoubt | State::OnHold) {
        all[0].1.count_unknown();
    }
    all
}

/// Counts of the transaction.
fn counted(tx: &Transaction, deciding: Option<&Attempt>) -> Numbers {
    let mut numbers = Numbers::default();
    numbers.count_status(tx.status());
    match &tx.state {
        State::Failed(failure) => numbers.count_reason(failure.reason),
        State::Cancelled => {
            let declined = deciding.filter(|attempt| attempt.state == AttemptState::Declined);
            if let Some(decline) = declined.and_then(|attempt| attempt.decline.as_ref()) {
                numbers.count_reason(decline.reason);
            }
        }
        State::Succeeded => {
            if let Some((attempt, ended)) = deciding.and_then(|one| Some((one, one.ended_at?))) {
                let begun = begun(tx, attempt);
                numbers.count_duration(ended.since(begun.started_at));
            }
            if deciding.is_some_and(|attempt| attempt.fees.is_some()) {
                numbers.count_known_fee();
            }
        }
        _ => {}
    }
    numbers
}

/// The first attempt of the confirmation to which `attempt` belongs.
fn begun<'a>(tx: &'a Transaction, attempt: &'a Attempt) -> &'a Attempt {
    let mut first = attempt;
    // Each attempt follows an earlier one, so this ends.
    while let Some(earlier) = first.follows.and_then(|id| tx.attempt(id)) {
        first = earlier;
    }
    first
}

/// Adds the money of an attempt, each amount in its own currency.
fn add_money<'a>(
    tx: &'a Transaction,
    attempt: &'a Attempt,
    all: &mut Vec<(Dimensions<'a>, Numbers)>,
) {
    let mut add = |money: Money, amount: Amount| {
        if amount.minor() <= 0 {
            return;
        }
        let dimensions = Dimensions::of(attempt, amount.currency());
        let known = all.iter().position(|(known, _)| *known == dimensions);
        let known = known.unwrap_or_else(|| {
            all.push((dimensions, Numbers::default()));
            all.len() - 1
        });
        all[known].1.add_money(money, amount.minor());
    };
    for charge in &attempt.charges {
        if let Some(amount) = charge.amount {
            add(charged(tx, charge), amount);
        }
    }
    if let Some(fees) = attempt.fees {
        add(Money::Fees, fees);
    }
    if let Some(amount) = open_amount(tx, attempt) {
        let money = match attempt.state {
            AttemptState::Started | AttemptState::Pending => Money::Pending,
            AttemptState::InDoubt
            | AttemptState::Succeeded
            | AttemptState::Declined
            | AttemptState::NotSent => Money::Unknown,
        };
        add(money, amount);
    }
}

/// Amount of an attempt that may still move, or may have moved. `None`: the reports of the provider
/// say it all.
fn open_amount(tx: &Transaction, attempt: &Attempt) -> Option<Amount> {
    let mut standing = attempt.charges.iter().filter(|one| !one.is_taken_back);
    if standing.any(|charge| !charge.is_part && charge.amount.is_some()) {
        return None;
    }
    match attempt.state.is_open() {
        true => attempt.rest(),
        false => is_in_question(tx, attempt).then_some(attempt.amount),
    }
}

const fn charged(tx: &Transaction, charge: &Charge) -> Money {
    match (charge.is_taken_back, charge.is_recorded) {
        (true, _) => Money::TakenBack,
        (false, true) if matches!(tx.state, State::Succeeded) => Money::Succeeded,
        (false, _) => Money::Unapplied,
    }
}

/// Whether an ended attempt may have moved money of an amount that nobody has named: an open case
/// says so, or a charge that cannot be read.
fn is_in_question(tx: &Transaction, attempt: &Attempt) -> bool {
    let mut standing = attempt.charges.iter().filter(|one| !one.is_taken_back);
    if standing.clone().any(|charge| charge.amount.is_some()) {
        return false;
    }
    let is_unreadable = standing.next().is_some();
    let mut open = tx.cases.iter().filter(|case| case.closed.is_none());
    is_unreadable
        || open.any(|case| {
            let may_have_moved =
                case.reason.holds() || case.reason == CaseReason::UnknownAfterRestore;
            may_have_moved && tx.attempt_of(case).is_some_and(|one| one.id == attempt.id)
        })
}

impl<'a> Dimensions<'a> {
    fn of(attempt: &'a Attempt, currency: Currency) -> Self {
        let country = attempt.country.as_deref().map(str::as_bytes);
        Self {
            currency,
            country: country
                .and_then(|code| code.try_into().ok())
                .unwrap_or_default(),
            connection: Some(attempt.candidate.connection),
            method: &attempt.method,
        }
    }
}
