//! The states, named for the expected event, and the five public statuses that they map onto.
//!
//! ```text
//! payment:  AwaitingCustomer ──confirm──▶ AwaitingGateway ──▶ AwaitingProvider ──▶ Succeeded | Failed
//!            │  ▲      │                       │  └──────▶ InDoubt ──query──▶ ┘
//!            │  └──────┼── attempts left ──────┘
//!            └──▶ Cancelled (by the payer, or by time)
//! payout:   AwaitingDispatch ──▶ AwaitingGateway ──▶ … as above, without Cancelled
//! both:     OnHold: money was reported for an ended attempt and does not settle the transaction
//! ```

use serde::{Deserialize, Serialize};

use super::kind::Kind;
use super::outcome::DeclineReason;

/// State of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// A payment that is not confirmed yet, or whose last attempt was declined with attempts left.
    AwaitingCustomer,
    /// A payout that is stored and not yet sent.
    AwaitingDispatch,
    /// An attempt was started, and its gateway has not come back.
    AwaitingGateway,
    /// The provider has it, and has not finished.
    AwaitingProvider,
    /// In doubt: the provider may or may not have the request; only a query settles that.
    InDoubt,
    /// Money was reported for an ended attempt and does not settle the transaction. Nothing starts
    /// an attempt; the provider or an operator settles it.
    OnHold,
    Succeeded,
    Failed(Failure),
    Cancelled,
}

/// Reason why a transaction failed, as merchants see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub reason: DeclineReason,
    pub message: String,
}

impl State {
    /// The state in which a transaction waits for its first attempt, or for another one.
    pub const fn before_an_attempt(kind: Kind) -> Self {
        match kind {
            // A payer tries again when they want to; a payout as soon as a gateway can take it.
            Kind::Payment => Self::AwaitingCustomer,
            Kind::Payout => Self::AwaitingDispatch,
        }
    }

    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed(_) | Self::Cancelled)
    }

    pub const fn name(&self) -> &'static str {
        match self {
            Self::AwaitingCustomer => "awaiting_customer",
            Self::AwaitingDispatch => "awaiting_dispatch",
            Self::AwaitingGateway => "awaiting_gateway",
            Self::AwaitingProvider => "awaiting_provider",
            Self::InDoubt => "in_doubt",
            Self::OnHold => "on_hold",
            Self::Succeeded => "succeeded",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Public status in the API (docs/contract/states.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Initiated,
    Pending,
    Cancelled,
    Failed,
    Success,
}

impl Status {
    pub const ALL: [Self; 5] = [
        Self::Initiated,
        Self::Pending,
        Self::Cancelled,
        Self::Failed,
        Self::Success,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Initiated => "initiated",
            Self::Pending => "pending",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Success => "success",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    pub const fn is_final(self) -> bool {
        matches!(self, Self::Cancelled | Self::Failed | Self::Success)
    }
}
