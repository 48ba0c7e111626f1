//! Facts about cases, for pages and mails: how a reported amount differs, and which money of a
//! second payment is to be returned.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::attempt::{Attempt, AttemptState};
use super::charges::Charge;
use super::model::{Case, CaseReason, Transaction};
use super::state::State;

/// Difference between the amount that a provider reported and the amount of the attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    Less,
    /// Full amount, without a final result.
    Same,
    More,
    Currency,
    /// Reports that contradict each other.
    Contradicting,
    /// Reported money without a readable amount.
    Unreadable,
}

impl Difference {
    /// Difference of a case `amount_differs`. `None`: another case, or its attempt is not known.
    pub fn of(tx: &Transaction, case: &Case) -> Option<Self> {
        if case.reason != CaseReason::AmountDiffers {
            return None;
        }
        let attempt = tx.attempt_of(case)?;
        let asked = attempt.amount;
        // A later total may be another one than the amount of the case.
        let is_unclear = |charge: &Charge| charge.has_unreadable() && !charge.is_taken_back;
        if attempt.charges.iter().any(is_unclear) {
            return Some(Self::Unreadable);
        }
        let mut standing = attempt
            .charges
            .iter()
            .filter(|charge| !charge.is_taken_back);
        let is_disputed = standing
            .any(|charge| charge.is_disputed() && charge.is_under(case.provider_id.as_deref()));
        Some(match case.amount {
            None => Self::Unreadable,
            Some(_) if is_disputed => Self::Contradicting,
            Some(amount) if amount.currency() != asked.currency() => Self::Currency,
            Some(amount) => match amount.minor().cmp(&asked.minor()) {
                Ordering::Less => Self::Less,
                Ordering::Equal => Self::Same,
                Ordering::Greater => Self::More,
            },
        })
    }

    /// Value of `$difference` in messages.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Less => "less",
            Self::Same => "same",
            Self::More => "more",
            Self::Currency => "currency",
            Self::Contradicting => "contradicting",
            Self::Unreadable => "unreadable",
        }
    }
}

impl Transaction {
    /// Whether the case is about the attempt that succeeded, and not about another charge of it.
    pub fn is_of_success(&self, case: &Case) -> bool {
        let mut attempts = self.attempts.iter();
        let succeeded = attempts.rfind(|attempt| attempt.state == AttemptState::Succeeded);
        succeeded.is_some_and(|attempt| {
            let other = attempt.charges.iter().filter(|charge| !charge.is_recorded);
            let mut ids = other.filter_map(|charge| charge.id.as_ref());
            let is_other = ids.any(|id| Some(id) == case.provider_id.as_ref());
            attempt.reference == case.reference && !is_other
        })
    }

    /// Whether the transaction has succeeded, and no open case says that the provider took back the
    /// charge of the success.
    pub fn success_stands(&self) -> bool {
        let mut open = self.cases.iter().filter(|case| case.closed.is_none());
        let is_reversal = |case: &Case| case.reason == CaseReason::SuccessContradicted;
        self.state == State::Succeeded
            && !open.any(|case| is_reversal(case) && self.is_of_success(case))
    }

    /// Open cases about a second payment that no later report contradicts, each with the attempt
    /// whose money did not settle the transaction.
    pub fn second_payments(&self) -> impl Iterator<Item = (&Case, &Attempt)> {
        let is_second = |case: &&Case| {
            let is_open = case.reason == CaseReason::PaidTwice && case.closed.is_none();
            is_open && !self.is_superseded(case)
        };
        let cases = self.cases.iter().filter(is_second);
        cases.filter_map(|case| Some((case, self.attempt_of(case)?)))
    }
}
