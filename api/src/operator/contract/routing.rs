//! Routing: rules, simulations and the health of connections.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Number;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, ConnectionId, TransactionId};
use switchyard_core::money::Currency;
use switchyard_core::routing::{FeeRow, Rule};
use switchyard_core::transaction::{HealthNumbers, Kind};
use switchyard_engine::access::RoutingRules as StoredRules;
use utoipa::{IntoParams, ToSchema};

use super::attempts::RuleUsed;
use super::{NumberOrText, schemas};
use crate::iso_timestamp::IsoTimestamp;

/// Version of an app's routing rules.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct RoutingRules {
    #[schema(value_type = String)]
    pub app: AppId,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    /// From 1; 0: the app never had rules.
    pub version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_at: Option<IsoTimestamp>,
    /// Rules in the order in which they are tried: see the guide to routing.
    #[schema(value_type = Vec<Object>)]
    pub rules: Vec<Rule>,
    /// Table of fees, which the strategy `cheapest` uses.
    #[schema(value_type = Vec<Object>)]
    pub fees: Vec<FeeRow>,
    /// Stored versions, the latest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<Vec<RulesVersion>>,
}

/// Stored version of routing rules.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct RulesVersion {
    pub version: u64,
    pub made_at: IsoTimestamp,
}

/// Version of the rules to retrieve.
#[derive(Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RulesQuery {
    /// Default: sandbox.
    #[param(value_type = Option<schemas::Environment>)]
    pub environment: Option<Environment>,
    /// Default: the active version.
    pub version: Option<u64>,
}

/// New rules, which replace all earlier ones.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRules {
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    #[schema(value_type = Vec<Object>)]
    pub rules: Vec<Rule>,
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    pub fees: Vec<FeeRow>,
    /// The version that the client has seen, 0 for none: refused unless it is active.
    pub replaces: Option<u64>,
}

/// Simulation of `request`, a hypothetical transaction, or of `traffic`, stored transactions.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    #[schema(value_type = String)]
    pub app: AppId,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<HypotheticalRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<TrafficSpan>,
    /// Rules to try. Default: the active ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    pub rules: Option<Vec<Rule>>,
    /// Fees to try. Default: the active ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    pub fees: Option<Vec<FeeRow>>,
}

/// Hypothetical transaction.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HypotheticalRequest {
    #[schema(value_type = schemas::Kind)]
    pub kind: Kind,
    pub method: String,
    /// ISO 3166-1 alpha-2.
    pub country: Option<String>,
    /// Amount in major units.
    pub amount: NumberOrText,
    #[schema(value_type = schemas::Currency)]
    pub currency: Currency,
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// Transaction whose weighted draw is repeated.
    #[schema(value_type = Option<String>)]
    pub transaction: Option<TransactionId>,
}

/// Stored transactions, by the time of their creation.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrafficSpan {
    /// Default: payment.
    #[schema(value_type = Option<schemas::Kind>)]
    pub kind: Option<Kind>,
    /// Date or time.
    pub from: String,
    /// Date or time.
    pub to: String,
}

/// Result of a simulation.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Simulated {
    /// Result for `traffic`.
    Traffic(Box<SimulatedTraffic>),
    /// Result for `request`.
    Decision(Box<SimulatedDecision>),
}

/// Connection with its names. The names of a deleted connection are null.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct NamedConnection {
    /// Null: no connection can serve it.
    #[schema(value_type = Option<String>)]
    pub connection: Option<ConnectionId>,
    pub gateway: Option<String>,
    pub account_name: Option<String>,
}

/// Connection that a simulation considered.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct SimulatedCandidate {
    #[serde(flatten)]
    pub connection: NamedConnection,
    pub why: String,
    /// Fee in major units; null if the table has none.
    #[schema(value_type = Option<f64>)]
    pub fee: Option<Number>,
    pub fee_formatted: Option<String>,
    pub health: Option<Health>,
}

/// Connection that a simulation skipped.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct SimulatedSkip {
    #[serde(flatten)]
    pub connection: NamedConnection,
    pub because: String,
}

/// Decision about a hypothetical transaction.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct SimulatedDecision {
    pub chosen: Option<NamedConnection>,
    pub because: String,
    pub rule: Option<RuleUsed>,
    /// Weighted draw, of 10,000.
    pub roll: Option<u16>,
    pub considered: Vec<SimulatedCandidate>,
    pub skipped: Vec<SimulatedSkip>,
}

/// Distribution of stored traffic under the active rules and under others.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct SimulatedTraffic {
    #[schema(value_type = schemas::Kind)]
    pub kind: Kind,
    pub from: IsoTimestamp,
    pub to: IsoTimestamp,
    /// Transactions in the span.
    pub total: u64,
    /// The newest of them, which were read.
    pub read: u64,
    /// Transactions without a method, which were not routed.
    pub without_method: u64,
    pub connections: Vec<ConnectionTraffic>,
    pub moved: Vec<MovedTraffic>,
    pub fees: TrafficFees,
}

/// Traffic of one connection.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct ConnectionTraffic {
    #[serde(flatten)]
    pub connection: NamedConnection,
    /// As it was.
    pub really: Share,
    /// Under the active rules.
    pub in_force: Share,
    /// Under the rules of the simulation.
    pub tried: Share,
}

/// Share of the traffic.
#[derive(Default, Serialize, Deserialize, ToSchema)]
pub struct Share {
    pub count: u64,
    /// By currency, formatted.
    pub amounts: BTreeMap<String, String>,
    /// By currency, formatted.
    pub fees: BTreeMap<String, String>,
    /// Transactions for which the table has no fee.
    pub without_fee: u64,
}

/// Transactions that change their connection.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct MovedTraffic {
    pub from: NamedConnection,
    pub to: NamedConnection,
    pub count: u64,
}

/// Fees of all connections together.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct TrafficFees {
    pub really: Fees,
    pub in_force: Fees,
    pub tried: Fees,
}

/// Sum of fees.
#[derive(Default, Serialize, Deserialize, ToSchema)]
pub struct Fees {
    /// By currency, formatted.
    pub sums: BTreeMap<String, String>,
    /// Transactions for which the table has no fee.
    pub without_fee: u64,
}

/// Filter of the health.
#[derive(Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HealthFilter {
    #[param(value_type = Option<String>)]
    pub app: Option<AppId>,
    #[param(value_type = Option<schemas::Environment>)]
    pub environment: Option<Environment>,
}

/// Health of a connection with one method, as this process has seen it.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct ConnectionHealth {
    #[serde(flatten)]
    pub connection: NamedConnection,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    #[schema(value_type = schemas::Kind)]
    pub kind: Kind,
    pub method: String,
    #[serde(flatten)]
    pub health: Health,
}

/// Recent health.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Health {
    pub breaker: Breaker,
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
    /// Last call that failed by the provider's fault, since the start of the process. Null: none,
    /// or the health is that of a simulation.
    pub last_fault: Option<LastFault>,
}

/// Call that failed by the provider's fault.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct LastFault {
    #[schema(value_type = String, format = DateTime)]
    pub at: IsoTimestamp,
    /// In the words of the gateway or the provider.
    pub message: String,
}

/// Circuit breaker. While it is open, the connection only gets probes and what no other can serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Breaker {
    Open,
    Closed,
}

impl From<&StoredRules> for RoutingRules {
    fn from(rules: &StoredRules) -> Self {
        Self {
            app: rules.app,
            environment: rules.environment,
            version: rules.version,
            made_at: Some(rules.made_at.into()),
            rules: rules.set.rules.clone(),
            fees: rules.set.fees.clone(),
            versions: None,
        }
    }
}

impl From<&HealthNumbers> for Health {
    fn from(numbers: &HealthNumbers) -> Self {
        Self {
            breaker: match numbers.open {
                true => Breaker::Open,
                false => Breaker::Closed,
            },
            calls: numbers.calls,
            faults: numbers.faults,
            ended: numbers.ended,
            succeeded: numbers.succeeded,
            short_of_funds: numbers.short_of_funds,
            last_fault: None,
        }
    }
}
