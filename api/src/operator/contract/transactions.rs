//! Transactions, with everything that is known of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Number;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, AttemptId, CustomerId, TransactionId};
use switchyard_core::money::{self, Currency};
use switchyard_core::transaction::{self, CaseReason, EventName, Kind, Received, Status};
use utoipa::{IntoParams, ToSchema};

use super::attempts::Attempt;
use super::cases::Case;
use super::timeline::TimelineEntry;
use super::{NumberOrText, schemas};
use crate::envelope::Page;
use crate::iso_timestamp::IsoTimestamp;
use crate::merchant::render::and_unreadable;
use crate::merchant::render::attempt::Failure;

/// Transaction in a list.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct TransactionSummary {
    #[serde(flatten)]
    pub facts: Facts,
    /// E-mail address of the customer.
    pub customer: String,
}

/// Transaction with its attempts, cases and timeline.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Transaction {
    #[serde(flatten)]
    pub known: TransactionFields,
    /// Events, calls to providers and callbacks, in order of time.
    pub timeline: Vec<TimelineEntry>,
}

/// Transaction with its attempts and cases.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct TransactionFields {
    #[serde(flatten)]
    pub facts: Facts,
    pub customer: Customer,
    /// The merchant's own keys and values.
    pub metadata: BTreeMap<String, String>,
    pub details: Details,
    pub context: ClientContext,
    pub attempts: Vec<Attempt>,
    pub cases: Vec<Case>,
    pub pending_at: Option<IsoTimestamp>,
    pub success_at: Option<IsoTimestamp>,
    pub failed_at: Option<IsoTimestamp>,
    pub cancelled_at: Option<IsoTimestamp>,
    pub processed_at: Option<IsoTimestamp>,
    /// Time of the next automatic step.
    pub next_action_at: Option<IsoTimestamp>,
}

/// Main facts of a transaction.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Facts {
    #[schema(value_type = String)]
    pub id: TransactionId,
    #[schema(value_type = schemas::Kind)]
    pub kind: Kind,
    #[schema(value_type = String)]
    pub app: AppId,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    #[schema(value_type = schemas::Status)]
    pub status: Status,
    #[schema(value_type = schemas::TransactionState)]
    pub state: String,
    /// Amount in major units.
    #[schema(value_type = f64)]
    pub amount: Number,
    #[schema(value_type = schemas::Currency)]
    pub currency: Currency,
    pub amount_formatted: String,
    pub description: String,
    pub method: Option<String>,
    /// Gateway of the attempt that counts.
    pub gateway: Option<String>,
    pub failure_reason: Option<String>,
    pub failure_message: Option<String>,
    pub open_cases: usize,
    /// Reason of the open case that the merchant sees.
    #[schema(value_type = Option<schemas::CaseReason>)]
    pub attention: Option<CaseReason>,
    /// Received amount in major units; of a payment without money that the provider took back.
    /// Null when there is none, and when it is in several currencies or an amount cannot be read.
    #[schema(value_type = Option<f64>)]
    pub received: Option<Number>,
    pub received_formatted: Option<String>,
    pub created_at: IsoTimestamp,
    pub updated_at: IsoTimestamp,
}

/// Customer as the transaction knows them.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Customer {
    #[schema(value_type = String)]
    pub id: CustomerId,
    pub first_name: String,
    pub last_name: String,
    pub email: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// ISO 3166-1 alpha-2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zip_code: Option<String>,
    pub created_at: IsoTimestamp,
    pub updated_at: IsoTimestamp,
}

/// Client that made the request: the merchant's server, and after the confirmation the payer's
/// browser.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct ClientContext {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// ISO 3166-1 alpha-2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
}

/// Fields of a payment or of a payout.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Details {
    Payment {
        /// URL to which the payer returns.
        return_url: String,
        /// Codes of the offered methods; empty: all.
        methods: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restriction: Option<Restriction>,
        /// Attempts that the payer has on the checkout page.
        attempts_allowed: u8,
        /// Time at which it is cancelled if no attempt is open.
        expires_at: IsoTimestamp,
    },
    Payout {
        method: String,
        /// Fields of the recipient: `msisdn`, `account_number`, …
        recipient: BTreeMap<String, String>,
    },
}

/// Restriction of the payers.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum Restriction {
    Country {
        /// ISO 3166-1 alpha-2.
        country_code: String,
    },
    Phone {
        /// In E.164 when it parses.
        number: String,
        country_code: String,
    },
}

/// Transactions of an app: their kind, status and time of creation.
#[derive(Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TransactionSelection {
    /// Default: live for an app with live transactions, otherwise sandbox.
    #[param(value_type = Option<schemas::Environment>)]
    pub environment: Option<Environment>,
    /// Default: `payment`.
    #[param(value_type = Option<schemas::Kind>)]
    pub kind: Option<String>,
    #[param(value_type = Option<schemas::Status>)]
    pub status: Option<String>,
    /// Created since this day (`2026-11-20`) or time, in UTC.
    pub from_date: Option<String>,
    /// Created until this day or time, in UTC.
    pub to_date: Option<String>,
}

/// Transactions and columns of an export.
#[derive(Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExportFilter {
    #[serde(flatten)]
    #[param(ignore)]
    pub selection: TransactionSelection,
    /// Only the matches of a search, see `searchTransactions`. Not combined with status and dates.
    pub text: Option<String>,
    /// Names of columns, in their order, with commas between. Default: all.
    pub columns: Option<String>,
}

/// Transactions and page of a list.
#[derive(Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TransactionFilter {
    #[serde(flatten)]
    #[param(ignore)]
    pub selection: TransactionSelection,
    /// Page size, at most 100. Default: 20.
    pub limit: Option<usize>,
    /// Number of the page, from 1.
    pub page: Option<usize>,
}

/// Page of a list, with the environment of its transactions.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct TransactionPage {
    #[serde(flatten)]
    pub page: Page,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
}

/// Transaction after a query of its provider.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct QueryReport {
    #[serde(flatten)]
    pub transaction: Transaction,
    /// Whether the provider was queried.
    pub asked: bool,
    /// Whether it has answered.
    pub answered: bool,
}

/// Resolution of an attempt by the provider's records. It is final.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    pub outcome: ResolveOutcome,
    /// Evidence, for the timeline.
    pub note: String,
    /// Attempt to resolve. Default: the open one.
    #[schema(value_type = Option<String>)]
    pub attempt: Option<AttemptId>,
    /// Received amount in major units, if the provider reported another one. Of several reported
    /// charges: the amount of one, with its `provider_id` where amounts are equal, or the sum of
    /// all without an id. Only for `succeeded`.
    pub amount: Option<NumberOrText>,
    /// Id of the provider, required for `succeeded` when none is known.
    pub provider_id: Option<String>,
    /// Whether `provider_id` names a charge beside those that the provider reported. Without it an
    /// id that no reported charge has is refused.
    #[serde(default)]
    pub another_charge: bool,
    /// Whether more than the requested amount came in. Without it an `amount` above the requested
    /// one is refused, unless the provider reported it.
    #[serde(default)]
    pub surplus: bool,
    /// Reason for the merchant. Only for `failed`.
    pub message: Option<String>,
}

/// Outcome of an attempt by the provider's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolveOutcome {
    Succeeded,
    Failed,
    NeverSent,
}

/// Cancellation of a transaction.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// Reason, for the timeline.
    pub note: Option<String>,
}

/// Event to produce in sandbox.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Trigger {
    #[schema(value_type = schemas::EventName)]
    pub event: String,
}

/// Transaction that was created for an event.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Triggered {
    #[serde(flatten)]
    pub transaction: TransactionSummary,
    /// `false`: it has not come to the end that the event names; `message` has the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<bool>,
}

/// Filter of the stream of events.
#[derive(Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventFilter {
    /// Default: both.
    #[param(value_type = Option<schemas::Environment>)]
    pub environment: Option<Environment>,
}

/// Event of the stream, as a webhook gets it.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct StreamEvent {
    /// Id of the event, the `webhook-id` of its deliveries.
    pub id: String,
    #[schema(value_type = schemas::EventName)]
    pub event: EventName,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    pub at: IsoTimestamp,
    #[schema(value_type = String)]
    pub transaction: TransactionId,
    /// Body of the webhook, byte for byte.
    pub body: String,
}

impl From<&transaction::Transaction> for Facts {
    fn from(transaction: &transaction::Transaction) -> Self {
        let (attempt, received) = (transaction.deciding_attempt(), transaction.kept());
        let failure = Failure::of_transaction(transaction);
        let open = transaction
            .cases
            .iter()
            .filter(|case| case.closed.is_none());
        Self {
            id: transaction.id,
            kind: transaction.kind(),
            app: transaction.app,
            environment: transaction.environment,
            status: transaction.status(),
            state: transaction.state.name().to_owned(),
            amount: transaction.amount.to_json_number(),
            currency: transaction.amount.currency(),
            amount_formatted: transaction.amount.format(),
            description: transaction.description.clone(),
            method: transaction.method().map(str::to_owned),
            gateway: attempt.map(|attempt| attempt.candidate.gateway.clone()),
            failure_reason: failure.code.map(str::to_owned),
            failure_message: failure.message.map(str::to_owned),
            open_cases: open.count(),
            attention: transaction.attention(),
            received: received
                .as_ref()
                .and_then(Received::single)
                .map(money::Amount::to_json_number),
            received_formatted: received
                .map(|received| received.text(&and_unreadable(), money::Amount::format)),
            created_at: transaction.created_at.into(),
            updated_at: transaction.updated_at.into(),
        }
    }
}

impl From<&transaction::Transaction> for TransactionSummary {
    fn from(transaction: &transaction::Transaction) -> Self {
        Self {
            facts: transaction.into(),
            customer: transaction.customer.email.clone(),
        }
    }
}

impl Transaction {
    pub fn new(transaction: &transaction::Transaction, timeline: Vec<TimelineEntry>) -> Self {
        Self {
            known: TransactionFields::from(transaction),
            timeline,
        }
    }
}

impl From<&transaction::Transaction> for TransactionFields {
    fn from(transaction: &transaction::Transaction) -> Self {
        Self {
            facts: transaction.into(),
            customer: (&transaction.customer).into(),
            metadata: transaction.metadata.clone(),
            details: (&transaction.details).into(),
            context: (&transaction.context).into(),
            attempts: transaction.attempts.iter().map(Attempt::from).collect(),
            cases: transaction.cases.iter().map(Case::from).collect(),
            pending_at: transaction.pending_at.map(IsoTimestamp),
            success_at: transaction.success_at.map(IsoTimestamp),
            failed_at: transaction.failed_at.map(IsoTimestamp),
            cancelled_at: transaction.cancelled_at.map(IsoTimestamp),
            processed_at: transaction.processed_at.map(IsoTimestamp),
            next_action_at: transaction.wake_at().map(IsoTimestamp),
        }
    }
}

impl From<&transaction::Customer> for Customer {
    fn from(customer: &transaction::Customer) -> Self {
        Self {
            id: customer.id,
            first_name: customer.first_name.clone(),
            last_name: customer.last_name.clone(),
            email: customer.email.clone(),
            phone: customer.phone.clone(),
            address: customer.address.clone(),
            city: customer.city.clone(),
            state: customer.state.clone(),
            country_code: customer.country_code.clone(),
            zip_code: customer.zip_code.clone(),
            created_at: customer.created_at.into(),
            updated_at: customer.updated_at.into(),
        }
    }
}

impl From<&transaction::ClientContext> for ClientContext {
    fn from(context: &transaction::ClientContext) -> Self {
        Self {
            ip: context.ip.clone(),
            user_agent: context.user_agent.clone(),
            country: context.country.clone(),
            locale: context.locale.clone(),
        }
    }
}

impl From<&transaction::Details> for Details {
    fn from(details: &transaction::Details) -> Self {
        match details {
            transaction::Details::Payment(payment) => Self::Payment {
                return_url: payment.return_url.clone(),
                methods: payment.methods.clone(),
                restriction: payment.restriction.as_ref().map(Restriction::from),
                attempts_allowed: payment.attempts_allowed,
                expires_at: payment.expires_at.into(),
            },
            transaction::Details::Payout(payout) => Self::Payout {
                method: payout.method.clone(),
                recipient: payout.recipient.clone(),
            },
        }
    }
}

impl From<&transaction::Restriction> for Restriction {
    fn from(restriction: &transaction::Restriction) -> Self {
        match restriction.clone() {
            transaction::Restriction::Country { country_code } => Self::Country { country_code },
            transaction::Restriction::Phone {
                number,
                country_code,
            } => Self::Phone {
                number,
                country_code,
            },
        }
    }
}
