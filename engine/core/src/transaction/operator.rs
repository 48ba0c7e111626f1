//! Orders of an operator. Every order names its author, and is on the timeline with its note.

use serde::{Deserialize, Serialize};

use crate::ids::{AttemptId, CaseId, OperatorTokenId};
use crate::money::Amount;
use crate::time::Timestamp;

/// An order with its signature.
#[derive(Clone, Debug)]
pub struct ByOperator {
    pub operator: Operator,
    pub note: Option<String>,
    pub order: OperatorCommand,
}

/// Author of an order, as the token identifies it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operator {
    pub name: String,
    /// `None`: a token of the settings file, which has no id.
    pub token: Option<OperatorTokenId>,
}

#[derive(Clone, Debug)]
pub enum OperatorCommand {
    /// Query the provider now, whatever the schedule says.
    Check,
    /// Settle the open attempt, or the money that holds the transaction, by the provider's records.
    Resolve(Resolution),
    CloseCase(CaseId),
    Cancel,
}

#[derive(Clone, Debug)]
pub struct Resolution {
    /// The attempt that the operator looked at. `None`: the one that is open.
    pub attempt: Option<AttemptId>,
    pub verdict: Verdict,
}

#[derive(Clone, Debug)]
pub enum Verdict {
    /// `amount`: the amount received, if the provider had reported another; otherwise the requested
    /// amount.
    Succeeded {
        amount: Option<Amount>,
        provider_id: Option<String>,
    },
    /// `message`: why, in words for the merchant.
    Failed {
        message: Option<String>,
    },
    NeverSent,
}

/// Kind of amount that a person entered for a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// As that of one charge.
    Charge,
    /// As the total of several charges of the attempt.
    Total,
}

/// Act of an operator, on the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperatorEvent {
    Checked,
    Resolved,
    ClosedCase,
    Cancelled,
    /// The personal data of the customer was erased. No command leads to it: the erasure itself
    /// writes it.
    ErasedPersonalData,
}

/// Statement of an operator that an attempt moved no money that settles its transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    pub attempt: AttemptId,
    /// The reason, in words for the merchant.
    pub message: String,
}

/// Resolution of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    pub at: Timestamp,
    pub by: Operator,
    pub note: Option<String>,
}
