//! What a person who runs the installation can order. Every order is signed, and stands on the
//! timeline with its note.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::ids::{AttemptId, CaseId, OperatorTokenId};
use crate::money::Amount;

/// An order with its signature.
#[derive(Clone, Debug)]
pub struct ByOperator {
    pub operator: Operator,
    pub note: Option<String>,
    pub order: Order,
}

/// Who gave an order, as far as their token tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operator {
    pub name: String,
    /// `None`: a token of the settings file, which has no id.
    pub token: Option<OperatorTokenId>,
}

#[derive(Clone, Debug)]
pub enum Order {
    /// Ask the provider now, whatever the schedule says.
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
    /// `amount`: what came in, when the provider had reported something else; otherwise what was
    /// asked.
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

/// What an operator did, on the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperatorAct {
    Checked,
    Resolved,
    ClosedCase,
    Cancelled,
}

/// Statement of an operator that an attempt moved no money that settles its transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    pub attempt: AttemptId,
    /// The reason, in words for the merchant.
    pub message: String,
}

/// How a case came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    pub at: Timestamp,
    pub by: Operator,
    pub note: Option<String>,
}
