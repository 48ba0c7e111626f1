//! Opens cases. The same evidence opens one case only; other evidence opens another, also after the
//! first was closed.

use std::cmp::Ordering;

use super::success::Success;
use crate::ids::CaseId;
use crate::money::Amount;
use crate::transaction::attempt::Attempt;
use crate::transaction::command::Context;
use crate::transaction::event::Event;
use crate::transaction::kind::Kind;
use crate::transaction::model::{Case, CaseReason, Transaction};

/// Contradiction about an attempt, and the money that was reported with it.
pub(super) struct Evidence {
    pub reason: CaseReason,
    pub detail: String,
    pub amount: Option<Amount>,
    /// Sum that was reported before for the same charge: a larger one, or any one if `amount`
    /// cannot be read.
    pub before: Option<Amount>,
    /// Whether `amount` takes the place of one that could not be read.
    pub is_clearing: bool,
    pub provider_id: Option<String>,
}

impl Evidence {
    pub fn without_money(reason: CaseReason, detail: String) -> Self {
        Self {
            reason,
            detail,
            amount: None,
            before: None,
            is_clearing: false,
            provider_id: None,
        }
    }

    pub fn of(reason: CaseReason, success: &Success, detail: String) -> Self {
        Self {
            reason,
            detail,
            amount: success.captured,
            before: success.before,
            is_clearing: success.is_clearing,
            provider_id: success.provider_id.clone(),
        }
    }

    pub fn amount_differs(attempt: &Attempt, success: &Success) -> Self {
        let under = success
            .provider_id
            .as_ref()
            .map_or_else(String::new, |id| format!(" under its id {id}"));
        let detail = format!(
            "asked {}, the provider reports {}{under}",
            attempt.amount.format(),
            success.sum()
        );
        Self::of(CaseReason::AmountDiffers, success, detail)
    }

    pub fn surplus(
        tx: &Transaction,
        attempt: &Attempt,
        success: &Success,
        captured: Amount,
    ) -> Self {
        let most = attempt.with_payer_fee().unwrap_or(attempt.amount);
        let surplus = captured.checked_sub(most);
        let surplus = surplus.map_or_else(String::new, |surplus| surplus.format());
        let (mut asked, captured) = (attempt.amount.format(), captured.format());
        if let Some(fee) = attempt.payer_fee {
            asked = format!("{asked} and a provider's fee of {}", fee.format());
        }
        let detail = match tx.kind() {
            Kind::Payment => {
                format!("asked {asked}, received {captured}: return the surplus of {surplus}")
            }
            Kind::Payout => format!(
                "asked {asked}, the provider reports {captured} sent: ask for the surplus of \
                 {surplus} back"
            ),
        };
        Self::of(CaseReason::Surplus, success, detail)
    }

    /// Whether `case` is about the same money, or about the same contradiction.
    fn is_about(&self, attempt: &Attempt, case: &Case) -> bool {
        let (ours, theirs) = (self.provider_id.as_deref(), case.provider_id.as_deref());
        let is_money =
            self.reason.reports_money() && self.reason != CaseReason::SuccessContradicted;
        match is_money {
            true => attempt.may_be_same_charge(theirs, ours),
            false if self.is_about_no_charge(attempt) => theirs.is_none(),
            false => ours.is_none() || theirs.is_none() || ours == theirs,
        }
    }

    /// Whether it is a reversal without an id, of one of several charges.
    fn is_about_no_charge(&self, attempt: &Attempt) -> bool {
        self.reason == CaseReason::SuccessContradicted
            && self.provider_id.is_none()
            && attempt.charges.len() > 1
            && attempt.standing_charge().is_some()
    }

    /// Whether `case`, which is open, takes this amount in. One with an id keeps its amount when a
    /// report names none: that may be other money. So may be another amount after a reversal.
    fn may_amend(&self, tx: &Transaction, case: &Case) -> bool {
        case.closed.is_none()
            && (self.provider_id.is_some() || case.provider_id.is_none())
            && !tx.is_superseded(case)
            && !is_outdated(tx, case)
    }

    /// The amount and the words of a case. A smaller amount than `known` may be of an older report,
    /// so the larger one stays. One in another currency is named.
    fn beside(&self, known: Option<Amount>) -> (Option<Amount>, String) {
        let Some(known) = known else {
            return (self.amount, self.detail.clone());
        };
        let detail = || format!("{}, and reported {} before", self.detail, known.format());
        let Some(amount) = self.amount else {
            return match self.before {
                Some(_) => (Some(known), detail()),
                None => (None, self.detail.clone()),
            };
        };
        match known.partial_cmp(&amount) {
            Some(Ordering::Less | Ordering::Equal) => (Some(amount), self.detail.clone()),
            Some(Ordering::Greater) => (Some(known), detail()),
            None => (Some(amount), detail()),
        }
    }

    /// Whether `case` says the same. A report without an amount repeats those that have one.
    fn is_repeated_by(&self, case: &Case) -> bool {
        let (amount, detail) = self.beside(self.before);
        let is_smaller = amount != self.amount;
        let is_unreadable = self.amount.is_none() && self.before.is_none();
        let is_same = case.detail == detail || !(is_smaller || self.is_clearing);
        is_unreadable || (case.amount == amount && is_same)
    }

    /// Whether `case` may stand for this evidence. A case about a reversal covers no reversal of
    /// money that was reported after it; a closed one covers only a reversal with the same id, or
    /// one that names none of several charges, since any other may be new.
    fn is_covered_by(&self, tx: &Transaction, attempt: &Attempt, case: &Case) -> bool {
        let names_same = self.provider_id.is_some() && self.provider_id == case.provider_id;
        let is_same = names_same || self.is_about_no_charge(attempt);
        self.reason != CaseReason::SuccessContradicted
            || (!tx.is_superseded(case) && (case.closed.is_none() || is_same))
    }
}

/// Opens a case about `attempt`, unless the same evidence has one already. An open case takes a
/// larger amount of the same money in, and names a smaller one beside it.
pub(super) fn open(
    tx: &Transaction,
    attempt: &Attempt,
    evidence: Evidence,
    context: &Context,
) -> Option<Event> {
    let alike = || {
        tx.cases.iter().filter(|case| {
            case.reference == attempt.reference
                && case.reason == evidence.reason
                && evidence.is_about(attempt, case)
        })
    };
    // Money that came back after its reversal is news, although a closed case names it.
    let is_reversal = evidence.reason == CaseReason::SuccessContradicted;
    let is_latest =
        |case: &Case| is_reversal || case.closed.is_none() || !was_reversed_after(tx, case);
    let covers = |case: &Case| is_latest(case) && evidence.is_covered_by(tx, attempt, case);
    if alike().any(|case| evidence.is_repeated_by(case) && covers(case)) {
        return None;
    }
    match alike().find(|case| evidence.may_amend(tx, case)) {
        Some(case) => {
            let known = evidence.before.filter(|before| case.amount < Some(*before));
            let (amount, detail) = evidence.beside(known.or(case.amount));
            let is_news = case.amount != amount || case.detail != detail;
            let amended = amount.filter(|_| is_news);
            amended.map(|amount| Event::CaseAmended {
                case: case.id,
                amount,
                detail,
            })
        }
        None => {
            let (amount, detail) = evidence.beside(evidence.before);
            // A sum of a pending attempt is no amount of the charge that was reported.
            let amount = amount.filter(|_| evidence.amount.is_some());
            Some(Event::CaseOpened {
                case: Case {
                    id: context.case,
                    opened_at: context.now,
                    reason: evidence.reason,
                    reference: attempt.reference,
                    detail,
                    amount,
                    provider_id: evidence.provider_id,
                    closed: None,
                },
            })
        }
    }
}

/// Whether a later case names another amount of the same money: the latest amount counts.
fn is_outdated(tx: &Transaction, case: &Case) -> bool {
    let later = tx.cases.iter().skip_while(|other| other.id != case.id);
    later.skip(1).any(|other| {
        other.reference == case.reference
            && other.reason.reports_money()
            && other.provider_id == case.provider_id
    })
}

/// Gives each case of one decision its own id: `first`, and those that follow it.
pub(super) fn number(events: &mut [Event], first: CaseId) {
    let mut id = first.ulid();
    let mut is_first = true;
    for event in events {
        let Event::CaseOpened { case } = event else {
            continue;
        };
        if !is_first {
            id = id.increment().unwrap_or(id);
        }
        is_first = false;
        case.id = CaseId::new(id);
    }
}

/// Whether the provider took the money that `case` is about back after it was opened.
fn was_reversed_after(tx: &Transaction, case: &Case) -> bool {
    let mut later = tx
        .cases
        .iter()
        .rev()
        .take_while(|later| later.id != case.id);
    later.any(|later| {
        let (ours, theirs) = (case.provider_id.as_ref(), later.provider_id.as_ref());
        let is_same = ours.is_none() || theirs.is_none() || ours == theirs;
        let is_reversal = later.reason == CaseReason::SuccessContradicted;
        is_reversal && is_same && later.reference == case.reference
    })
}
