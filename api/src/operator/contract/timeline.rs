//! Timeline of a transaction: its events, the calls to providers and their callbacks.

use serde::{Deserialize, Serialize};
use switchyard_core::ids::{AttemptId, CaseId};
use switchyard_core::transaction::{
    self, AfterCallOff, CancelledBy, DeclineReason, OperatorEvent, Recorded,
};
use switchyard_gateway_host::{self as gateway, Stage};
use utoipa::ToSchema;

use super::attempts::{Attempt, Decline, OperatorName, PayerAction, Skipped};
use super::callbacks::Callback;
use super::cases::{Case, Closed};
use super::transactions::{ClientContext, Customer};
use super::{Amount, schemas};
use crate::iso_timestamp::IsoTimestamp;

/// Entry of the timeline.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum TimelineEntry {
    /// Step of the transaction.
    Event {
        at: IsoTimestamp,
        /// Version of the transaction after the event, from 1.
        version: u64,
        event: Event,
    },
    /// Call to the provider of an attempt.
    Exchange {
        at: IsoTimestamp,
        #[schema(value_type = String)]
        attempt: AttemptId,
        exchange: ProviderCall,
    },
    /// Callback of the provider.
    Callback {
        at: IsoTimestamp,
        #[schema(value_type = Option<String>)]
        attempt: Option<AttemptId>,
        callback: Callback,
    },
}

/// Call to a provider, without its secrets.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct ProviderCall {
    pub gateway: String,
    pub operation: String,
    pub method: String,
    pub url: String,
    pub request_headers: Vec<(String, String)>,
    pub request_body: Option<String>,
    /// Whether it can have moved money.
    pub mutates: bool,
    #[schema(value_type = schemas::CallStage)]
    pub stage: Stage,
    pub status: Option<u16>,
    pub response_headers: Vec<(String, String)>,
    pub response_body: Option<String>,
    pub error: Option<String>,
    pub duration_ms: Option<u64>,
    /// Consequence of the response for the attempt, where the response does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
}

/// Step of a transaction.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    Initiated {},
    /// The payer confirmed.
    Confirmed {
        customer: Box<Customer>,
        context: ClientContext,
    },
    AttemptStarted {
        attempt: Box<Attempt>,
    },
    AttemptPending {
        #[schema(value_type = String)]
        attempt: AttemptId,
        provider_id: Option<String>,
        provider_status: Option<String>,
        payer_action: Option<PayerAction>,
        next_query_at: IsoTimestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        received: Option<Amount>,
    },
    /// The outcome of the submission is unknown.
    AttemptInDoubt {
        #[schema(value_type = String)]
        attempt: AttemptId,
        why: String,
        next_query_at: IsoTimestamp,
        /// Whether the engine stopped during the submission.
        cut_off: bool,
    },
    AttemptNotSent {
        #[schema(value_type = String)]
        attempt: AttemptId,
        why: String,
    },
    AttemptDeclined {
        #[schema(value_type = String)]
        attempt: AttemptId,
        decline: Decline,
    },
    AttemptSucceeded {
        #[schema(value_type = String)]
        attempt: AttemptId,
        provider_id: Option<String>,
        provider_status: Option<String>,
        captured: Amount,
        fees: Option<Amount>,
    },
    /// The provider reported money of an attempt, or took it back.
    MoneyReported {
        #[schema(value_type = String)]
        attempt: AttemptId,
        report: MoneyReport,
    },
    /// A verified report names an attempt by an id that it did not have.
    AttemptIdentified {
        #[schema(value_type = String)]
        attempt: AttemptId,
        provider_id: String,
    },
    QueryStarted {
        #[schema(value_type = String)]
        attempt: AttemptId,
        scheduled: bool,
        next_query_at: IsoTimestamp,
    },
    QueryPlanned {
        #[schema(value_type = String)]
        attempt: AttemptId,
        next_query_at: IsoTimestamp,
    },
    /// The submission was restarted after a crash that came before it.
    SubmissionResumed {
        #[schema(value_type = String)]
        attempt: AttemptId,
    },
    /// The payer typed a code.
    CodeSubmitted {
        #[schema(value_type = String)]
        attempt: AttemptId,
    },
    CodeAnswered {
        #[schema(value_type = String)]
        attempt: AttemptId,
        accepted: bool,
        why: Option<String>,
    },
    /// The cancellation of an attempt was requested.
    CallOffStarted {
        #[schema(value_type = String)]
        attempt: AttemptId,
        #[schema(value_type = schemas::CancelledBy)]
        by: CancelledBy,
        #[schema(value_type = schemas::AfterCancel)]
        then: AfterCallOff,
        /// Whether the provider is asked to cancel it. Otherwise its end is awaited.
        at_provider: bool,
    },
    OperatorActed {
        operator: OperatorName,
        #[schema(value_type = schemas::OperatorAct)]
        act: OperatorEvent,
        note: Option<String>,
        /// The attempt that the operator resolved without a success.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settled: Option<Settled>,
    },
    /// The remaining connections were skipped. None is named to readers who may not see routing.
    SteppedOver {
        skipped: Vec<Skipped>,
    },
    /// Another attempt is allowed.
    AttemptAllowed {},
    /// Money was reported for an ended attempt: no attempt starts until it is resolved.
    Held {},
    Succeeded {},
    Failed {
        failure: Failure,
    },
    Cancelled {
        #[schema(value_type = schemas::CancelledBy)]
        by: CancelledBy,
    },
    /// The merchant marked the payment as processed.
    Processed {},
    CaseOpened {
        case: Case,
    },
    /// The provider reported another amount for the money of an open case.
    CaseAmended {
        #[schema(value_type = String)]
        case: CaseId,
        amount: Amount,
        detail: String,
    },
    CaseClosed {
        #[schema(value_type = String)]
        case: CaseId,
        closed: Closed,
    },
}

/// Report of a provider about money.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MoneyReport {
    Moved {
        provider_id: Option<String>,
        /// Null: the amount is unreadable.
        amount: Option<Amount>,
    },
    /// Sum that has moved until now.
    Part {
        provider_id: Option<String>,
        amount: Amount,
    },
    TakenBack {
        provider_id: Option<String>,
    },
}

/// Statement of an operator that an attempt moved no money that ends its transaction.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Settled {
    #[schema(value_type = String)]
    pub attempt: AttemptId,
    /// Reason, in words for the merchant.
    pub message: String,
}

/// Failure of a transaction, as the merchant sees it.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Failure {
    #[schema(value_type = schemas::DeclineReason)]
    pub reason: DeclineReason,
    pub message: String,
}

impl TimelineEntry {
    pub fn exchange(attempt: AttemptId, call: gateway::ProviderCall) -> Self {
        Self::Exchange {
            at: call.at.into(),
            attempt,
            exchange: ProviderCall {
                gateway: call.gateway,
                operation: call.operation,
                method: call.method,
                url: call.url,
                request_headers: call.request_headers,
                request_body: call.request_body,
                mutates: call.mutates,
                stage: call.stage,
                status: call.status,
                response_headers: call.response_headers,
                response_body: call.response_body,
                error: call.error,
                duration_ms: call.duration_ms,
                meaning: call.meaning,
            },
        }
    }

    pub fn callback(callback: Callback) -> Self {
        Self::Callback {
            at: callback.received_at,
            attempt: callback.attempt,
            callback,
        }
    }

    pub const fn at(&self) -> IsoTimestamp {
        match self {
            Self::Event { at, .. } | Self::Exchange { at, .. } | Self::Callback { at, .. } => *at,
        }
    }
}

impl From<Recorded> for TimelineEntry {
    fn from(recorded: Recorded) -> Self {
        Self::Event {
            at: recorded.at.into(),
            version: recorded.version,
            event: recorded.event.into(),
        }
    }
}

/// Converts events. Of a variant in the first list, each field is converted by `into`.
macro_rules! convert {
    ($event:expr, [$($variant:ident { $($field:ident),* };)*], { $($other:tt)* }) => {
        match $event {
            $(Stored::$variant { $($field),* } => Self::$variant { $($field: $field.into()),* },)*
            $($other)*
        }
    };
}

impl From<transaction::Event> for Event {
    fn from(event: transaction::Event) -> Self {
        use transaction::Event as Stored;
        convert! { event, [
            Initiated {};
            AttemptNotSent { attempt, why };
            AttemptDeclined { attempt, decline };
            MoneyReported { attempt, report };
            AttemptIdentified { attempt, provider_id };
            QueryStarted { attempt, scheduled, next_query_at };
            QueryPlanned { attempt, next_query_at };
            SubmissionResumed { attempt };
            CodeSubmitted { attempt };
            CodeAnswered { attempt, accepted, why };
            CallOffStarted { attempt, by, then, at_provider };
            AttemptAllowed {};
            Held {};
            Succeeded {};
            Failed { failure };
            Cancelled { by };
            Processed {};
            CaseOpened { case };
            CaseAmended { case, amount, detail };
            CaseClosed { case, closed };
            ], {
                Stored::Confirmed { customer, context } => Self::Confirmed {
                    customer: Box::new((&*customer).into()),
                    context: (&context).into(),
                },
                Stored::AttemptStarted { attempt } => Self::AttemptStarted {
                    attempt: Box::new((&*attempt).into()),
                },
                Stored::AttemptPending { attempt, provider_id, provider_status, payer_action,
                    gateway_state: _, next_query_at, received } => Self::AttemptPending {
                    attempt, provider_id, provider_status,
                    payer_action: payer_action.as_ref().map(PayerAction::from),
                    next_query_at: next_query_at.into(),
                    received: received.map(Amount::from),
                },
                Stored::AttemptInDoubt { attempt, why, gateway_state: _, next_query_at, cut_off }
                => Self::AttemptInDoubt {
                    attempt, why, next_query_at: next_query_at.into(), cut_off,
                },
                // The event of the person's act tells that it was entered.
                Stored::AttemptSucceeded {
                    attempt, provider_id, provider_status, captured, fees, entered: _,
                } => Self::AttemptSucceeded {
                    attempt, provider_id, provider_status,
                    captured: captured.into(),
                    fees: fees.map(Amount::from),
                },
                Stored::OperatorActed { operator, act, note, settled } => Self::OperatorActed {
                    operator: (&operator).into(),
                    act, note,
                    settled: settled.map(Settled::from),
                },
                Stored::SteppedOver { skipped } => Self::SteppedOver {
                    skipped: skipped.iter().map(Skipped::from).collect(),
                },
            }
        }
    }
}

impl From<transaction::MoneyReport> for MoneyReport {
    fn from(report: transaction::MoneyReport) -> Self {
        use transaction::MoneyReport as Stored;
        match report {
            Stored::Moved {
                provider_id,
                amount,
            } => Self::Moved {
                provider_id,
                amount: amount.map(Amount::from),
            },
            Stored::Part {
                provider_id,
                amount,
            } => Self::Part {
                provider_id,
                amount: amount.into(),
            },
            Stored::TakenBack { provider_id } => Self::TakenBack { provider_id },
        }
    }
}

impl From<transaction::Settled> for Settled {
    fn from(settled: transaction::Settled) -> Self {
        Self {
            attempt: settled.attempt,
            message: settled.message,
        }
    }
}

impl From<transaction::Failure> for Failure {
    fn from(failure: transaction::Failure) -> Self {
        Self {
            reason: failure.reason,
            message: failure.message,
        }
    }
}
