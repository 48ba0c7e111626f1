//! A payout (docs/contract/resources.md): the verify form with its disburse, and the retrieve form.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Number;
use switchyard_core::environment::Environment;
use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::{CaseReason, Kind, Status, Transaction};
use utoipa::ToSchema;

use super::app::{AppRetrieved, AppVerified};
use super::attempt::{Disburse, Failure};
use super::context::ContextRetrieved;
use super::currency::CurrencyObject;
use super::customer::{CustomerRetrieved, CustomerVerified};
use super::payment::EnvironmentWord;
use super::sides::{GatewayRetrieved, MethodRetrieved};
use super::{Moved, RenderContext};
use crate::iso_timestamp::IsoTimestamp;

/// The status of a payout.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum PayoutStatus {
    Initiated,
    Pending,
    Failed,
    Success,
}

/// A payout as verify answers it.
#[derive(Serialize, ToSchema)]
pub struct PayoutVerified<'a> {
    #[schema(value_type = String, example = "po_01k0000000000000000000000")]
    id: TransactionId,
    #[schema(value_type = PayoutStatus)]
    status: Status,
    #[schema(value_type = f64)]
    amount: Number,
    currency: CurrencyObject,
    #[schema(example = "XOF 200")]
    amount_formatted: String,
    description: &'a str,
    /// Reason for manual review, such as `late_success` or `amount_differs`; null without an open
    /// case.
    #[schema(value_type = Option<String>)]
    attention: Option<CaseReason>,
    /// Sum that providers reported as sent, in major units of `currency_sent`, also after the
    /// payout had failed; null when no readable amount was reported, and when it is in several
    /// currencies or an amount cannot be read. Money that the provider took back counts, too.
    #[schema(value_type = Option<f64>)]
    amount_sent: Option<Number>,
    /// The same in words; null when nothing was reported. A failed payout is sent again only then.
    amount_sent_formatted: Option<String>,
    /// ISO 4217.
    currency_sent: Option<&'static str>,
    #[schema(value_type = EnvironmentWord)]
    environment: Environment,
    metadata: &'a BTreeMap<String, String>,
    app: AppVerified<'a>,
    customer: CustomerVerified<'a>,
    /// Null until it is sent.
    disburse: Option<Disburse<'a>>,
    #[schema(value_type = Option<String>, format = DateTime)]
    failed_at: Option<IsoTimestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pending_at: Option<IsoTimestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    success_at: Option<IsoTimestamp>,
}

/// A payout as retrieve and the list answer it.
#[derive(Serialize, ToSchema)]
pub struct PayoutRetrieved<'a> {
    #[schema(value_type = String, example = "po_01k0000000000000000000000")]
    id: TransactionId,
    #[schema(value_type = PayoutStatus)]
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
    /// Sum that providers reported as sent, in major units of `currency_sent`, also after the
    /// payout had failed; null when no readable amount was reported.
    #[schema(value_type = Option<f64>)]
    amount_sent: Option<Number>,
    /// The same in words; null when nothing was reported. A failed payout is sent again only then.
    amount_sent_formatted: Option<String>,
    /// ISO 4217.
    currency_sent: Option<&'static str>,
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
    /// Reason of the failure; null unless it failed.
    failure_message: Option<&'a str>,
    failure_error_code: Option<&'static str>,
    failure_error_type: Option<&'static str>,
    /// The recipient's number, as given.
    payout_phone_number: &'a str,
    app: AppRetrieved<'a>,
    customer: CustomerRetrieved<'a>,
    method: Option<MethodRetrieved>,
    /// Null until it is sent.
    gateway: Option<GatewayRetrieved<'a>>,
    metadata: &'a BTreeMap<String, String>,
    /// As verify answers it. Null until it is sent.
    disburse: Option<Disburse<'a>>,
    context: ContextRetrieved<'a>,
}

impl<'a> PayoutVerified<'a> {
    pub fn new(context: &RenderContext<'a>, tx: &'a Transaction) -> Self {
        let sent = Moved::of(tx);
        Self {
            id: tx.id,
            status: tx.status(),
            amount: tx.amount.to_json_number(),
            currency: CurrencyObject::new(context, tx.amount.currency()),
            amount_formatted: tx.amount.format(),
            description: &tx.description,
            attention: tx.attention(),
            amount_sent: sent.amount,
            amount_sent_formatted: sent.formatted,
            currency_sent: sent.currency,
            environment: tx.environment,
            metadata: &tx.metadata,
            app: AppVerified::new(context),
            customer: CustomerVerified::new(context, &tx.customer),
            disburse: Disburse::new(context, tx),
            failed_at: tx.failed_at.map(IsoTimestamp),
            pending_at: tx.pending_at.map(IsoTimestamp),
            success_at: tx.success_at.map(IsoTimestamp),
        }
    }
}

impl<'a> PayoutRetrieved<'a> {
    pub fn new(context: &RenderContext<'a>, tx: &'a Transaction) -> Self {
        let sent = Moved::of(tx);
        let attempt = tx.deciding_attempt();
        let failure = Failure::of_transaction(tx);
        let environment = tx.environment;
        let recipient = tx.payout().map(|payout| &payout.recipient);
        let number = recipient.and_then(|recipient| {
            recipient
                .get("msisdn")
                .or_else(|| recipient.values().next())
        });
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
            amount_sent: sent.amount,
            amount_sent_formatted: sent.formatted,
            currency_sent: sent.currency,
            environment,
            initiated_at: IsoTimestamp(tx.created_at),
            created_at: IsoTimestamp(tx.created_at),
            pending_at: tx.pending_at.map(IsoTimestamp),
            success_at: tx.success_at.map(IsoTimestamp),
            failed_at: tx.failed_at.map(IsoTimestamp),
            failure_message: failure.message,
            failure_error_code: failure.code,
            failure_error_type: failure.kind,
            payout_phone_number: number.map_or("", String::as_str),
            app: AppRetrieved::new(context),
            customer: CustomerRetrieved::new(&tx.customer, environment),
            method: tx
                .method()
                .map(|code| MethodRetrieved::new(context, Kind::Payout, code, environment)),
            gateway: attempt.map(|attempt| GatewayRetrieved::new(context, attempt, environment)),
            metadata: &tx.metadata,
            disburse: Disburse::new(context, tx),
            context: ContextRetrieved::new(&tx.context),
        }
    }
}
