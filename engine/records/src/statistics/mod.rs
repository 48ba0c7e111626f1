//! Statistics of transactions: numbers and sums by hour and by day, kept in the commits that change
//! them.
//!
//! A row has the numbers of the transactions of one app, environment and kind that were **created**
//! in one hour, or on one day, in UTC, with one currency, country, connection and method
//! ([`Dimensions`]). Later changes leave a transaction in the rows of its hour, so the success rate of
//! an hour is that of the transactions created in it. A payment whose payer has not chosen yet has
//! no country, connection or method; the commit that starts an attempt moves it to the row of that
//! attempt.
//!
//! Promises: the rows are the sum over all stored transactions ([`facts()`]) after any history,
//! kill and purge; amounts of different currencies are never added up; a step of a transaction that
//! changes none of its numbers writes no row. Left out: names of methods and connections, rates and
//! ranks, which the engine computes.

mod facts;
mod figures;
#[cfg(test)]
mod tests;

use std::time::Duration;

use ulid::Ulid;

pub use figures::{DURATION_BOUNDS, Figures, Money};

use self::facts::{Dimensions, facts};
use self::figures::Numbers;
use super::{RecordError, keys};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, ConnectionId};
use switchyard_core::limits::STORE_SCAN_INLINE;
use switchyard_core::money::Currency;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{Kind, Transaction};
use switchyard_store::{Batch, Direction, Store, Table};

/// Length of the time that a row covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    Hour,
    Day,
}

/// Statistics to read.
#[derive(Clone, Copy, Debug)]
pub struct StatisticsQuery {
    pub app: AppId,
    pub environment: Environment,
    pub kind: Kind,
    pub interval: Interval,
    /// Start of the first interval; a moment inside an interval means all of it.
    pub from: Timestamp,
    /// End, exclusive. A moment inside an interval means all of it.
    pub to: Timestamp,
}

/// Numbers of the transactions that were created in one interval and have the same dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatisticsRow {
    /// Start of the interval.
    pub start: Timestamp,
    pub currency: Currency,
    /// ISO 3166-1 alpha-2, as the payer chose.
    pub country: Option<String>,
    pub connection: Option<ConnectionId>,
    /// `None`: the payer has not chosen.
    pub method: Option<String>,
    pub figures: Figures,
}

impl Interval {
    const ALL: [Self; 2] = [Self::Hour, Self::Day];

    pub const fn length(self) -> Duration {
        match self {
            Self::Hour => Duration::from_secs(60 * 60),
            Self::Day => Duration::from_secs(24 * 60 * 60),
        }
    }

    const fn millis(self) -> u64 {
        self.length().as_millis() as u64
    }

    /// Part of the store's schema.
    const fn byte(self) -> u8 {
        match self {
            Self::Hour => b'h',
            Self::Day => b'd',
        }
    }
}

/// Adds the difference that a step makes. `before`: `None` when the transaction is created;
/// `after`: `None` when it is deleted.
pub(super) fn write(batch: &mut Batch, before: Option<&Transaction>, after: Option<&Transaction>) {
    let Some(known) = after.or(before) else {
        return;
    };
    let mut changes: Vec<(Dimensions<'_>, Numbers)> = after.map(facts).unwrap_or_default();
    for (dimensions, numbers) in before.map(facts).unwrap_or_default() {
        match changes.iter_mut().find(|(known, _)| *known == dimensions) {
            Some((_, change)) => change.subtract(&numbers),
            None => changes.push((dimensions, numbers.negated())),
        }
    }
    let created = known.id.ulid().timestamp_ms();
    for (dimensions, change) in &changes {
        let numbers = change.trimmed();
        if numbers.is_empty() {
            continue;
        }
        for interval in Interval::ALL {
            let start = created - created % interval.millis();
            let owner = (known.app, known.environment, known.kind());
            batch.add_all(
                Table::Count,
                key(owner, interval, start, dimensions),
                numbers,
            );
        }
    }
}

/// Passes the rows of a query to `each`, oldest first.
///
/// # Errors
/// When the store cannot be read, or a row in it.
pub async fn statistics(
    store: &Store,
    query: &StatisticsQuery,
    mut each: impl FnMut(StatisticsRow),
) -> Result<(), RecordError> {
    let owner = (query.app, query.environment, query.kind);
    let length = query.interval.millis();
    let millis = |at: Timestamp| u64::try_from(at.as_millis()).unwrap_or(0);
    let (from, to) = (millis(query.from), millis(query.to));
    let mut start = prefix(owner, query.interval, from - from % length);
    let end = prefix(owner, query.interval, to.next_multiple_of(length));
    loop {
        let rows = store.scan(
            Table::Count,
            &start,
            &end,
            Direction::Forward,
            STORE_SCAN_INLINE,
        );
        let rows = rows.await?;
        for (key, row) in &rows {
            let damaged = || RecordError::damaged("statistics", format!("{key:02x?}"));
            each(read(key, row).ok_or_else(damaged)?);
        }
        match rows.last() {
            Some((key, _)) if rows.len() == STORE_SCAN_INLINE => {
                start = [&key[..], &[0]].concat();
            }
            _ => return Ok(()),
        }
        tokio::task::yield_now().await;
    }
}

/// App, environment and kind of transactions.
type Owner = (AppId, Environment, Kind);

/// `<app><environment><kind><interval><its first millisecond>`.
fn prefix((app, environment, kind): Owner, interval: Interval, start: u64) -> Vec<u8> {
    let key = keys::count(app, environment, kind, interval.byte(), start);
    key.to_vec()
}

/// `<prefix><currency><country><connection><method>`.
fn key(owner: Owner, interval: Interval, start: u64, dimensions: &Dimensions<'_>) -> Vec<u8> {
    let mut key = Vec::with_capacity(keys::COUNT_BYTES + DIMENSION_BYTES + dimensions.method.len());
    key.extend_from_slice(&prefix(owner, interval, start));
    key.extend_from_slice(dimensions.currency.code().as_bytes());
    key.extend_from_slice(&dimensions.country);
    let connection = dimensions.connection.map(|id| id.ulid().to_bytes());
    key.extend_from_slice(&connection.unwrap_or_default());
    key.extend_from_slice(dimensions.method.as_bytes());
    key
}

fn read(key: &[u8], row: &[u8]) -> Option<StatisticsRow> {
    let (head, dimensions) = key.split_at_checked(keys::COUNT_BYTES)?;
    let start = i64::try_from(keys::read_count(head)?).ok()?;
    let (currency, rest) = dimensions.split_first_chunk::<3>()?;
    let (country, rest) = rest.split_first_chunk::<2>()?;
    let (connection, method) = rest.split_first_chunk::<16>()?;
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
    let connection = Some(Ulid::from_bytes(*connection)).filter(|id| !id.is_nil());
    Some(StatisticsRow {
        start: Timestamp::from_micros(start.checked_mul(1_000)?),
        currency: Currency::from_code(&text(currency)?)?,
        country: text(country).filter(|_| *country != [0; 2]),
        connection: connection.map(ConnectionId::new),
        method: Some(text(method)?).filter(|method| !method.is_empty()),
        figures: Figures::read(row),
    })
}

/// Bytes of currency, country and connection.
const DIMENSION_BYTES: usize = 3 + 2 + 16;
