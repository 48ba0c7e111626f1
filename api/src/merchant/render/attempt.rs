//! Outcome of an attempt: the capture of a payment, the disburse of a payout
//! (docs/contract/resources.md).

use serde::Serialize;
use serde_json::Number;
use switchyard_core::ids::{CaptureId, DisburseId};
use switchyard_core::money::Correction;
use switchyard_core::transaction::{Attempt, Case, CaseReason, Kind, State, Transaction};
use utoipa::ToSchema;

use super::RenderContext;
use super::context::ContextVerified;
use super::currency::CurrencyObject;
use super::sides::{GatewayVerified, MethodVerified};

/// The attempt that counts, of a payment.
#[derive(Serialize, ToSchema)]
pub struct Capture<'a> {
    #[schema(value_type = String)]
    id: CaptureId,
    /// The reference that the provider was given.
    #[schema(format = "uuid")]
    identifier: String,
    /// Exchange rate; null when none was applied.
    #[schema(value_type = Option<f64>)]
    rate: Option<Number>,
    rate_formatted: Option<String>,
    #[schema(value_type = Option<f64>)]
    correction_rate: Option<Number>,
    /// The phone number tied to the method; empty for a method without one.
    phone_number: &'a str,
    failure_message: Option<&'a str>,
    failure_error_code: Option<&'static str>,
    failure_error_type: Option<&'static str>,
    metadata: CaptureMetadata<'a>,
    #[schema(value_type = f64)]
    amount: Number,
    amount_formatted: String,
    currency: CurrencyObject,
    method: MethodVerified,
    gateway: GatewayVerified<'a>,
    context: ContextVerified<'a>,
}

#[derive(Serialize, ToSchema)]
pub struct CaptureMetadata<'a> {
    network_transaction_id: Option<&'a str>,
    #[schema(value_type = Option<f64>)]
    amount_debited: Option<Number>,
    #[schema(value_type = Option<f64>)]
    commission: Option<Number>,
    #[schema(value_type = Option<f64>)]
    fees: Option<Number>,
    selected_payment_method: Option<&'a str>,
}

/// The attempt that counts, of a payout.
#[derive(Serialize, ToSchema)]
pub struct Disburse<'a> {
    #[schema(value_type = String)]
    id: DisburseId,
    /// The reference that the provider was given.
    #[schema(format = "uuid")]
    identifier: String,
    failure_message: Option<&'a str>,
    failure_error_code: Option<&'static str>,
    failure_error_type: Option<&'static str>,
    method: MethodVerified,
    gateway: GatewayVerified<'a>,
}

impl<'a> Capture<'a> {
    /// `None` before the first attempt.
    pub fn new(context: &RenderContext<'_>, tx: &'a Transaction) -> Option<Self> {
        let attempt = tx.deciding_attempt()?;
        let captured = attempt.captured.unwrap_or(attempt.amount);
        let failure = Failure::of(tx, attempt);
        let conversion = attempt.conversion.as_ref();
        Some(Self {
            id: CaptureId::new(attempt.id.ulid()),
            identifier: attempt.reference.to_string(),
            rate: conversion.map(|conversion| conversion.rate.to_json_number()),
            rate_formatted: conversion.map(|conversion| conversion.formatted(tx.amount.currency())),
            correction_rate: conversion
                .and_then(|conversion| conversion.correction)
                .map(Correction::to_json_number),
            phone_number: attempt.phone.as_deref().unwrap_or_default(),
            failure_message: failure.message,
            failure_error_code: failure.code,
            failure_error_type: failure.kind,
            metadata: CaptureMetadata {
                network_transaction_id: attempt.provider_id.as_deref(),
                amount_debited: attempt.debited().map(|amount| amount.to_json_number()),
                commission: None,
                fees: attempt.fees.map(|fees| fees.to_json_number()),
                selected_payment_method: Some(&attempt.method),
            },
            amount: captured.to_json_number(),
            amount_formatted: captured.format(),
            currency: CurrencyObject::new(context, captured.currency()),
            method: MethodVerified::new(context, Kind::Payment, &attempt.method),
            gateway: GatewayVerified::new(context, attempt),
            context: ContextVerified::new(&tx.context),
        })
    }
}

impl<'a> Disburse<'a> {
    /// `None` before the first attempt.
    pub fn new(context: &RenderContext<'_>, tx: &'a Transaction) -> Option<Self> {
        let attempt = tx.deciding_attempt()?;
        let failure = Failure::of(tx, attempt);
        Some(Self {
            id: DisburseId::new(attempt.id.ulid()),
            identifier: attempt.reference.to_string(),
            failure_message: failure.message,
            failure_error_code: failure.code,
            failure_error_type: failure.kind,
            method: MethodVerified::new(context, Kind::Payout, &attempt.method),
            gateway: GatewayVerified::new(context, attempt),
        })
    }
}

/// Reason of a failure.
#[derive(Default)]
pub struct Failure<'a> {
    pub message: Option<&'a str>,
    pub code: Option<&'static str>,
    pub kind: Option<&'static str>,
}

impl<'a> Failure<'a> {
    /// Of a transaction that failed, whether or not there was an attempt.
    pub fn of_transaction(tx: &'a Transaction) -> Self {
        let State::Failed(failure) = &tx.state else {
            return Self::default();
        };
        let after_the_end = |case: &Case| {
            let failed_at = tx.failed_at.unwrap_or_default();
            case.reason == CaseReason::MoneyAfterTheEnd && case.opened_at >= failed_at
        };
        let message = match (tx.cases.iter().any(after_the_end), tx.kind()) {
            (false, _) => &failure.message,
            (true, Kind::Payment) => "Money was reported for this payment after it had failed.",
            (true, Kind::Payout) => {
                "Money was reported as sent for this payout after it had failed."
            }
        };
        Self {
            message: Some(message),
            code: Some(failure.reason.as_str()),
            kind: Some(failure.reason.fault_of()),
        }
    }

    /// Of the transaction when it failed, else of an attempt that was declined with others still
    /// allowed.
    fn of(tx: &'a Transaction, attempt: &'a Attempt) -> Self {
        if matches!(tx.state, State::Failed(_)) {
            return Self::of_transaction(tx);
        }
        // Of an attempt whose money came in after its decline, the decline says nothing any more.
        let decline = attempt
            .decline
            .as_ref()
            .filter(|_| attempt.standing_charge().is_none());
        let Some(decline) = decline else {
            return Self::default();
        };
        Self {
            message: decline.provider_message.as_deref(),
            code: Some(decline.reason.as_str()),
            kind: Some(decline.reason.fault_of()),
        }
    }
}
