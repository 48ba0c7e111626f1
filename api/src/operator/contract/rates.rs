//! Exchange rates.

use serde::{Deserialize, Serialize};
use switchyard_core::money::{Correction, Currency, Rate as Decimal};
use switchyard_engine::exchange_rates::{
    Entry, HeldRate as Held, HoldReason, Source, UnusableRate,
};
use utoipa::{IntoParams, ToSchema};

use super::schemas;
use crate::iso_timestamp::IsoTimestamp;

/// Exchange rate: units of `to` for one unit of `from`.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Rate {
    #[schema(value_type = schemas::Currency)]
    pub from: Currency,
    #[schema(value_type = schemas::Currency)]
    pub to: Currency,
    #[schema(value_type = String, example = "655.957")]
    pub rate: Decimal,
    #[schema(value_type = schemas::RateSource)]
    pub source: Source,
    /// Time at which it was set or fetched; null for a fixed rate.
    pub at: Option<IsoTimestamp>,
    pub valid_until: Option<IsoTimestamp>,
}

/// Rate that an operator set.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct RateSet {
    #[serde(flatten)]
    pub rate: Rate,
    /// The fixed rate that it replaces, such as `1 EUR = 655.957 XOF`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of_fixed: Option<String>,
}

/// Fetched rate that is unused until an operator accepts it, or fetched value that is no rate.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct HeldRate {
    #[schema(value_type = schemas::Currency)]
    pub from: Currency,
    #[schema(value_type = schemas::Currency)]
    pub to: Currency,
    /// The rate as fetched; for `not_a_rate` the value as sent.
    pub rate: String,
    /// The last accepted rate, the one with which the day (UTC) began, or the one that a fixed rate
    /// or other rates imply. Null if nothing was accepted before.
    #[schema(value_type = Option<String>)]
    pub expected: Option<Decimal>,
    #[schema(value_type = schemas::HoldReason)]
    pub reason: HeldReason,
    /// The currency whose fixed rate it contradicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schemas::Currency>)]
    pub pegged_to: Option<Currency>,
    pub state: HeldState,
    pub fetched_at: IsoTimestamp,
    /// Time from which it can no longer be accepted.
    pub valid_until: Option<IsoTimestamp>,
}

/// `rejected` while the source repeats a rejected rate; `unusable` for a value that is no rate,
/// which cannot be accepted.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HeldState {
    Held,
    Rejected,
    Unusable,
}

/// Reason why a fetched rate is not used.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldReason {
    NotARate,
    #[serde(untagged)]
    Held(HoldReason),
}

/// Number of fetched rates.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Fetched {
    /// Rates that are in use now.
    pub rates: usize,
    /// Implausible rates, which are held.
    pub held: usize,
    /// Values that are no rates: zero, negative, no number, or out of range.
    #[serde(default)]
    pub unusable: usize,
}

/// Decision of an operator about a held rate.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RateDecision {
    /// The held rate that the operator has seen.
    pub rate: String,
}

/// New rate, or another one of a pair.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRate {
    #[schema(value_type = schemas::Currency)]
    pub from: String,
    #[schema(value_type = schemas::Currency)]
    pub to: String,
    /// Decimal with at most 12 significant digits.
    #[schema(example = "655.957")]
    pub rate: String,
    /// Date or time at which the rate expires.
    pub valid_until: Option<String>,
}

/// Conversion to quote.
#[derive(Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct QuoteRequest {
    pub from: String,
    pub to: String,
    /// Amount in major units. Default: 1.
    pub amount: Option<String>,
    /// Percentage that is added to the rate. Default: 0.
    pub correction: Option<String>,
}

/// Conversion at the present rate.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Quote {
    pub amount: String,
    pub price: String,
    #[schema(value_type = String)]
    pub rate: Decimal,
    #[schema(value_type = String)]
    pub correction: Correction,
    /// Currencies over which the rate was found: `USD > EUR > XOF`.
    pub way: String,
    /// Time of the oldest rate among them; null if all are fixed.
    pub as_of: Option<IsoTimestamp>,
}

impl From<&Entry> for Rate {
    fn from(entry: &Entry) -> Self {
        Self {
            from: entry.from,
            to: entry.to,
            rate: entry.rate,
            source: entry.source,
            at: (entry.source != Source::Peg).then(|| entry.at.into()),
            valid_until: entry.valid_until.map(IsoTimestamp),
        }
    }
}

impl From<&Held> for HeldRate {
    fn from(held: &Held) -> Self {
        let entry = &held.entry;
        Self {
            from: entry.from,
            to: entry.to,
            rate: entry.rate.to_string(),
            expected: Some(held.expected),
            reason: HeldReason::Held(held.reason),
            pegged_to: held.pegged_to,
            state: match held.rejected {
                true => HeldState::Rejected,
                false => HeldState::Held,
            },
            fetched_at: entry.at.into(),
            valid_until: entry.valid_until.map(IsoTimestamp),
        }
    }
}

impl HeldRate {
    /// A value that is no rate, with the last accepted one.
    pub fn unusable((one, last): &(UnusableRate, Option<Decimal>)) -> Self {
        Self {
            from: one.from,
            to: one.to,
            rate: one.sent.clone(),
            expected: *last,
            reason: HeldReason::NotARate,
            pegged_to: None,
            state: HeldState::Unusable,
            fetched_at: one.at.into(),
            valid_until: None,
        }
    }
}
