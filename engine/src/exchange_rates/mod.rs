//! Exchange rates: an operator's table, a feed, and the fixed pegs; and what a payment in one
//! currency costs in another.
//!
//! Promises:
//! - A rate that an operator set, and one that was fetched, is durable before it is used.
//! - A fetched rate that is implausible is held: it is durable, shown and announced, and not used
//!   until an operator accepts it.
//! - A fetched value that is no rate is shown and announced; the last accepted rate stays in use. A
//!   fetch of such values alone has failed.
//! - A rate that is older than it may be is not used: then there is none, and methods of that
//!   currency are not offered.
//! - The rate of an attempt is fixed when the payer confirms, and stored with the attempt.

mod feed;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod guard;
#[cfg(test)]
mod held_tests;
mod rate_table;
#[cfg(test)]
mod schedule_tests;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::Mutex;
use url::Url;

pub use self::feed::{FeedError, FeedSettings, UnusableRate};
pub use self::guard::{HeldRate, HoldReason};
pub use self::rate_table::{Entry, Quote, RateTable, Source};
use switchyard_core::limits::RATES;
use switchyard_core::money::{Amount, Correction, Currency, Rate, RateError};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Conversion;
use switchyard_store::{Batch, CommitError, Direction, Key, KeyValues, Store, StoreError, Table};
use switchyard_system::clock::Clock;
use switchyard_system::egress::{Client, ClientError, Policy, Resolver};

/// The rates; clones share them.
#[derive(Clone)]
pub struct ExchangeRates(Arc<Inner>);

struct Inner {
    store: Store,
    clock: Clock,
    settings: FeedSettings,
    client: Client,
    rates: ArcSwap<RateTable>,
    /// One change at a time.
    changing: Mutex<()>,
}

/// Reason why rates could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    #[error("a currency has no rate to itself")]
    SameCurrency,
    #[error("there is no rate from {from} to {to} in the table")]
    NotFound { from: Currency, to: Currency },
    #[error("a rate that ends in the past is never used: give a later `valid_until`, or none")]
    AlreadyOver,
    #[error("no fetched rate from {from} to {to} is held")]
    NotHeld { from: Currency, to: Currency },
    #[error("the held rate from {from} to {to} is now {rate}: look at it again")]
    HeldAnother {
        from: Currency,
        to: Currency,
        rate: Rate,
    },
    #[error("the held rate from {from} to {to} is too old by now: fetch the rates again")]
    HeldTooOld { from: Currency, to: Currency },
    #[error("there are {RATES} rates already: remove one first")]
    TooMany,
    #[error("a stored rate cannot be read ({0}): restore the store from a backup")]
    Damaged(String),
    #[error(transparent)]
    Feed(#[from] FeedError),
    #[error(transparent)]
    Read(#[from] StoreError),
    #[error(transparent)]
    Write(#[from] CommitError),
    #[error("no HTTP client for rates can be made")]
    Client(#[from] ClientError),
}

impl ExchangeRates {
    /// Reads the stored rates. `allow_private`: the feed may be at a private address.
    pub async fn load(
        store: Store,
        clock: Clock,
        settings: FeedSettings,
        allow_private: bool,
    ) -> Result<Self, ExchangeError> {
        let policy = Policy {
            allow_private,
            ..Policy::default()
        };
        let mut rates = RateTable::default();
        for (_, row) in all(&store, RATE).await? {
            let entry = serde_json::from_slice(&row)
                .map_err(|error| ExchangeError::Damaged(error.to_string()))?;
            rates.put(entry);
        }
        for (_, row) in all(&store, HELD_RATE).await? {
            let held = serde_json::from_slice(&row)
                .map_err(|error| ExchangeError::Damaged(error.to_string()))?;
            rates.hold(held);
        }
        show_held(&rates);
        Ok(Self(Arc::new(Inner {
            store,
            clock,
            settings,
            client: Client::new(policy, Resolver::system())?,
            rates: ArcSwap::from_pointee(rates),
            changing: Mutex::default(),
        })))
    }

    /// Rate from `from` to `to` now.
    pub fn quote(&self, from: Currency, to: Currency) -> Option<Quote> {
        self.0.rates.load().quote(from, to, self.0.clock.now())
    }

    /// Price of `amount` in `to` now, with the app's correction; `None` when no valid rate connects
    /// the two.
    pub fn convert(
        &self,
        amount: Amount,
        to: Currency,
        decimals: u8,
        correction: Correction,
    ) -> Option<Result<(Amount, Conversion), RateError>> {
        let quote = self.quote(amount.currency(), to)?;
        let converted = || {
            let rate = quote.rate.corrected(correction)?;
            let conversion = Conversion {
                rate,
                correction: (!correction.is_none()).then_some(correction),
                way: quote.way,
                as_of: quote.as_of,
            };
            Ok((rate.convert(amount, to, decimals)?, conversion))
        };
        Some(converted())
    }

    /// All rates, pegs included, by currency.
    pub fn entries(&self) -> Vec<Entry> {
        self.0.rates.load().entries().cloned().collect()
    }

    /// An operator's rate. It takes the place of an earlier one for the same direction.
    pub async fn set(
        &self,
        from: Currency,
        to: Currency,
        rate: Rate,
        valid_until: Option<Timestamp>,
    ) -> Result<Entry, ExchangeError> {
        let now = self.0.clock.now();
        if from == to {
            return Err(ExchangeError::SameCurrency);
        }
        if valid_until.is_some_and(|until| until <= now) {
            return Err(ExchangeError::AlreadyOver);
        }
        let entry = Entry {
            from,
            to,
            rate,
            source: Source::Table,
            at: now,
            valid_until,
            day_began_with: None,
        };
        self.put(vec![entry.clone()]).await?;
        Ok(entry)
    }

    /// Takes an operator's rate away.
    pub async fn remove(&self, from: Currency, to: Currency) -> Result<(), ExchangeError> {
        let _changing = self.0.changing.lock().await;
        let mut rates = RateTable::clone(&self.0.rates.load());
        let removed = rates
            .remove(from, to, Source::Table)
            .ok_or(ExchangeError::NotFound { from, to })?;
        let mut batch = Batch::new();
        batch.delete(Table::Meta, key(&removed));
        self.0.store.commit(batch).await?;
        self.0.rates.store(Arc::new(rates));
        Ok(())
    }

    /// Fetches the feed now. Answers how many of its rates are used and how many are held.
    ///
    /// # Errors
    /// When the feed cannot be read, or none of its values is a rate. Those are shown nevertheless.
    pub async fn fetch(&self) -> Result<Fetched, ExchangeError> {
        let url = self.feed_url().ok_or(FeedError::NoUrl)?;
        let body = feed::fetch(&self.0.client, url).await?;
        let now = self.0.clock.now();
        let answer = feed::read(&body, now, self.0.settings.valid_for)?;
        let _changing = self.0.changing.lock().await;
        let mut rates = RateTable::clone(&self.0.rates.load());
        let percent = self.0.settings.max_change_percent;
        let (accepted, held) = guard::screen(&rates, answer.entries, percent, now);
        let mut batch = Batch::new();
        for entry in &accepted {
            if rates.release(entry.from, entry.to).is_some() {
                batch.delete(Table::Meta, held_key(entry));
            }
            write(&mut batch, &mut rates, entry.clone())?;
        }
        let mut news = Vec::new();
        for held in &held {
            let known = rates.held(held.entry.from, held.entry.to);
            if known.is_none_or(|known| known.entry.rate != held.entry.rate) {
                news.push(format!(
                    "{}-{}",
                    held.entry.from.code(),
                    held.entry.to.code()
                ));
            }
            batch.put(Table::Meta, held_key(&held.entry), row(held)?);
            rates.hold(held.clone());
        }
        let unusable = answer.unusable.len();
        let unusable_pairs = new_pairs(rates.unusable(), &answer.unusable);
        rates.set_unusable(answer.unusable);
        self.commit(batch, rates).await?;
        if !unusable_pairs.is_empty() {
            tracing::warn!(
                rates.unusable = unusable,
                rates.pairs = unusable_pairs,
                "values of the exchange rate feed are no rates"
            );
        }
        if !news.is_empty() {
            metrics::counter!("switchyard_exchange_rates_held_total").increment(news.len() as u64);
            let pairs = news.join(" ");
            tracing::error!(
                rates.held = news.len(),
                rates.pairs = pairs,
                "implausible exchange rates held"
            );
        }
        if accepted.is_empty() && held.is_empty() {
            return Err(FeedError::NoneUsable(unusable).into());
        }
        Ok(Fetched {
            accepted: accepted.len(),
            held: held.len(),
            unusable,
        })
    }

    /// Values of the last fetch that are no rates, each with the last accepted rate, which is used
    /// until it is too old.
    pub fn unusable(&self) -> Vec<(UnusableRate, Option<Rate>)> {
        let rates = self.0.rates.load();
        let last = |one: &UnusableRate| rates.last_fetched(one.from, one.to);
        let unusable = rates.unusable().iter();
        unusable.map(|one| (one.clone(), last(one))).collect()
    }

    /// Fetched rates that wait for an operator, and rejected ones that the feed still brings, by
    /// currency.
    pub fn held(&self) -> Vec<HeldRate> {
        self.0.rates.load().all_held().cloned().collect()
    }

    /// Accepts a held rate. `rate` is the one that the operator saw: a rate that was fetched later
    /// is not accepted.
    ///
    /// # Errors
    /// When none is held for this direction, another one is, or it is too old by now.
    pub async fn accept_held(
        &self,
        from: Currency,
        to: Currency,
        rate: Rate,
    ) -> Result<Entry, ExchangeError> {
        let _changing = self.0.changing.lock().await;
        let mut rates = RateTable::clone(&self.0.rates.load());
        let entry = seen(&rates, from, to, rate)?.entry;
        let now = self.0.clock.now();
        if entry.valid_until.is_some_and(|until| until <= now) {
            return Err(ExchangeError::HeldTooOld { from, to });
        }
        let mut batch = Batch::new();
        batch.delete(Table::Meta, held_key(&entry));
        rates.release(from, to);
        write(&mut batch, &mut rates, entry.clone())?;
        self.commit(batch, rates).await?;
        Ok(entry)
    }

    /// Leaves a held rate unused. The same rate is not announced again when the feed repeats it;
    /// another implausible one is.
    ///
    /// # Errors
    /// When none is held for this direction, or another one is.
    pub async fn reject_held(
        &self,
        from: Currency,
        to: Currency,
        rate: Rate,
    ) -> Result<HeldRate, ExchangeError> {
        let _changing = self.0.changing.lock().await;
        let mut rates = RateTable::clone(&self.0.rates.load());
        let rejected = HeldRate {
            rejected: true,
            ..seen(&rates, from, to, rate)?
        };
        let mut batch = Batch::new();
        batch.put(Table::Meta, held_key(&rejected.entry), row(&rejected)?);
        rates.hold(rejected.clone());
        self.commit(batch, rates).await?;
        Ok(rejected)
    }

    /// Address from which rates are fetched, if a feed is set.
    pub fn feed_url(&self) -> Option<&Url> {
        self.0.settings.url.as_ref()
    }

    /// Fetches the feed on its schedule, for as long as it is polled. A failure is logged, and
    /// tried again a little sooner.
    pub(crate) async fn keep_fetching(self) {
        if self.feed_url().is_none() {
            return;
        }
        let every = self.0.settings.every;
        loop {
            let wait = match self.fetch().await {
                Ok(fetched) => {
                    tracing::info!(
                        rates.accepted = fetched.accepted,
                        rates.held = fetched.held,
                        rates.unusable = fetched.unusable,
                        "exchange rates fetched"
                    );
                    every
                }
                Err(error) => {
                    metrics::counter!("switchyard_exchange_fetches_failed_total").increment(1);
                    tracing::warn!(%error, "failed to fetch exchange rates, using the last ones");
                    every.min(RETRY)
                }
            };
            self.0.clock.sleep(wait).await;
        }
    }

    async fn put(&self, entries: Vec<Entry>) -> Result<(), ExchangeError> {
        let _changing = self.0.changing.lock().await;
        let mut rates = RateTable::clone(&self.0.rates.load());
        let mut batch = Batch::new();
        for entry in entries {
            write(&mut batch, &mut rates, entry)?;
        }
        self.commit(batch, rates).await
    }

    /// Makes a changed table durable, and only then uses it. The caller holds the lock on changes.
    async fn commit(&self, batch: Batch, rates: RateTable) -> Result<(), ExchangeError> {
        if rates.entries().count() > RATES || rates.all_held().count() > RATES {
            return Err(ExchangeError::TooMany);
        }
        self.0.store.commit(batch).await?;
        show_held(&rates);
        self.0.rates.store(Arc::new(rates));
        Ok(())
    }
}

/// Result of one fetch: the number of rates that were accepted, of those that wait for an operator,
/// and of values that are no rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetched {
    pub accepted: usize,
    pub held: usize,
    pub unusable: usize,
}

/// Pairs whose value is no rate now and was not one of those in the fetch before, for the log.
fn new_pairs(before: &[UnusableRate], now: &[UnusableRate]) -> String {
    let is_known = |one: &UnusableRate| {
        let same = |old: &UnusableRate| (old.from, old.to) == (one.from, one.to);
        before.iter().any(same)
    };
    let news = now.iter().filter(|one| !is_known(one));
    let pairs = news.map(|one| format!("{}-{}", one.from.code(), one.to.code()));
    pairs.collect::<Vec<_>>().join(" ")
}

/// The held rate of a direction, if it is the one that the operator saw.
fn seen(
    rates: &RateTable,
    from: Currency,
    to: Currency,
    rate: Rate,
) -> Result<HeldRate, ExchangeError> {
    let held = rates.held(from, to);
    let held = held.ok_or(ExchangeError::NotHeld { from, to })?;
    match held.entry.rate {
        same if same == rate => Ok(held.clone()),
        rate => Err(ExchangeError::HeldAnother { from, to, rate }),
    }
}

fn write(batch: &mut Batch, rates: &mut RateTable, entry: Entry) -> Result<(), ExchangeError> {
    batch.put(Table::Meta, key(&entry), row(&entry)?);
    rates.put(entry);
    Ok(())
}

fn row(content: &impl serde::Serialize) -> Result<Vec<u8>, ExchangeError> {
    serde_json::to_vec(content).map_err(|error| ExchangeError::Damaged(error.to_string()))
}

/// Sets the metric on which operators alarm.
#[allow(clippy::cast_precision_loss)] // at most some thousands
fn show_held(rates: &RateTable) {
    let waiting = rates.all_held().filter(|held| !held.rejected).count();
    metrics::gauge!("switchyard_exchange_rates_held").set(waiting as f64);
}

fn key(entry: &Entry) -> Key {
    let source = match entry.source {
        Source::Table => "table",
        Source::Peg => "peg",
        Source::Feed => "feed",
    };
    direction_key(RATE, entry).child(source)
}

fn held_key(entry: &Entry) -> Key {
    direction_key(HELD_RATE, entry)
}

fn direction_key(kind: &str, entry: &Entry) -> Key {
    Key::path(kind)
        .child(entry.from.code())
        .child(entry.to.code())
}

/// All rows of a kind.
async fn all(store: &Store, kind: &str) -> Result<KeyValues, StoreError> {
    let range = Key::path(kind).children();
    let (from, to) = (range.from(), range.to());
    store
        .scan(Table::Meta, from, to, Direction::Forward, RATES)
        .await
}

const RATE: &str = "rate";
const HELD_RATE: &str = "rate-held";
/// How long a feed that failed is left alone.
const RETRY: Duration = Duration::from_secs(5 * 60);

#[cfg(test)]
mod tests {
    use super::*;
    use switchyard_core::testing::START;

    fn currency(code: &str) -> Currency {
        Currency::from_code(code).unwrap()
    }

    #[test]
    fn the_keys_of_rates_have_their_stored_bytes() {
        let entry = Entry {
            from: currency("EUR"),
            to: currency("XOF"),
            rate: Rate::ONE,
            source: Source::Feed,
            at: START,
            valid_until: None,
            day_began_with: None,
        };
        assert_eq!(*key(&entry), *b"rate/EUR/XOF/feed");
        assert_eq!(*held_key(&entry), *b"rate-held/EUR/XOF");
    }

    async fn exchange_rates(store: &Store) -> ExchangeRates {
        let clock = Clock::manual(START);
        ExchangeRates::load(store.clone(), clock, FeedSettings::default(), true)
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn a_rate_that_was_set_is_there_after_a_restart_until_it_is_removed() {
        let store = Store::memory();
        let first = exchange_rates(&store).await;
        let (eur, usd) = (currency("EUR"), currency("USD"));
        let rate = Rate::parse("1.25").unwrap();
        first.set(eur, usd, rate, None).await.unwrap();
        let second = exchange_rates(&store).await;
        assert_eq!(second.quote(eur, usd).unwrap().rate, rate);
        second.remove(eur, usd).await.unwrap();
        assert_eq!(exchange_rates(&store).await.quote(eur, usd), None);
        assert!(matches!(
            second.remove(eur, usd).await,
            Err(ExchangeError::NotFound { .. })
        ));
        assert!(matches!(
            first.set(eur, eur, rate, None).await,
            Err(ExchangeError::SameCurrency)
        ));
        assert!(matches!(
            first.set(eur, usd, rate, Some(START)).await,
            Err(ExchangeError::AlreadyOver)
        ));
    }

    #[tokio::test]
    async fn an_amount_is_converted_at_the_rate_with_the_apps_correction() {
        let exchange_rates = exchange_rates(&Store::memory()).await;
        let price = Amount::parse_major("10", currency("EUR")).unwrap();
        let correction = Correction::parse("1.5").unwrap();
        let converted = exchange_rates.convert(price, currency("XOF"), 0, correction);
        let (amount, conversion) = converted.unwrap().unwrap();
        assert_eq!(amount.decimal(), "6658");
        assert_eq!(conversion.rate.to_string(), "665.796355");
        assert_eq!(conversion.correction, Some(correction));
        let none = exchange_rates.convert(price, currency("USD"), 2, Correction::default());
        assert!(none.is_none());
    }
}
