//! A payment (docs/contract/resources.md): the verify form with its capture, and the retrieve form.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Number;
use switchyard_core::environment::Environment;
use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::{CaseReason, Kind, Status, Transaction};
use utoipa::ToSchema;

use super::app::{AppRetrieved, AppVerified};
use super::attempt::{Capture, Failure};
use super::context::ContextRetrieved;
use super::currency::CurrencyObject;
use super::customer::{CustomerRetrieved, CustomerVerified};
use super::sides::{GatewayRetrieved, MethodRetrieved};
use super::{Moved, RenderContext};
use crate::iso_timestamp::IsoTimestamp;
use crate::return_url;

/// `sandbox` or `live`.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum EnvironmentWord {
    Sandbox,
    Live,
}

/// The status of a payment.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum PaymentStatus {
    Initiated,
    Pending,
    Cancelled,
    Failed,
    Success,
}

/// A payment as verify answers it.
#[derive(Serialize, ToSchema)]
pub struct PaymentVerified<'a> {
    #[schema(value_type = String, example = "py_01k0000000000000000000000")]
    id: TransactionId,
    #[schema(value_type = PaymentStatus)]
    status: Status,
    is_processed: bool,
    #[schema(value_type = Option<String>, format = DateTime)]
    processed_at: Option<IsoTimestamp>,
    #[schema(value_type = f64)]
    amount: Number,
    #[schema(example = "XOF 200")]
    amount_formatted: String,
    currency: CurrencyObject,
    description: &'a str,
    /// Reason for manual review, such as `late_success` or `amount_differs`; null without an open
    /// case.
    #[schema(value_type = Option<String>)]
    attention: Option<CaseReason>,
    /// The merchant's own until the payment has ended; then it carries `paymentId` and
    /// `paymentStatus`.
    return_url: String,
    #[schema(value_type = EnvironmentWord)]
    environment: Environment,
    #[schema(value_type = String, format = DateTime)]
    initiated_at: IsoTimestamp,
    #[schema(value_type = String, format = DateTime)]
    created_at: IsoTimestamp,
    app: AppVerified<'a>,
    customer: CustomerVerified<'a>,
    metadata: &'a BTreeMap<String, String>,
    /// Null before the first attempt.
    capture: Option<Capture<'a>>,
    /// Sum that providers reported as received and did not take back, in major units of
    /// `currency_received`; null when there is none, and when it is in several currencies or an
    /// amount cannot be read: `amount_received_formatted` names them all. The money of a success
    /// that was taken back counts again once a person has closed its case.
    #[schema(value_type = Option<f64>)]
    amount_received: Option<Number>,
    amount_received_formatted: Option<String>,
    /// ISO 4217.
    currency_received: Option<&'static str>,
}

/// A payment as retrieve and the list answer it.
#[derive(Serialize, ToSchema)]
pub struct PaymentRetrieved<'a> {
    #[schema(value_type = String, example = "py_01k0000000000000000000000")]
    id: TransactionId,
    #[schema(value_type = PaymentStatus)]
    status: Status,
    is_processed: bool,
    #[schema(value_type = Option<String>, format = DateTime)]
    processed_at: Option<IsoTimestamp>,
    #[schema(value_type = f64)]
    amount: Number,
    #[schema(example = "XOF 200")]
    amount_formatted: String,
    /// ISO 4217.
    currency: &'static str,
    description: &'a str,
    /// Reason for manual review, such as `late_success` or `amount_differs`; null without an open
    /// case.
    #[schema(value_type = Option<String>)]
    attention: Option<CaseReason>,
    /// The merchant's own until the payment has ended; then it carries `paymentId` and
    /// `paymentStatus`.
    return_url: String,
    #[schema(value_type = EnvironmentWord)]
    environment: Environment,
    #[schema(value_type = String, format = DateTime)]
    initiated_at: IsoTimestamp,
    #[schema(value_type = String, format = DateTime)]
    created_at: IsoTimestamp,
    /// When it came into the status of that name; stays set after it has left it.
    #[schema(value_type = Option<String>, format = DateTime)]
    pending_at: Option<IsoTimestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    success_at: Option<IsoTimestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    failed_at: Option<IsoTimestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    cancelled_at: Option<IsoTimestamp>,
    /// Reason of the failure; null unless it failed.
    failure_message: Option<&'a str>,
    failure_error_code: Option<&'static str>,
    failure_error_type: Option<&'static str>,
    checkout_url: String,
    /// Empty before the first attempt, and for a method without a phone number.
    payment_phone_number: &'a str,
    app: AppRetrieved<'a>,
    customer: CustomerRetrieved<'a>,
    /// Null before the first attempt.
    method: Option<MethodRetrieved>,
    /// Null before the first attempt.
    gateway: Option<GatewayRetrieved<'a>>,
    metadata: &'a BTreeMap<String, String>,
    /// As verify answers it. Null before the first attempt.
    capture: Option<Capture<'a>>,
    context: ContextRetrieved<'a>,
}

impl<'a> PaymentVerified<'a> {
    pub fn new(context: &RenderContext<'a>, tx: &'a Transaction) -> Self {
        let received = Moved::of(tx);
        Self {
            id: tx.id,
            status: tx.status(),
            is_processed: tx.processed_at.is_some(),
            processed_at: tx.processed_at.map(IsoTimestamp),
            amount: tx.amount.to_json_number(),
            amount_formatted: tx.amount.format(),
            currency: CurrencyObject::new(context, tx.amount.currency()),
            description: &tx.description,
            attention: tx.attention(),
            return_url: shown_return_url(tx),
            environment: tx.environment,
            initiated_at: IsoTimestamp(tx.created_at),
            created_at: IsoTimestamp(tx.created_at),
            app: AppVerified::new(context),
            customer: CustomerVerified::new(context, &tx.customer),
            metadata: &tx.metadata,
            capture: Capture::new(context, tx),
            amount_received: received.amount,
            amount_received_formatted: received.formatted,
            currency_received: received.currency,
        }
    }
}

impl<'a> PaymentRetrieved<'a> {
    pub fn new(context: &RenderContext<'a>, tx: &'a Transaction) -> Self {
        let attempt = tx.deciding_attempt();
        let failure = Failure::of_transaction(tx);
        Self {
            id: tx.id,
            status: tx.status(),
            is_processed: tx.processed_at.is_some(),
            processed_at: tx.processed_at.map(IsoTimestamp),
            amount: tx.amount.to_json_number(),
            amount_formatted: tx.amount.format(),
            currency: tx.amount.currency().code(),
            description: &tx.description,
            attention: tx.attention(),
            return_url: shown_return_url(tx),
            environment: tx.environment,
            initiated_at: IsoTimestamp(tx.created_at),
            created_at: IsoTimestamp(tx.created_at),
            pending_at: tx.pending_at.map(IsoTimestamp),
            success_at: tx.success_at.map(IsoTimestamp),
            failed_at: tx.failed_at.map(IsoTimestamp),
            cancelled_at: tx.cancelled_at.map(IsoTimestamp),
            failure_message: failure.message,
            failure_error_code: failure.code,
            failure_error_type: failure.kind,
            checkout_url: checkout_url(context.public_url, tx.id),
            payment_phone_number: attempt
                .and_then(|attempt| attempt.phone.as_deref())
                .unwrap_or_default(),
            app: AppRetrieved::new(context),
            customer: CustomerRetrieved::new(&tx.customer, tx.environment),
            method: attempt.map(|attempt| {
                MethodRetrieved::new(context, Kind::Payment, &attempt.method, tx.environment)
            }),
            gateway: attempt.map(|attempt| GatewayRetrieved::new(context, attempt, tx.environment)),
            metadata: &tx.metadata,
            capture: Capture::new(context, tx),
            context: ContextRetrieved::new(&tx.context),
        }
    }
}

/// The hosted payment page. Clients take its last path part as the id
/// (docs/contract/identifiers.md).
pub fn checkout_url(public_url: &str, id: TransactionId) -> String {
    [public_url, "/checkout/", &id.to_string()].concat()
}

fn shown_return_url(tx: &Transaction) -> String {
    let Some(payment) = tx.payment() else {
        return String::new();
    };
    if tx.status().is_final() {
        return return_url::with_outcome(&payment.return_url, tx.id, tx.status());
    }
    payment.return_url.clone()
}
