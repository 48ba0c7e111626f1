//! Attempts of a transaction: one try at one connection, under one provider reference.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchyard_core::ids::{AttemptId, ConnectionId, OperatorTokenId};
use switchyard_core::money::{Correction, Currency, Rate};
use switchyard_core::transaction::{self, AfterCallOff, AttemptState, CancelledBy, DeclineReason};
use utoipa::ToSchema;

use super::{Amount, schemas};
use crate::iso_timestamp::IsoTimestamp;

/// One try of a transaction at one connection.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Attempt {
    #[schema(value_type = String)]
    pub id: AttemptId,
    /// Reference that the provider got, the only name under which it is queried.
    #[schema(format = "uuid")]
    pub reference: String,
    pub candidate: Candidate,
    /// The attempt that this one follows within the same confirmation.
    #[schema(value_type = Option<String>)]
    pub follows: Option<AttemptId>,
    /// Whether it may have been made after the backup from which the store was restored. It is
    /// queried and never submitted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub presumed: bool,
    pub method: String,
    /// ISO 3166-1 alpha-2, as the payer chose.
    pub country: Option<String>,
    /// Phone number of the method, in E.164 when it parses.
    pub phone: Option<String>,
    /// Input of the payer, by field.
    pub fields: BTreeMap<String, String>,
    /// Amount that the provider is asked to move.
    pub amount: Amount,
    /// Exchange rate, if the currency differs from that of the transaction.
    pub conversion: Option<Conversion>,
    #[schema(value_type = schemas::AttemptState)]
    pub state: AttemptState,
    /// Reason for the chosen connection. Left out for readers who may not see routing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    pub started_at: IsoTimestamp,
    /// Time at which its submission was restarted after a crash that came before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_at: Option<IsoTimestamp>,
    pub ended_at: Option<IsoTimestamp>,
    pub provider_id: Option<String>,
    /// Status in the provider's own words.
    pub provider_status: Option<String>,
    pub payer_action: Option<PayerAction>,
    /// Fee of the provider that the payer adds to the amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payer_fee: Option<Amount>,
    pub decline: Option<Decline>,
    /// Reason why the outcome is unknown, or why nothing was sent.
    pub why: Option<String>,
    pub captured: Option<Amount>,
    /// Money that the provider had received when it last reported the attempt as pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<Amount>,
    pub fees: Option<Amount>,
    /// Money that the provider reported, the largest sum of each charge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charges: Vec<Charge>,
    /// Further ids by which verified reports named the attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further_ids: Vec<String>,
    /// Scheduled queries so far.
    pub queries: u32,
    pub last_query_at: Option<IsoTimestamp>,
    pub next_query_at: Option<IsoTimestamp>,
    /// Number of restarts of its submission after a crash.
    pub resumed: u32,
    /// Whether the outcome is unknown because the engine stopped during the submission.
    pub cut_off: bool,
    /// Codes that the payer has typed.
    pub codes: u32,
    /// Time at which the last code was sent, while the gateway has not answered.
    pub code_away_since: Option<IsoTimestamp>,
    /// Request to cancel it.
    pub call_off: Option<CancelRequest>,
    /// Reason for the merchant why an operator called it failed or never sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<String>,
    /// Next connections if this attempt certainly did not reach its provider.
    pub remaining: Vec<Candidate>,
}

/// Connection that can serve a transaction, with the version of its gateway.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Candidate {
    #[schema(value_type = String)]
    pub connection: ConnectionId,
    /// Name of the gateway.
    pub gateway: String,
    pub gateway_title: String,
    /// SHA-256 of the version.
    pub gateway_hash: String,
    pub account_name: String,
    /// Seconds after which no money can move any more for an attempt, if the gateway states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_after_s: Option<u64>,
    /// Seconds in which a payer usually completes an attempt, if the gateway states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual_s: Option<u64>,
    /// Whether the gateway can cancel an attempt at its provider.
    pub can_cancel: bool,
}

/// Exchange rate of an attempt.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Conversion {
    /// Units of the attempt's currency for one unit of the transaction's, with the correction.
    #[schema(value_type = String)]
    pub rate: Rate,
    /// Correction in percent; it is part of `rate`.
    #[schema(value_type = Option<String>)]
    pub correction: Option<Correction>,
    /// Currencies over which the rate was found.
    #[schema(value_type = Vec<schemas::Currency>)]
    pub way: Vec<Currency>,
    /// Time of the oldest rate among them; null if all are fixed.
    pub as_of: Option<IsoTimestamp>,
}

/// Reason for the chosen connection, and the other connections.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Decision {
    pub chosen_because: String,
    pub skipped: Vec<Skipped>,
    /// Eligible connections in the order in which they are tried; of a long list the first ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub considered: Vec<Considered>,
    /// Rule that ordered them. Without one, the oldest comes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleUsed>,
    /// Weighted draw, of 10,000. The same for each attempt of a transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roll: Option<u16>,
}

/// Connection that was skipped.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Skipped {
    #[schema(value_type = String)]
    pub connection: ConnectionId,
    pub because: String,
}

/// Eligible connection, with the reason for its place.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Considered {
    #[schema(value_type = String)]
    pub connection: ConnectionId,
    pub gateway: String,
    pub why: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthAtDecision>,
}

/// Rule, by its place in one version of the rules.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct RuleUsed {
    /// Version of the rules; 0 for rules of a simulation.
    pub version: u64,
    /// From 1.
    pub number: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub strategy: String,
}

/// Health of a connection with a method at the time of a decision.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct HealthAtDecision {
    /// Whether the circuit breaker is open.
    pub open: bool,
    /// Calls of the last 30 seconds.
    pub calls: u32,
    /// Calls that failed by the provider's fault.
    pub faults: u32,
    /// Attempts that ended in the last 30 minutes.
    pub ended: u32,
    /// Attempts that moved the money.
    pub succeeded: u32,
    /// Whether the provider lately reported too little money in the merchant's account.
    pub short_of_funds: bool,
}

/// Refusal of a provider.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Decline {
    #[schema(value_type = schemas::DeclineReason)]
    pub reason: DeclineReason,
    /// Whether another gateway may try it.
    pub retryable: bool,
    pub provider_id: Option<String>,
    pub provider_code: Option<String>,
    pub provider_message: Option<String>,
    /// Field of the payer that was refused before anything was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

/// Charge that a provider reported.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Charge {
    /// Id of the provider; null: it named none.
    pub id: Option<String>,
    /// Null: the amount is unreadable.
    pub amount: Option<Amount>,
    /// Whether it was only reported while the attempt was pending.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_part: bool,
    /// Whether the attempt succeeded with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_recorded: bool,
    /// Whether a later report about it names an unreadable amount.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unclear: bool,
    /// Amounts of reports that contradict the charge's amount.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradicting: Vec<Amount>,
    /// Whether the provider took it back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_taken_back: bool,
}

/// Request to cancel an attempt at its provider.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct CancelRequest {
    #[schema(value_type = schemas::CancelledBy)]
    pub by: CancelledBy,
    pub asked_at: IsoTimestamp,
    #[schema(value_type = schemas::AfterCancel)]
    pub then: AfterCallOff,
}

/// Next step of the payer.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PayerAction {
    /// Open the provider's page.
    Redirect { url: String },
    /// The provider's page cannot be opened.
    UnusablePage { why: String },
    /// Confirm on the phone. Without `auto` the payer calls the prompt up, by `ussd` if there is
    /// one.
    ConfirmOnPhone {
        auto: bool,
        steps: Vec<LocalizedText>,
        ussd: Option<String>,
    },
    /// Type a code that the provider sent.
    EnterCode {
        label: String,
        length: Option<u8>,
        how: Vec<LocalizedText>,
    },
    /// Dial a USSD string.
    Dial { ussd: String },
    /// Make a bank transfer.
    Transfer {
        bank: String,
        account: String,
        name: String,
        /// Amount with the fee of the provider.
        amount: Amount,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fee: Option<Amount>,
        reference: String,
        expires: Option<String>,
    },
    /// Scan a QR code.
    ShowQr { text: String, image: Option<String> },
    /// Send crypto currency to an address.
    SendCrypto {
        address: String,
        chain: String,
        token: Option<String>,
        amount: String,
        /// Part of the attempt's amount that these coins settle.
        worth: Amount,
        uri: String,
        expires: Option<String>,
    },
    /// Wait for the provider.
    Wait,
}

/// Sentence in one language.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct LocalizedText {
    /// `en` or `fr`.
    pub lang: String,
    pub text: String,
}

/// Operator of an order, as the timeline keeps it.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct OperatorName {
    pub name: String,
    /// Null: a token of the settings file.
    #[schema(value_type = Option<String>)]
    pub token: Option<OperatorTokenId>,
}

impl From<&transaction::Attempt> for Attempt {
    fn from(attempt: &transaction::Attempt) -> Self {
        let decline = attempt.decline.clone();
        Self {
            id: attempt.id,
            reference: attempt.reference.to_string(),
            candidate: (&attempt.candidate).into(),
            follows: attempt.follows,
            presumed: attempt.presumed,
            method: attempt.method.clone(),
            country: attempt.country.clone(),
            phone: attempt.phone.clone(),
            fields: attempt.fields.clone(),
            amount: attempt.amount.into(),
            conversion: attempt.conversion.as_ref().map(Conversion::from),
            state: attempt.state,
            decision: Some((&attempt.decision).into()),
            started_at: attempt.started_at.into(),
            resumed_at: attempt.resumed_at.map(IsoTimestamp),
            ended_at: attempt.ended_at.map(IsoTimestamp),
            provider_id: attempt.provider_id.clone(),
            provider_status: attempt.provider_status.clone(),
            payer_action: attempt.payer_action.as_ref().map(PayerAction::from),
            payer_fee: attempt.payer_fee.map(Amount::from),
            decline: decline.map(Decline::from),
            why: attempt.why.clone(),
            captured: attempt.captured.map(Amount::from),
            received: attempt.received.map(Amount::from),
            fees: attempt.fees.map(Amount::from),
            charges: attempt.charges.iter().map(Charge::from).collect(),
            further_ids: attempt.further_ids.clone(),
            queries: attempt.queries,
            last_query_at: attempt.last_query_at.map(IsoTimestamp),
            next_query_at: attempt.next_query_at.map(IsoTimestamp),
            resumed: attempt.resumed,
            cut_off: attempt.cut_off,
            codes: attempt.codes,
            code_away_since: attempt.code_away_since.map(IsoTimestamp),
            call_off: attempt.call_off.map(|request| CancelRequest {
                by: request.by,
                asked_at: request.asked_at.into(),
                then: request.then,
            }),
            settled: attempt.settled.clone(),
            remaining: attempt.remaining.iter().map(Candidate::from).collect(),
        }
    }
}

impl From<&transaction::Candidate> for Candidate {
    fn from(candidate: &transaction::Candidate) -> Self {
        Self {
            connection: candidate.connection,
            gateway: candidate.gateway.clone(),
            gateway_title: candidate.gateway_title.clone(),
            gateway_hash: candidate.gateway_hash.clone(),
            account_name: candidate.account_name.clone(),
            ends_after_s: candidate.ends_after_s,
            usual_s: candidate.usual_s,
            can_cancel: candidate.can_cancel,
        }
    }
}

impl From<&transaction::Conversion> for Conversion {
    fn from(conversion: &transaction::Conversion) -> Self {
        Self {
            rate: conversion.rate,
            correction: conversion.correction,
            way: conversion.way.clone(),
            as_of: conversion.as_of.map(IsoTimestamp),
        }
    }
}

impl From<&transaction::Decision> for Decision {
    fn from(decision: &transaction::Decision) -> Self {
        let considered = decision.considered.iter().map(|one| Considered {
            connection: one.connection,
            gateway: one.gateway.clone(),
            why: one.why.clone(),
            health: one.health.as_ref().map(HealthAtDecision::from),
        });
        Self {
            chosen_because: decision.chosen_because.clone(),
            skipped: decision.skipped.iter().map(Skipped::from).collect(),
            considered: considered.collect(),
            rule: decision.rule.as_ref().map(RuleUsed::from),
            roll: decision.roll,
        }
    }
}

impl From<&transaction::Skipped> for Skipped {
    fn from(skipped: &transaction::Skipped) -> Self {
        Self {
            connection: skipped.connection,
            because: skipped.because.clone(),
        }
    }
}

impl From<&transaction::RuleUsed> for RuleUsed {
    fn from(rule: &transaction::RuleUsed) -> Self {
        Self {
            version: rule.version,
            number: rule.number,
            name: rule.name.clone(),
            strategy: rule.strategy.clone(),
        }
    }
}

impl From<&transaction::HealthNumbers> for HealthAtDecision {
    fn from(numbers: &transaction::HealthNumbers) -> Self {
        Self {
            open: numbers.open,
            calls: numbers.calls,
            faults: numbers.faults,
            ended: numbers.ended,
            succeeded: numbers.succeeded,
            short_of_funds: numbers.short_of_funds,
        }
    }
}

impl From<transaction::Decline> for Decline {
    fn from(decline: transaction::Decline) -> Self {
        Self {
            reason: decline.reason,
            retryable: decline.retryable,
            provider_id: decline.provider_id,
            provider_code: decline.provider_code,
            provider_message: decline.provider_message,
            field: decline.field,
        }
    }
}

impl From<&transaction::Charge> for Charge {
    fn from(charge: &transaction::Charge) -> Self {
        Self {
            id: charge.id.clone(),
            amount: charge.amount.map(Amount::from),
            is_part: charge.is_part,
            is_recorded: charge.is_recorded,
            is_unclear: charge.is_unclear,
            contradicting: charge
                .contradicting
                .iter()
                .copied()
                .map(Amount::from)
                .collect(),
            is_taken_back: charge.is_taken_back,
        }
    }
}

impl From<&transaction::PayerAction> for PayerAction {
    fn from(action: &transaction::PayerAction) -> Self {
        use transaction::PayerAction as Stored;
        match action.clone() {
            Stored::Redirect { url } => Self::Redirect { url },
            Stored::UnusablePage { why } => Self::UnusablePage { why },
            Stored::ConfirmOnPhone { auto, steps, ussd } => Self::ConfirmOnPhone {
                auto,
                steps: translated(steps),
                ussd,
            },
            Stored::EnterCode { label, length, how } => Self::EnterCode {
                label,
                length,
                how: translated(how),
            },
            Stored::Dial { ussd } => Self::Dial { ussd },
            Stored::Transfer {
                bank,
                account,
                name,
                amount,
                fee,
                reference,
                expires,
            } => Self::Transfer {
                bank,
                account,
                name,
                amount: amount.into(),
                fee: fee.map(Amount::from),
                reference,
                expires,
            },
            Stored::ShowQr { text, image } => Self::ShowQr { text, image },
            Stored::SendCrypto {
                address,
                chain,
                token,
                amount,
                worth,
                uri,
                expires,
            } => Self::SendCrypto {
                address,
                chain,
                token,
                amount,
                worth: worth.into(),
                uri,
                expires,
            },
            Stored::Wait => Self::Wait,
        }
    }
}

fn translated(texts: Vec<transaction::LocalizedText>) -> Vec<LocalizedText> {
    let texts = texts.into_iter().map(|text| LocalizedText {
        lang: text.lang,
        text: text.text,
    });
    texts.collect()
}

impl From<&transaction::Operator> for OperatorName {
    fn from(operator: &transaction::Operator) -> Self {
        Self {
            name: operator.name.clone(),
            token: operator.token,
        }
    }
}
