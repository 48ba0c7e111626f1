//! Events of a transaction. They are stored beside the snapshot: together they are its timeline.

use serde::{Deserialize, Serialize};

use super::attempt::{AfterCallOff, Attempt};
use super::charges::MoneyReport;
use super::command::CancelledBy;
use super::decision::Skipped;
use super::kind::Kind;
use super::model::{Case, ClientContext, Customer};
use super::operator::{Closed, EntryKind, Operator, OperatorEvent, Settled};
use super::outcome::{Decline, PayerAction};
use super::state::Failure;
use crate::ids::{AttemptId, CaseId};
use crate::money::Amount;
use crate::time::Timestamp;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    Initiated,
    /// The payer confirmed, and with it said who they are and where they come from.
    Confirmed {
        customer: Box<Customer>,
        context: ClientContext,
    },
    AttemptStarted {
        attempt: Box<Attempt>,
    },
    AttemptPending {
        attempt: AttemptId,
        provider_id: Option<String>,
        provider_status: Option<String>,
        payer_action: Option<PayerAction>,
        gateway_state: Option<serde_json::Value>,
        next_query_at: Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        received: Option<Amount>,
    },
    AttemptInDoubt {
        attempt: AttemptId,
        why: String,
        gateway_state: Option<serde_json::Value>,
        next_query_at: Timestamp,
        /// Since the engine stopped while the submission was away.
        #[serde(default)]
        cut_off: bool,
    },
    AttemptNotSent {
        attempt: AttemptId,
        why: String,
    },
    AttemptDeclined {
        attempt: AttemptId,
        decline: Decline,
    },
    AttemptSucceeded {
        attempt: AttemptId,
        provider_id: Option<String>,
        provider_status: Option<String>,
        captured: Amount,
        fees: Option<Amount>,
        /// Kind of a person's entry. `None`: the provider reported the success.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        entered: Option<EntryKind>,
    },
    /// The provider reported money of an attempt, or that it took money back. The event is written
    /// when that changes the charges of the attempt and no other event of the decision says so.
    MoneyReported {
        attempt: AttemptId,
        report: MoneyReport,
    },
    /// A verified report names an attempt by an id that is none of its ids until now.
    AttemptIdentified {
        attempt: AttemptId,
        provider_id: String,
    },
    /// A query of the provider started. `scheduled`: by the schedule, not by a request.
    QueryStarted {
        attempt: AttemptId,
        scheduled: bool,
        next_query_at: Timestamp,
    },
    /// The provider has nothing new to say, and is to be asked again when its gateway wants it.
    QueryPlanned {
        attempt: AttemptId,
        next_query_at: Timestamp,
    },
    /// The engine stopped before anything of the submission had left: it is made again, under the
    /// same reference.
    SubmissionResumed {
        attempt: AttemptId,
    },
    /// The payer typed a code, which is on its way to the provider.
    CodeSubmitted {
        attempt: AttemptId,
    },
    /// The code arrived, or may not have. `accepted`: the provider asks for no other one.
    CodeAnswered {
        attempt: AttemptId,
        accepted: bool,
        why: Option<String>,
    },
    /// The attempt is to be cancelled. Only the provider's answer, or the attempt's own end, ends
    /// it.
    CallOffStarted {
        attempt: AttemptId,
        by: CancelledBy,
        #[serde(default)]
        then: AfterCallOff,
        /// Whether the gateway is asked to cancel it at the provider. Otherwise its end is awaited.
        #[serde(default = "yes")]
        at_provider: bool,
    },
    /// An operator intervened. The effect is in the events beside this one.
    OperatorActed {
        operator: Operator,
        act: OperatorEvent,
        note: Option<String>,
        /// The attempt whose money the operator settled otherwise than by a success.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settled: Option<Settled>,
    },
    /// Connections of the plan that were still to come, and at which nothing may begin any more.
    /// None is left.
    SteppedOver {
        skipped: Vec<Skipped>,
    },
    /// The payer may try once more; a payout is dispatched once more.
    AttemptAllowed,
    /// Money was reported for an ended attempt: no attempt starts until that is settled.
    Held,
    Succeeded,
    Failed {
        failure: Failure,
    },
    Cancelled {
        by: CancelledBy,
    },
    Processed,
    CaseOpened {
        case: Case,
    },
    /// The provider reported another amount for the same money as an open case.
    CaseAmended {
        case: CaseId,
        amount: Amount,
        detail: String,
    },
    CaseClosed {
        case: CaseId,
        closed: Closed,
    },
}

const fn yes() -> bool {
    true
}

/// An event with its place and time, as the timeline keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// The transaction's version that this event made: 1 for the first.
    pub version: u64,
    pub at: Timestamp,
    pub event: Event,
}

/// Events of which merchants are notified (docs/contract/webhooks.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EventName {
    #[serde(rename = "payment.initiated")]
    PaymentInitiated,
    #[serde(rename = "payment.success")]
    PaymentSuccess,
    #[serde(rename = "payment.failed")]
    PaymentFailed,
    #[serde(rename = "payment.cancelled")]
    PaymentCancelled,
    #[serde(rename = "payout.initiated")]
    PayoutInitiated,
    #[serde(rename = "payout.success")]
    PayoutSuccess,
    #[serde(rename = "payout.failed")]
    PayoutFailed,
}

impl EventName {
    pub const ALL: [Self; 7] = [
        Self::PaymentInitiated,
        Self::PaymentSuccess,
        Self::PaymentFailed,
        Self::PaymentCancelled,
        Self::PayoutInitiated,
        Self::PayoutSuccess,
        Self::PayoutFailed,
    ];

    pub const fn initiated(kind: Kind) -> Self {
        match kind {
            Kind::Payment => Self::PaymentInitiated,
            Kind::Payout => Self::PayoutInitiated,
        }
    }

    pub const fn success(kind: Kind) -> Self {
        match kind {
            Kind::Payment => Self::PaymentSuccess,
            Kind::Payout => Self::PayoutSuccess,
        }
    }

    pub const fn failed(kind: Kind) -> Self {
        match kind {
            Kind::Payment => Self::PaymentFailed,
            Kind::Payout => Self::PayoutFailed,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PaymentInitiated => "payment.initiated",
            Self::PaymentSuccess => "payment.success",
            Self::PaymentFailed => "payment.failed",
            Self::PaymentCancelled => "payment.cancelled",
            Self::PayoutInitiated => "payout.initiated",
            Self::PayoutSuccess => "payout.success",
            Self::PayoutFailed => "payout.failed",
        }
    }
}
