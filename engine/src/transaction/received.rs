//! Money that providers have reported for a transaction, and which statements about it are true.

use serde::{Deserialize, Serialize};

use super::attempt::{Attempt, AttemptState};
use super::model::{Case, CaseReason, Transaction};
use super::outcome::PayerAction;
use super::state::State;
use crate::money::Amount;

/// Money that providers reported as received, and the amount that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// A sum for each currency, in the order of the attempts. Never empty.
    pub amounts: Vec<Amount>,
    /// Amount of the first attempt for which money came.
    pub asked: Amount,
}

impl Received {
    /// Sum in the currency of the first attempt for which money came.
    pub fn first(&self) -> Amount {
        self.amounts.first().copied().unwrap_or(self.asked)
    }

    /// Whether only a part of the money asked for came, and nothing in another currency.
    pub fn is_part(&self) -> bool {
        let is_less = |amount: &Amount| {
            amount.currency() == self.asked.currency() && amount.minor() < self.asked.minor()
        };
        self.amounts.len() == 1 && self.amounts.iter().all(is_less)
    }

    /// All sums as `write` writes them: `XOF 16,321 + $25.50`.
    pub fn text(&self, write: impl Fn(Amount) -> String) -> String {
        let amounts: Vec<_> = self.amounts.iter().map(|amount| write(*amount)).collect();
        amounts.join(" + ")
    }
}

/// Money that providers had reported and then took back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TakenBack {
    #[default]
    Nothing,
    /// Some of it, or the charge is not known.
    Part,
    All,
}

impl Transaction {
    /// Whether money was reported that settles nothing yet. No attempt starts then, whatever becomes
    /// of the attempt in progress.
    pub fn is_held(&self) -> bool {
        !self.state.is_final() && self.cases.iter().any(|case| case.reason.holds())
    }

    /// The ended attempt whose reported money holds the transaction; the latest one reported.
    pub fn held_attempt(&self) -> Option<&Attempt> {
        self.cases
            .iter()
            .rev()
            .filter(|case| case.reason.holds() && case.closed.is_none())
            .find_map(|case| self.attempt_of(case))
    }

    /// The attempt without a success for which money was reported; the latest one reported.
    pub(super) fn paid_attempt(&self) -> Option<&Attempt> {
        let is_money = |case: &&Case| case.reason.holds() && case.reason.reports_money();
        let cases = self.cases.iter().rev().filter(is_money);
        cases.filter_map(|case| self.attempt_of(case)).next()
    }

    /// Reason for manual review: the most important one among the open cases, and of equal ones the
    /// first. `None`: no case is open.
    pub fn attention(&self) -> Option<CaseReason> {
        let open = self.cases.iter().filter(|case| case.closed.is_none());
        let weight = |reason: CaseReason| match reason {
            CaseReason::SuccessContradicted => 0,
            CaseReason::LateSuccess => 1,
            CaseReason::PaidTwice => 2,
            _ if reason.reports_money() => 3,
            _ => 4,
        };
        let most = open.min_by_key(|case| weight(case.reason));
        most.map(|case| case.reason)
    }

    /// Money that providers reported as received for this transaction, refunds not deducted. `None`:
    /// no amount was reported.
    pub fn received(&self) -> Option<Received> {
        let mut total: Option<Received> = None;
        for attempt in self.attempts.iter().filter(|one| !self.has_lent(one)) {
            for amount in self.charges(attempt) {
                let total = total.get_or_insert_with(|| Received {
                    amounts: Vec::new(),
                    asked: attempt.amount,
                });
                let same = |sum: &&mut Amount| sum.currency() == amount.currency();
                match total.amounts.iter_mut().find(same) {
                    Some(sum) => *sum = sum.checked_add(amount)?,
                    None => total.amounts.push(amount),
                }
            }
        }
        total
    }

    /// Amount of each charge that the provider reported for `attempt`. Reports under different
    /// provider ids are different charges; a report without an id repeats the charge before it. Of
    /// several amounts for one charge, the recorded one counts, or else the latest.
    fn charges(&self, attempt: &Attempt) -> Vec<Amount> {
        let recorded = attempt
            .captured
            .map(|amount| (attempt.provider_id.as_deref(), amount));
        let mut charges: Vec<_> = recorded.into_iter().collect();
        let about =
            |case: &&Case| case.reference == attempt.reference && case.reason.reports_money();
        for case in self.cases.iter().filter(about) {
            let Some(amount) = case.amount else { continue };
            let id = case.provider_id.as_deref();
            let is_same = |known: &Option<&str>| known.is_none() || id.is_none() || *known == id;
            match charges.iter().position(|(known, _)| is_same(known)) {
                Some(0) if recorded.is_some() => {}
                // It may be about any of them.
                Some(_) if id.is_none() && charges.len() > 1 => {}
                Some(same) => charges[same] = (id.or(charges[same].0), amount),
                None => charges.push((id, amount)),
            }
        }
        if recorded.is_none() {
            count_part(&mut charges, attempt);
        }
        charges.into_iter().map(|(_, amount)| amount).collect()
    }

    /// Whether it is certain that no money moved: no attempt is open or succeeded, and no provider
    /// reported money. Only then may a page, mail or response say that nothing was taken.
    pub fn surely_moved_no_money(&self) -> bool {
        let no_attempt = self.attempts.iter().all(|attempt| match attempt.state {
            AttemptState::Declined | AttemptState::NotSent => {
                attempt.captured.is_none() && attempt.part_received().is_none()
            }
            AttemptState::Started
            | AttemptState::Pending
            | AttemptState::InDoubt
            | AttemptState::Succeeded => false,
        });
        let may_have_moved = |case: &Case| case.reason.reports_money() || case.reason.holds();
        no_attempt && !self.cases.iter().any(may_have_moved)
    }

    /// Whether the open attempt can be called off: at its provider, or by waiting for its own end.
    /// An attempt that was paid, or paid in part, cannot.
    pub fn can_call_off(&self) -> bool {
        let open = matches!(self.state, State::AwaitingProvider | State::InDoubt);
        let attempt = self.current_attempt().filter(|_| open && self.is_payment());
        attempt.is_some_and(|attempt| {
            let can_end = attempt.candidate.can_cancel || attempt.candidate.ends_after_s.is_some();
            let is_paid = attempt.payer_action == Some(PayerAction::Wait);
            can_end && !is_paid && attempt.part_received().is_none()
        })
    }

    /// How much of the reported money the providers took back, by their latest reports.
    pub fn taken_back(&self) -> TakenBack {
        let (mut some, mut all) = (false, true);
        for attempt in self.attempts.iter().filter(|one| !self.has_lent(one)) {
            let charges = self.charges(attempt).len();
            let is_taken_back = self.is_taken_back(attempt);
            if charges > 0 {
                some |= is_taken_back;
                all &= is_taken_back && charges == 1;
            }
        }
        match (some, all) {
            (false, _) => TakenBack::Nothing,
            (true, false) => TakenBack::Part,
            (true, true) => TakenBack::All,
        }
    }

    /// Whether the provider ever reported a decline after money for `attempt`. Such money settles
    /// nothing automatically, also when it is reported once more.
    pub(super) fn was_taken_back(&self, attempt: &Attempt) -> bool {
        self.cases.iter().any(|case| {
            case.reference == attempt.reference && case.reason == CaseReason::SuccessContradicted
        })
    }

    /// Whether the latest report about the money of `attempt` is that the provider took it back.
    pub(super) fn is_taken_back(&self, attempt: &Attempt) -> bool {
        let about = |case: &&Case| case.reference == attempt.reference;
        let mut latest = self.cases.iter().rev().filter(about);
        // A success that was reported, or found in the provider's records, after it counts more.
        let is_later = |case: &Case| {
            let succeeded = attempt.state == AttemptState::Succeeded;
            !succeeded || attempt.ended_at.is_none_or(|at| case.opened_at >= at)
        };
        latest
            .find(|case| case.reason.reports_money())
            .is_some_and(|case| case.reason == CaseReason::SuccessContradicted && is_later(case))
    }

    /// Amount that the provider of `attempt` reported as received last.
    pub(super) fn reported(&self, attempt: &Attempt) -> Option<Amount> {
        attempt.captured.or_else(|| {
            let about = |case: &&Case| case.reference == attempt.reference;
            let cases = self.cases.iter().rev().filter(about);
            cases
                .filter(|case| case.reason.reports_money())
                .find_map(|case| case.amount)
        })
    }

    /// Whether as much money as `news` was reported for `attempt` before.
    pub(super) fn has_been_told(&self, attempt: &Attempt, news: Amount) -> bool {
        let known = [attempt.received, self.reported(attempt)];
        known.into_iter().flatten().any(|known| known >= news)
    }

    /// Whether a later attempt has the reference, since nothing ever left for `attempt`.
    fn has_lent(&self, attempt: &Attempt) -> bool {
        let mut latest = self.attempts.iter().rev();
        latest
            .find(|one| one.reference == attempt.reference)
            .is_some_and(|one| one.id != attempt.id)
    }

    /// The attempt that the case is about.
    pub fn attempt_of(&self, case: &Case) -> Option<&Attempt> {
        // An attempt that never left may have lent its reference to a later one.
        let mut latest = self.attempts.iter().rev();
        latest.find(|attempt| attempt.reference == case.reference)
    }
}

/// Adds the part that was received while `attempt` was pending to its charges. A case may be about
/// the same money: of the two amounts the larger one counts.
fn count_part<'a>(charges: &mut Vec<(Option<&'a str>, Amount)>, attempt: &'a Attempt) {
    let Some(part) = attempt.part_received() else {
        return;
    };
    let id = attempt.provider_id.as_deref();
    let same =
        |(known, _): &&mut (Option<&str>, Amount)| known.is_none() || id.is_none() || *known == id;
    match charges.iter_mut().find(same) {
        Some((_, amount)) if *amount < part => *amount = part,
        Some(_) => {}
        None => charges.push((id, part)),
    }
}
