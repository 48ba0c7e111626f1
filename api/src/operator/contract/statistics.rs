//! Statistics of an app's payments or payouts.

use serde::{Deserialize, Serialize};
use switchyard_core::environment::Environment;
use switchyard_core::ids::ConnectionId;
use switchyard_core::money::Currency;
use switchyard_core::transaction::{DeclineReason, Kind, Status};
use switchyard_engine::engine::{self, CurrencySums, EngineError, Group, Within};
use utoipa::{IntoParams, ToSchema};

use super::schemas;
use crate::iso_timestamp::IsoTimestamp;

/// Span and interval of the statistics.
#[derive(Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StatisticsFilter {
    /// Default: live for an app with live transactions, otherwise sandbox. `environment` of the
    /// response names it.
    #[param(value_type = Option<schemas::Environment>)]
    pub environment: Option<Environment>,
    /// Default: `payment`.
    #[param(value_type = Option<schemas::Kind>)]
    pub kind: Option<String>,
    /// Created since this day (`2026-11-20`) or time, in UTC. The interval that contains it counts
    /// whole. Default: 29 days before `to`.
    pub from: Option<String>,
    /// Created until this day or time, in UTC. The interval that contains it counts whole.
    /// Default: now.
    pub to: Option<String>,
    /// Length of `intervals`. A span has at most 31 days of hours or 400 days. Default: `day`.
    #[param(value_type = Option<schemas::StatisticsInterval>)]
    pub interval: Option<String>,
}

/// Statistics of the transactions that were created in a span of time, by their present state.
///
/// A transaction belongs to the hour and the day, in UTC, in which it was created. A later change
/// of its state does not move it.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Statistics {
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    #[schema(value_type = schemas::Kind)]
    pub kind: Kind,
    #[schema(value_type = schemas::StatisticsInterval)]
    pub interval: String,
    /// Start of the first interval.
    pub from: IsoTimestamp,
    /// End of the last interval, exclusive.
    pub to: IsoTimestamp,
    pub all: StatisticsGroup,
    /// Each interval, in order.
    pub intervals: Vec<IntervalStatistics>,
    /// Most transactions first.
    pub methods: Vec<MethodStatistics>,
    /// Most transactions first.
    pub countries: Vec<CountryStatistics>,
    /// Most transactions first.
    pub connections: Vec<ConnectionStatistics>,
    /// Reasons of the failed transactions, and of the cancelled payments whose last attempt was
    /// declined. Most transactions first.
    pub failure_reasons: Vec<FailureReason>,
}

/// Numbers of a group of transactions.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct StatisticsGroup {
    /// All transactions.
    pub total: u64,
    pub initiated: u64,
    pub pending: u64,
    pub success: u64,
    pub failed: u64,
    pub cancelled: u64,
    /// Those with money that may have moved and that no report settles: in doubt, on hold, or ended
    /// with an amount that nobody has named.
    pub unknown: u64,
    /// Cancelled payments whose payer never chose a method.
    pub abandoned: u64,
    /// Successes per thousand ended transactions, rounded down, without those in `abandoned`.
    /// `null`: none has ended.
    pub success_permille: Option<u64>,
    /// Time from the first attempt within which half of the successes came.
    pub half_within: Option<StatisticsDuration>,
    /// Time from the first attempt within which 95 % of the successes came.
    pub most_within: Option<StatisticsDuration>,
    /// One entry for each currency in which money moved or may move.
    pub money: Vec<CurrencyStatistics>,
}

/// Duration by the bounds of a histogram.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct StatisticsDuration {
    pub seconds: u64,
    /// Whether it took longer than the `seconds`, which are the last bound.
    pub is_longer: bool,
}

/// Sums of one currency, in its smallest unit.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct CurrencyStatistics {
    #[schema(value_type = schemas::Currency)]
    pub currency: Currency,
    /// Amounts of successes: collected by payments, paid out by payouts. Reversed money is not
    /// included.
    pub succeeded: i64,
    /// Fees of successes, as far as the providers named them.
    pub fees: i64,
    /// Successes whose fee is in `fees`.
    pub fees_known: u64,
    /// Amounts of attempts that the provider has not finished, less the parts received.
    pub pending: i64,
    /// Amounts of attempts whose outcome is not known, and of those that ended with money of an
    /// amount that nobody has named.
    pub unknown: i64,
    /// Reported amounts that are not the amount of a success: parts, second charges, money after
    /// the end.
    pub unapplied: i64,
    /// Reported amounts that the provider reversed later.
    pub taken_back: i64,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct IntervalStatistics {
    /// Start of the interval.
    pub start: IsoTimestamp,
    #[serde(flatten)]
    pub group: StatisticsGroup,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct MethodStatistics {
    /// `null`: the payer has not chosen one.
    pub method: Option<String>,
    #[serde(flatten)]
    pub group: StatisticsGroup,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct CountryStatistics {
    /// ISO 3166-1 alpha-2. `null`: not known.
    pub country: Option<String>,
    #[serde(flatten)]
    pub group: StatisticsGroup,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct ConnectionStatistics {
    /// `null`: no attempt was started.
    #[schema(value_type = Option<String>)]
    pub connection: Option<ConnectionId>,
    #[serde(flatten)]
    pub group: StatisticsGroup,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct FailureReason {
    #[schema(value_type = schemas::DeclineReason)]
    pub reason: DeclineReason,
    pub transactions: u64,
}

impl StatisticsGroup {
    /// # Errors
    /// When a sum is larger than an amount can be.
    pub fn new(group: &Group) -> Result<Self, EngineError> {
        let money = group.money()?;
        Ok(Self {
            total: group.total(),
            initiated: group.count(Status::Initiated),
            pending: group.count(Status::Pending),
            success: group.count(Status::Success),
            failed: group.count(Status::Failed),
            cancelled: group.count(Status::Cancelled),
            unknown: group.unknown(),
            abandoned: group.abandoned(),
            success_permille: group.success_permille(),
            half_within: group.percentile(50).map(StatisticsDuration::from),
            most_within: group.percentile(95).map(StatisticsDuration::from),
            money: money.iter().map(CurrencyStatistics::from).collect(),
        })
    }
}

impl From<Within> for StatisticsDuration {
    fn from(within: Within) -> Self {
        let (duration, is_longer) = match within {
            Within::AtMost(duration) => (duration, false),
            Within::MoreThan(duration) => (duration, true),
        };
        Self {
            seconds: duration.as_secs(),
            is_longer,
        }
    }
}

impl From<&CurrencySums> for CurrencyStatistics {
    fn from(sums: &CurrencySums) -> Self {
        Self {
            currency: sums.currency(),
            succeeded: sums.succeeded.minor(),
            fees: sums.fees.minor(),
            fees_known: sums.fees_known,
            pending: sums.pending.minor(),
            unknown: sums.unknown.minor(),
            unapplied: sums.unapplied.minor(),
            taken_back: sums.taken_back.minor(),
        }
    }
}

impl Statistics {
    /// # Errors
    /// When a sum is larger than an amount can be.
    pub fn new(
        (environment, kind, interval): (Environment, Kind, &str),
        statistics: &engine::Statistics,
    ) -> Result<Self, EngineError> {
        let intervals = statistics.intervals.iter().map(|(start, group)| {
            let start = (*start).into();
            let group = StatisticsGroup::new(group)?;
            Ok(IntervalStatistics { start, group })
        });
        let methods = statistics.methods.iter().map(|(method, group)| {
            let method = method.clone();
            let group = StatisticsGroup::new(group)?;
            Ok(MethodStatistics { method, group })
        });
        let countries = statistics.countries.iter().map(|(country, group)| {
            let country = country.clone();
            let group = StatisticsGroup::new(group)?;
            Ok(CountryStatistics { country, group })
        });
        let connections = statistics.connections.iter().map(|(connection, group)| {
            let (connection, group) = (*connection, StatisticsGroup::new(group)?);
            Ok(ConnectionStatistics { connection, group })
        });
        let reasons = statistics.reasons.iter();
        let failure_reasons = reasons.map(|(reason, count)| FailureReason {
            reason: *reason,
            transactions: *count,
        });
        Ok(Self {
            environment,
            kind,
            interval: interval.to_owned(),
            from: statistics.from.into(),
            to: statistics.to.into(),
            all: StatisticsGroup::new(&statistics.all)?,
            intervals: intervals.collect::<Result<_, EngineError>>()?,
            methods: methods.collect::<Result<_, EngineError>>()?,
            countries: countries.collect::<Result<_, EngineError>>()?,
            connections: connections.collect::<Result<_, EngineError>>()?,
            failure_reasons: failure_reasons.collect(),
        })
    }
}
