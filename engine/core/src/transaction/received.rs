//! Money that providers have reported for a transaction, and which statements about it are true.

use serde::{Deserialize, Serialize};

use super::attempt::{Attempt, AttemptState};
use super::charges::Charge;
use super::kind::Kind;
use super::model::{Case, CaseReason, Transaction};
use super::operator::Settled;
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
    /// Whether an amount that cannot be read was reported in addition, or in place of a sum.
    pub has_unreadable: bool,
}

impl Received {
    /// The sum, if all of it can be read and is in one currency.
    pub fn single(&self) -> Option<Amount> {
        match self.amounts.as_slice() {
            [amount] if !self.has_unreadable => Some(*amount),
            _ => None,
        }
    }

    /// Whether only a part of the money asked for came, and nothing in another currency or of an
    /// amount that cannot be read.
    pub fn is_part(&self) -> bool {
        let is_less = |amount: &Amount| {
            amount.currency() == self.asked.currency() && amount.minor() < self.asked.minor()
        };
        self.single().as_ref().is_some_and(is_less)
    }

    /// All sums as `write` writes them: `XOF 16,321 + $25.50 and an amount that cannot be read`.
    /// `unreadable`: the words behind the sums.
    pub fn text(&self, unreadable: &str, write: impl Fn(Amount) -> String) -> String {
        let amounts: Vec<_> = self.amounts.iter().map(|amount| write(*amount)).collect();
        let sums = amounts.join(" + ");
        match self.has_unreadable {
            true => format!("{sums} {unreadable}"),
            false => sums,
        }
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

impl Case {
    /// Whether it says that money was reported, or may have moved, that settles nothing.
    fn holds(&self) -> bool {
        let has_ended = self.closed.is_some() && self.reason.ends_when_closed();
        self.reason.holds() && !has_ended
    }

    /// Whether money was reported under an id of several attempts. It may be money of any of them.
    pub(super) fn names_ambiguous_money(&self) -> bool {
        self.reason == CaseReason::AmbiguousProviderId && self.amount.is_some()
    }
}

impl Transaction {
    /// Whether money was reported that settles nothing yet. No attempt starts then, whatever
    /// becomes of the attempt in progress.
    pub fn is_held(&self) -> bool {
        !self.state.is_final() && self.cases.iter().any(Case::holds)
    }

    /// The ended attempt whose reported money holds the transaction, the latest one reported; else
    /// one that may have moved money.
    pub fn held_attempt(&self) -> Option<&Attempt> {
        let is_open = |case: &&Case| case.reason.holds() && case.closed.is_none();
        let open = || self.cases.iter().rev().filter(is_open);
        let (known, unknown) = (
            open().filter(|case| case.reason.reports_money()),
            open().filter(|case| !case.reason.reports_money()),
        );
        known.chain(unknown).find_map(|case| self.attempt_of(case))
    }

    /// The attempt without a success for which money was reported; the latest one reported.
    pub(super) fn paid_attempt(&self) -> Option<&Attempt> {
        let is_money = |case: &&Case| case.reason.holds() && case.reason.reports_money();
        let cases = self.cases.iter().rev().filter(is_money);
        cases.filter_map(|case| self.attempt_of(case)).next()
    }

    /// Reason for manual review: the most important one among the open cases, those that a later
    /// report contradicts after the others, and of equal ones the first. `None`: no case is open.
    pub fn attention(&self) -> Option<CaseReason> {
        let open = self.cases.iter().filter(|case| case.closed.is_none());
        let weight = |reason: CaseReason| match reason {
            CaseReason::SuccessContradicted => 0,
            CaseReason::LateSuccess => 1,
            CaseReason::PaidTwice => 2,
            _ if reason.reports_money() => 3,
            _ => 4,
        };
        let most = open.min_by_key(|case| (self.is_superseded(case), weight(case.reason)));
        most.map(|case| case.reason)
    }

    /// Money that providers reported as received for this transaction, refunds not deducted.
    /// `None`: no amount was reported that can be read.
    pub fn received(&self) -> Option<Received> {
        self.sum_of(|_| true)
    }

    /// The reported money without that which providers took back of a payment. The charge of its
    /// success counts again once a person has closed each case. All reported money of a payout
    /// counts: nobody sends it again. `None`: no amount that can be read is left.
    pub fn kept(&self) -> Option<Received> {
        let is_accepted = self.state == State::Succeeded && self.attention().is_none();
        self.sum_of(|charge| self.is_kept(charge) || (is_accepted && charge.is_recorded))
    }

    /// Whether an amount that cannot be read was reported, and of a payment not taken back.
    pub fn has_unreadable_money(&self) -> bool {
        let mut charges = self.charges();
        charges.any(|(_, charge)| charge.has_unreadable() && self.is_kept(charge))
    }

    /// Whether a charge stands, or is of a payout: a payout that was taken back is not sent again.
    fn is_kept(&self, charge: &Charge) -> bool {
        !charge.is_taken_back || self.kind() == Kind::Payout
    }

    /// Sum of the charges that `counts`.
    fn sum_of(&self, counts: impl Fn(&Charge) -> bool) -> Option<Received> {
        let charges = || self.charges().filter(|(_, charge)| counts(charge));
        let has_unreadable = charges().any(|(_, charge)| charge.has_unreadable());
        let mut total: Option<Received> = None;
        for (attempt, charge) in charges() {
            let Some(amount) = charge.amount else {
                continue;
            };
            let total = total.get_or_insert_with(|| Received {
                amounts: Vec::new(),
                asked: attempt.amount,
                has_unreadable,
            });
            let same = |sum: &&mut Amount| sum.currency() == amount.currency();
            match total.amounts.iter_mut().find(same) {
                Some(sum) => *sum = sum.checked_add(amount)?,
                None => total.amounts.push(amount),
            }
        }
        total
    }

    /// The charges, each with its attempt. One that lent its reference has none of its own.
    fn charges(&self) -> impl Iterator<Item = (&Attempt, &Charge)> {
        let attempts = self.attempts.iter().filter(|one| !self.has_lent(one));
        attempts.flat_map(|one| one.charges.iter().map(move |charge| (one, charge)))
    }

    /// Whether providers reported money of more than one charge.
    pub fn has_several_charges(&self) -> bool {
        self.charges().nth(1).is_some()
    }

    /// Whether reports about the received money contradict each other, so that its sum is what was
    /// reported and not what is known to have moved.
    pub fn is_received_sum_disputed(&self) -> bool {
        let is_contradicting = |case: &Case| case.reason == CaseReason::ContradictingSuccess;
        self.taken_back() != TakenBack::Nothing
            || self.charges().any(|(_, charge)| charge.is_disputed())
            || self.cases.iter().any(is_contradicting)
    }

    /// Amounts of reports that contradict the received sum of one charge, each once. None after a
    /// person has closed each case, or money was taken back.
    pub fn contradicting_amounts(&self) -> Vec<Amount> {
        let mut amounts = Vec::new();
        let is_back = self.taken_back() != TakenBack::Nothing;
        if is_back || self.has_several_charges() || self.attention().is_none() {
            return amounts;
        }
        let mut add = |charge: &Charge, amount: Option<Amount>| {
            let other = amount.filter(|_| charge.amount != amount);
            let other = other.filter(|other| !amounts.contains(other));
            amounts.extend(other);
        };
        for (attempt, charge) in self.charges() {
            for amount in &charge.contradicting {
                add(charge, Some(*amount));
            }
            let is_of = |case: &&Case| {
                let id = case.provider_id.as_deref();
                let mut exact = attempt.charges.iter().filter(|one| one.id.as_deref() == id);
                let is_about = exact.next().unwrap_or(charge) == charge && charge.is_under(id);
                let is_contradicting = case.reason == CaseReason::ContradictingSuccess;
                let is_open = is_contradicting && case.closed.is_none();
                is_open && is_about && case.reference == attempt.reference
            };
            for case in self.cases.iter().filter(is_of) {
                add(charge, case.amount);
            }
        }
        amounts
    }

    /// Whether it is certain that no money moved: no attempt is open or succeeded, and no provider
    /// reported money. Only then may a page, mail or response say that nothing was taken.
    pub fn surely_moved_no_money(&self) -> bool {
        let no_attempt = self.attempts.iter().all(|attempt| match attempt.state {
            AttemptState::Declined | AttemptState::NotSent => {
                attempt.captured.is_none()
                    && attempt.part_received().is_none()
                    && attempt.charges.is_empty()
            }
            AttemptState::Started
            | AttemptState::Pending
            | AttemptState::InDoubt
            | AttemptState::Succeeded => false,
        });
        let may_have_moved = |case: &Case| {
            case.reason.reports_money() || case.holds() || case.names_ambiguous_money()
        };
        no_attempt && !self.cases.iter().any(may_have_moved)
    }

    /// Whether the open attempt can be called off: at its provider, or by waiting for its own end.
    /// An attempt that was paid, or paid in part, cannot.
    pub fn can_call_off(&self) -> bool {
        let open = match self.kind() {
            Kind::Payment => matches!(self.state, State::AwaitingProvider | State::InDoubt),
            Kind::Payout => false,
        };
        let attempt = self.current_attempt().filter(|_| open);
        attempt.is_some_and(|attempt| {
            let can_end = attempt.candidate.can_cancel || attempt.candidate.ends_after_s.is_some();
            let is_paid = attempt.payer_action == Some(PayerAction::Wait);
            can_end && !is_paid && !attempt.has_money()
        })
    }

    /// How much of the reported money the providers took back, by their latest reports.
    pub fn taken_back(&self) -> TakenBack {
        let taken_back = self.charges().filter(|(_, charge)| charge.is_taken_back);
        match taken_back.count() {
            0 => TakenBack::Nothing,
            count if count == self.charges().count() => TakenBack::All,
            _ => TakenBack::Part,
        }
    }

    /// Whether the provider ever reported a decline after money for `attempt`. Such money settles
    /// nothing automatically, also when it is reported once more.
    pub(super) fn was_taken_back(&self, attempt: &Attempt) -> bool {
        self.cases.iter().any(|case| {
            case.reference == attempt.reference && case.reason == CaseReason::SuccessContradicted
        })
    }

    /// Whether the provider took back each charge that it had reported for `attempt`.
    pub(super) fn is_taken_back(&self, attempt: &Attempt) -> bool {
        let charges = &attempt.charges;
        !charges.is_empty() && charges.iter().all(|charge| charge.is_taken_back)
    }

    /// Whether another charge than the one of `attempt` under `id` was not taken back.
    pub(super) fn is_paid_beside(&self, attempt: &Attempt, id: Option<&str>) -> bool {
        let is_other = |one: &Attempt, charge: &Charge| {
            one.reference != attempt.reference || !charge.is_under(id)
        };
        self.charges()
            .any(|(one, charge)| is_other(one, charge) && !charge.is_taken_back)
    }

    /// Whether another charge than the one that `case` is about was not taken back.
    pub fn has_money_beside(&self, case: &Case) -> bool {
        let id = case.provider_id.as_deref();
        let attempt = self.attempt_of(case);
        attempt.is_some_and(|attempt| self.is_paid_beside(attempt, id))
    }

    /// Whether a later report says the contrary of `case` about its money: money after a reversal,
    /// or a reversal after money. A second payment is none any more when the other was taken back,
    /// or when another amount of it was reported, which has its own case.
    pub fn is_superseded(&self, case: &Case) -> bool {
        let Some(attempt) = self.attempt_of(case) else {
            return false;
        };
        let id = case.provider_id.as_deref();
        let about = || attempt.charges.iter().filter(|charge| charge.is_under(id));
        let is_known = about().next().is_some();
        match case.reason {
            _ if !case.reason.reports_money() || !is_known => false,
            CaseReason::SuccessContradicted => about().all(|charge| !charge.is_taken_back),
            CaseReason::PaidTwice if !self.is_paid_beside(attempt, id) => true,
            CaseReason::PaidTwice if about().all(|charge| charge.amount != case.amount) => true,
            _ => about().all(|charge| charge.is_taken_back),
        }
    }

    /// Amount that the provider of `attempt` reported last as received under `id`. `None` as an id:
    /// under any.
    pub(super) fn reported(&self, attempt: &Attempt, id: Option<&str>) -> Option<Amount> {
        attempt.captured.or_else(|| {
            let is_under =
                |case: &Case| attempt.may_be_same_charge(case.provider_id.as_deref(), id);
            let about = |case: &&Case| case.reference == attempt.reference && is_under(case);
            let cases = self.cases.iter().rev().filter(about);
            cases
                .filter(|case| case.reason.reports_money())
                .find_map(|case| case.amount)
        })
    }

    /// Whether a later attempt has the reference, since nothing ever left for `attempt`.
    pub(super) fn has_lent(&self, attempt: &Attempt) -> bool {
        let mut latest = self.attempts.iter().rev();
        latest
            .find(|one| one.reference == attempt.reference)
            .is_some_and(|one| one.id != attempt.id)
    }

    /// Records the statement of a person about an attempt; while money holds the transaction, about
    /// each attempt with such money, too.
    pub(super) fn settle_by_person(&mut self, settled: Option<&Settled>) {
        let Some(settled) = settled else { return };
        let is_held = self.state == State::OnHold;
        let holds =
            |case: &&Case| case.reason.holds() && case.reason != CaseReason::AmbiguousProviderId;
        let holding = self.cases.iter().filter(holds).filter(|_| is_held);
        let holding: Vec<_> = holding.map(|case| case.reference).collect();
        for attempt in &mut self.attempts {
            if attempt.id == settled.attempt || holding.contains(&attempt.reference) {
                attempt.settled = Some(settled.message.clone());
            }
        }
    }

    /// The latest attempt that has the reference.
    pub(super) fn latest_with(&self, reference: uuid::Uuid) -> Option<&Attempt> {
        let mut latest = self.attempts.iter().rev();
        latest.find(|one| one.reference == reference)
    }

    /// The attempt that the case is about.
    pub fn attempt_of(&self, case: &Case) -> Option<&Attempt> {
        // An attempt that never left may have lent its reference to a later one.
        let mut latest = self.attempts.iter().rev();
        latest.find(|attempt| attempt.reference == case.reference)
    }
}
