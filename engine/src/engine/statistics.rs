//! Statistics of an app's payments or payouts: numbers, rates and sums, in all and by hour or day,
//! method, country, connection and currency.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Engine, EngineError};
use switchyard_core::ids::ConnectionId;
use switchyard_core::money::{Amount, Currency};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{DeclineReason, Status};
use switchyard_records::{
    self as records, DURATION_BOUNDS, Figures, Money, StatisticsQuery, StatisticsRow,
};

/// Statistics of the transactions that were created in a span of time.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// Start of the first interval.
    pub from: Timestamp,
    /// End of the last interval, exclusive.
    pub to: Timestamp,
    pub all: Group,
    /// Each interval of the span, in order, also those without transactions.
    pub intervals: Vec<(Timestamp, Group)>,
    /// By method, most transactions first. `None`: the payer has not chosen one.
    pub methods: Vec<(Option<String>, Group)>,
    /// By ISO 3166-1 alpha-2, most transactions first. `None`: not known.
    pub countries: Vec<(Option<String>, Group)>,
    /// By connection, most transactions first. `None`: no attempt was started.
    pub connections: Vec<(Option<ConnectionId>, Group)>,
    /// Reasons of failures, most transactions first.
    pub reasons: Vec<(DeclineReason, u64)>,
}

/// Numbers of a group of transactions.
#[derive(Clone, Debug, Default)]
pub struct Group {
    figures: Figures,
    /// Ended transactions with a method: the base of the success rate.
    ended: u64,
    money: BTreeMap<&'static str, Figures>,
}

/// Sums of one currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurrencySums {
    /// Collected by payments, or paid out by payouts.
    pub succeeded: Amount,
    pub fees: Amount,
    /// Successes whose fee is in `fees`.
    pub fees_known: u64,
    /// Successes.
    pub successes: u64,
    pub pending: Amount,
    pub unknown: Amount,
    /// Reported and not the amount of a success: parts, second charges, money after the end.
    pub unapplied: Amount,
    pub taken_back: Amount,
}

/// Time in which a share of the successes came, as far as their histogram tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    AtMost(Duration),
    MoreThan(Duration),
}

impl Engine {
    /// Statistics of the transactions that were created in the span of `query`, whatever became of
    /// them later.
    ///
    /// # Errors
    /// When the store cannot be read, or a sum is larger than an amount can be.
    pub async fn statistics(&self, query: &StatisticsQuery) -> Result<Statistics, EngineError> {
        let mut sums = Sums::default();
        let read = records::statistics(self.store(), query, |mut row| {
            let only = |method: &String| self.only_country(query.kind, method);
            let home = row.method.as_ref().and_then(only);
            row.country = row.country.take().or_else(|| home.map(str::to_owned));
            sums.add(row);
        });
        read.await?;
        let length = query.interval.length();
        let micros = i64::try_from(length.as_micros()).unwrap_or(i64::MAX);
        let start_of = |at: Timestamp| {
            let micros = at.as_micros() - at.as_micros().rem_euclid(micros);
            Timestamp::from_micros(micros)
        };
        let from = start_of(query.from);
        let to = start_of(query.to.plus(length - Duration::from_micros(1)));
        let mut intervals = Vec::new();
        let mut at = from;
        while at < to {
            intervals.push((at, sums.intervals.remove(&at).unwrap_or_default()));
            at = at.plus(length);
        }
        let mut reasons: Vec<_> = sums.all.figures.reasons().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Ok(Statistics {
            from,
            to,
            intervals,
            methods: ranked(sums.methods),
            countries: ranked(sums.countries),
            connections: ranked(sums.connections),
            reasons,
            all: sums.all,
        })
    }
}

/// Groups while rows are read.
#[derive(Default)]
struct Sums {
    all: Group,
    intervals: BTreeMap<Timestamp, Group>,
    methods: BTreeMap<Option<String>, Group>,
    countries: BTreeMap<Option<String>, Group>,
    connections: BTreeMap<Option<ConnectionId>, Group>,
}

impl Sums {
    fn add(&mut self, row: StatisticsRow) {
        self.all.add(&row);
        self.intervals.entry(row.start).or_default().add(&row);
        let country = row.country.clone();
        self.countries.entry(country).or_default().add(&row);
        let connection = self.connections.entry(row.connection).or_default();
        connection.add(&row);
        let method = row.method.clone();
        self.methods.entry(method).or_default().add(&row);
    }
}

fn ranked<K: Ord>(groups: BTreeMap<K, Group>) -> Vec<(K, Group)> {
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.total()));
    groups
}

impl Group {
    fn add(&mut self, row: &StatisticsRow) {
        self.figures.add_counts(&row.figures);
        if row.method.is_some() {
            self.ended += ended(&row.figures);
        }
        let money = self.money.entry(row.currency.code()).or_default();
        money.add_counts(&row.figures);
        money.add_money(&row.figures);
    }

    /// Adds the numbers of other transactions.
    pub fn merge(&mut self, other: &Self) {
        self.figures.add_counts(&other.figures);
        self.ended += other.ended;
        for (code, figures) in &other.money {
            let money = self.money.entry(code).or_default();
            money.add_counts(figures);
            money.add_money(figures);
        }
    }

    pub fn total(&self) -> u64 {
        self.figures.total()
    }

    /// Transactions of a status.
    pub fn count(&self, status: Status) -> u64 {
        self.figures.count(status)
    }

    /// Pending transactions whose outcome is not known, or that hold money which does not settle
    /// them.
    pub const fn unknown(&self) -> u64 {
        self.figures.unknown
    }

    /// Cancelled payments whose payer never chose a method.
    pub fn abandoned(&self) -> u64 {
        ended(&self.figures).saturating_sub(self.ended)
    }

    /// Successes per thousand ended transactions with a method. `None`: none has ended. Pending and
    /// unknown ones are not in it, nor are payments whose payer never chose a method.
    pub fn success_permille(&self) -> Option<u64> {
        let succeeded = self.count(Status::Success);
        // Rounded down, so that 1,000 means all.
        succeeded.checked_mul(1_000)?.checked_div(self.ended)
    }

    /// Time within which `percent` of the successes came, measured from the start of the first
    /// attempt. `None`: there is no success.
    pub fn percentile(&self, percent: u64) -> Option<Within> {
        let counts = self.figures.durations;
        let total: u64 = counts.iter().sum();
        if total == 0 {
            return None;
        }
        let wanted = total.checked_mul(percent)?.div_ceil(100);
        let mut sum = 0;
        for (bound, count) in DURATION_BOUNDS.into_iter().zip(counts) {
            sum += count;
            if sum >= wanted {
                return Some(Within::AtMost(bound));
            }
        }
        Some(Within::MoreThan(DURATION_BOUNDS[DURATION_BOUNDS.len() - 1]))
    }

    /// Sums by currency, in order of their codes; those that are all zero are left out.
    ///
    /// # Errors
    /// When a sum is larger than an amount can be.
    pub fn money(&self) -> Result<Vec<CurrencySums>, EngineError> {
        let mut all = Vec::with_capacity(self.money.len());
        for (code, figures) in &self.money {
            let has_money = Money::ALL.iter().any(|money| figures.money(*money) > 0);
            let Some(currency) = Currency::from_code(code).filter(|_| has_money) else {
                continue;
            };
            all.push(CurrencySums::new(currency, figures)?);
        }
        Ok(all)
    }
}

impl CurrencySums {
    fn new(currency: Currency, figures: &Figures) -> Result<Self, EngineError> {
        let amount = |money: Money| {
            let minor = i64::try_from(figures.money(money));
            let minor = minor.map_err(|_| EngineError::SumTooLarge(currency))?;
            Ok::<_, EngineError>(Amount::from_minor(minor, currency))
        };
        Ok(Self {
            succeeded: amount(Money::Succeeded)?,
            fees: amount(Money::Fees)?,
            fees_known: figures.fees_known,
            successes: figures.count(Status::Success),
            pending: amount(Money::Pending)?,
            unknown: amount(Money::Unknown)?,
            unapplied: amount(Money::Unapplied)?,
            taken_back: amount(Money::TakenBack)?,
        })
    }

    pub const fn currency(&self) -> Currency {
        self.succeeded.currency()
    }
}

fn ended(figures: &Figures) -> u64 {
    let ended = [Status::Success, Status::Failed, Status::Cancelled];
    ended.into_iter().map(|status| figures.count(status)).sum()
}
