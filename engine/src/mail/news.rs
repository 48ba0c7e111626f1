//! Reports to the customer about money that did not pay for the order as asked: a part of it, late
//! money, a second payment, or money that the provider took back.

use serde::{Deserialize, Serialize};

use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{CaseReason, Kind, Received, State, TakenBack, Transaction};

/// Report to the customer about their money, beside the mail to the merchant about the same case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoneyNews {
    /// Part of the amount.
    Part,
    /// Full amount or more, or another currency, without a final result.
    Received,
    /// Money that arrived after the payment had failed or was cancelled.
    Late,
    /// Reports of different amounts: none of them is certain.
    Contradicting,
    /// Second payment besides the one that paid for the order.
    Twice,
    TakenBack,
    PartlyTakenBack,
    /// Another payment than the one that succeeded.
    SecondTakenBack,
}

impl MoneyNews {
    /// Report about a case that opened or changed at `now`. `None`: the case is not about the
    /// customer's money, no amount is known, or the mail about a success at the same time has the
    /// amount.
    pub(super) fn of(tx: &Transaction, reason: CaseReason, now: Timestamp) -> Option<Self> {
        let received = match tx.kind() {
            Kind::Payment => tx.received()?,
            Kind::Payout => return None,
        };
        let is_over = matches!(tx.state, State::Failed(_) | State::Cancelled);
        let has_succeeded = tx.state == State::Succeeded;
        let is_named = has_succeeded && tx.success_at == Some(now);
        match reason {
            CaseReason::SuccessContradicted => Self::reversed(tx),
            _ if is_named || tx.taken_back() != TakenBack::Nothing => None,
            CaseReason::PaidTwice => Some(Self::Twice),
            CaseReason::MoneyAfterTheEnd | CaseReason::AmountDiffers
                if !has_succeeded && tx.is_received_sum_disputed() =>
            {
                Some(Self::Contradicting)
            }
            CaseReason::MoneyAfterTheEnd if is_over => Some(Self::Late),
            CaseReason::MoneyAfterTheEnd | CaseReason::AmountDiffers if !has_succeeded => {
                Some(Self::amount(&received))
            }
            _ => None,
        }
    }

    fn reversed(tx: &Transaction) -> Option<Self> {
        match tx.taken_back() {
            TakenBack::All => Some(Self::TakenBack),
            TakenBack::Part if tx.success_stands() => Some(Self::SecondTakenBack),
            TakenBack::Part => Some(Self::PartlyTakenBack),
            TakenBack::Nothing => None,
        }
    }

    fn amount(received: &Received) -> Self {
        match received.is_part() {
            true => Self::Part,
            false => Self::Received,
        }
    }

    /// Message names of the subject and the text.
    pub(super) const fn sentences(self) -> (&'static str, &'static str) {
        match self {
            Self::Part => ("customer-part", "customer-part-text"),
            Self::Received => ("customer-received", "customer-received-text"),
            Self::Late => ("customer-late", "customer-late-text"),
            Self::Contradicting => ("customer-taken-back", "customer-contradicting-text"),
            Self::Twice => ("customer-twice", "customer-paid-twice"),
            Self::TakenBack => ("customer-taken-back", "customer-taken-back-text"),
            Self::PartlyTakenBack => ("customer-taken-back", "customer-partly-taken-back-text"),
            Self::SecondTakenBack => ("customer-second-failed", "customer-second-failed-text"),
        }
    }

    /// Message name of the heading above the text.
    pub(super) const fn heading(self) -> &'static str {
        match self {
            Self::Part => "heading-part",
            Self::Received | Self::Late | Self::Twice | Self::SecondTakenBack => "heading-received",
            Self::Contradicting | Self::TakenBack | Self::PartlyTakenBack => "heading-review",
        }
    }
}
