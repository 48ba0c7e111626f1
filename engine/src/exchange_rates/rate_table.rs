//! The rates that are known now, and how two currencies are brought together by them. Pure.
//!
//! A rate between two currencies is found over at most [`LEGS`] others, by the fewest steps; of
//! equally short ways the one whose currencies come first in the alphabet, so the same rates always
//! answers the same. On each step a rate that an operator wrote comes before a peg, and a peg
//! before what a feed said.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::feed::UnusableRate;
use super::guard::HeldRate;
use switchyard_core::money::{Currency, Rate};
use switchyard_core::time::Timestamp;

/// Rate: units of `to` for one unit of `from`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub from: Currency,
    pub to: Currency,
    pub rate: Rate,
    pub source: Source,
    /// Time at which it was set or fetched.
    pub at: Timestamp,
    /// Expiry.
    #[serde(default)]
    pub valid_until: Option<Timestamp>,
    /// The accepted rate with which the day (UTC) of `at` began. `None`: this one, which is the
    /// first of all, or which a person decided on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day_began_with: Option<Rate>,
}

/// Source of a rate, in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// An operator wrote it.
    Table,
    /// Fixed by treaty.
    Peg,
    /// Fetched on a schedule.
    Feed,
}

/// Value of one currency in another, with the path of the conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    pub rate: Rate,
    /// The currencies of the way, both ends included.
    pub way: Vec<Currency>,
    /// Time of the oldest rate of the path; pegs have none.
    pub as_of: Option<Timestamp>,
}

/// All rates, pegs included, and the fetched ones that wait for an operator.
#[derive(Clone, Debug)]
pub struct RateTable {
    entries: BTreeMap<Key, Entry>,
    held: BTreeMap<(&'static str, &'static str), HeldRate>,
    /// Of the last fetch. Not stored: a start fetches.
    unusable: Vec<UnusableRate>,
}

/// A source has one rate for each direction of a pair.
type Key = (&'static str, &'static str, Source);

impl Default for RateTable {
    /// Only the pegs: the CFA francs' to the euro, 655.957 each (Treaty of Rome's successors:
    /// Council decision 98/683/EC).
    fn default() -> Self {
        let mut rates = Self {
            entries: BTreeMap::new(),
            held: BTreeMap::new(),
            unusable: Vec::new(),
        };
        for (from, to, rate) in PEGS {
            let known = (
                Currency::from_code(from),
                Currency::from_code(to),
                Rate::parse(rate),
            );
            if let (Some(from), Some(to), Ok(rate)) = known {
                rates.put(Entry {
                    from,
                    to,
                    rate,
                    source: Source::Peg,
                    at: Timestamp::default(),
                    valid_until: None,
                    day_began_with: None,
                });
            }
        }
        rates
    }
}

impl RateTable {
    pub fn put(&mut self, entry: Entry) {
        self.entries.insert(key(&entry), entry);
    }

    /// Takes a source's rate away; `None` when there is none.
    pub fn remove(&mut self, from: Currency, to: Currency, source: Source) -> Option<Entry> {
        self.entries.remove(&(from.code(), to.code(), source))
    }

    /// All rates in the order of their currencies' codes.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// Keeps a fetched rate aside. It takes the place of one that was held for the same direction.
    pub fn hold(&mut self, held: HeldRate) {
        let pair = (held.entry.from.code(), held.entry.to.code());
        self.held.insert(pair, held);
    }

    /// Ends the hold of a direction; `None` when none is held.
    pub fn release(&mut self, from: Currency, to: Currency) -> Option<HeldRate> {
        self.held.remove(&(from.code(), to.code()))
    }

    /// The held rate of a direction.
    pub fn held(&self, from: Currency, to: Currency) -> Option<&HeldRate> {
        self.held.get(&(from.code(), to.code()))
    }

    /// All held rates in the order of their currencies' codes, rejected ones included.
    pub fn all_held(&self) -> impl Iterator<Item = &HeldRate> {
        self.held.values()
    }

    /// Values of the last fetch that are no rates.
    pub fn unusable(&self) -> &[UnusableRate] {
        &self.unusable
    }

    /// Replaces the values of the last fetch that are no rates.
    pub(super) fn set_unusable(&mut self, unusable: Vec<UnusableRate>) {
        self.unusable = unusable;
    }

    /// Whether an operator rejected exactly this rate of the feed.
    pub(super) fn is_rejected(&self, entry: &Entry) -> bool {
        let held = self.held(entry.from, entry.to);
        held.is_some_and(|held| held.rejected && held.entry.rate == entry.rate)
    }

    /// The rates, each fetched one as it was when the present day (UTC) began.
    pub(super) fn at_start_of_day(&self, now: Timestamp) -> Self {
        let mut rates = self.clone();
        let of_today = |entry: &&mut Entry| entry.at.day() == now.day();
        for entry in rates.entries.values_mut().filter(of_today) {
            entry.rate = entry.day_began_with.unwrap_or(entry.rate);
        }
        rates
    }

    /// The rate that was last accepted from the feed for this direction, or the inverse of the
    /// other direction's if that one is newer, however old it is.
    pub(super) fn last_fetched(&self, from: Currency, to: Currency) -> Option<Rate> {
        let fetched = |from: Currency, to: Currency| {
            self.entries.get(&(from.code(), to.code(), Source::Feed))
        };
        let straight = fetched(from, to);
        let backward = fetched(to, from);
        match (straight, backward) {
            (Some(straight), Some(backward)) if backward.at > straight.at => {
                backward.rate.inverse().ok()
            }
            (Some(straight), _) => Some(straight.rate),
            (None, Some(backward)) => backward.rate.inverse().ok(),
            (None, None) => None,
        }
    }

    /// Currencies to which `currency` has a fixed rate, and how many units of `currency` are one of
    /// theirs. A valid rate of the operator's table for the same two takes the place of the peg.
    pub(super) fn pegs_of(&self, currency: Currency, now: Timestamp) -> Vec<(Currency, Rate)> {
        let pegs = self
            .entries
            .values()
            .filter(|entry| entry.source == Source::Peg);
        let partners = pegs.filter_map(|entry| match entry {
            entry if entry.from == currency => Some(entry.to),
            entry if entry.to == currency => Some(entry.from),
            _ => None,
        });
        partners
            .filter_map(|partner| {
                Some((
                    partner,
                    self.leg(partner, currency, Usable::Valid(now))?.rate,
                ))
            })
            .collect()
    }

    /// Whether a rate names the currency.
    pub(super) fn names(&self, currency: Currency) -> bool {
        let mut entries = self.entries.values();
        entries.any(|entry| entry.from == currency || entry.to == currency)
    }

    /// The rate between two currencies over others, at valid rates of the feed.
    pub(super) fn implied(&self, from: Currency, to: Currency, now: Timestamp) -> Option<Rate> {
        let others = Usable::FetchedOthers { from, to, now };
        Some(self.quote_with(from, to, others)?.rate)
    }

    /// The last known rate between two currencies, fetched rates included however old they are.
    pub(super) fn last_known(&self, from: Currency, to: Currency, now: Timestamp) -> Option<Rate> {
        let quote = self.quote_with(from, to, Usable::LastKnown(now))?;
        Some(quote.rate)
    }

    /// Rate from `from` to `to` now; `None` when no valid rates connect them.
    pub fn quote(&self, from: Currency, to: Currency, now: Timestamp) -> Option<Quote> {
        self.quote_with(from, to, Usable::Valid(now))
    }

    fn quote_with(&self, from: Currency, to: Currency, usable: Usable) -> Option<Quote> {
        let way = self.way(from, to, usable).filter(|_| from != to)?;
        let mut legs = way
            .windows(2)
            .filter_map(|pair| self.leg(pair[0], pair[1], usable));
        let first = legs.next()?;
        let found = legs.try_fold(first, |so_far, leg| {
            let as_of = [so_far.as_of, leg.as_of].into_iter().flatten().min();
            let rate = so_far.rate.then(leg.rate).ok()?;
            Some(ConversionHop { rate, as_of })
        })?;
        Some(Quote {
            rate: found.rate,
            way,
            as_of: found.as_of,
        })
    }

    /// The shortest way, breadth first.
    fn way(&self, from: Currency, to: Currency, usable: Usable) -> Option<Vec<Currency>> {
        let mut ways = VecDeque::from([vec![from]]);
        while let Some(way) = ways.pop_front() {
            let last = *way.last()?;
            for next in self.neighbours(last, usable) {
                if next == to {
                    return Some([way, vec![to]].concat());
                }
                if way.len() < LEGS && !way.contains(&next) {
                    ways.push_back([way.clone(), vec![next]].concat());
                }
            }
        }
        None
    }

    fn neighbours(&self, of: Currency, usable: Usable) -> Vec<Currency> {
        let mut next: Vec<Currency> = self
            .usable(usable)
            .filter_map(|entry| match entry {
                entry if entry.from == of => Some(entry.to),
                entry if entry.to == of => Some(entry.from),
                _ => None,
            })
            .collect();
        next.sort_by_key(|currency| currency.code());
        next.dedup();
        next
    }

    /// One step: by the best source; of one source its rate for this direction before the inverse
    /// of the other's.
    fn leg(&self, from: Currency, to: Currency, usable: Usable) -> Option<ConversionHop> {
        let straight = |entry: &Entry| entry.from == from && entry.to == to;
        let backward = |entry: &Entry| entry.from == to && entry.to == from;
        let best = self
            .usable(usable)
            .filter(|entry| straight(entry) || backward(entry))
            .min_by_key(|entry| (entry.source, backward(entry)))?;
        let rate = match straight(best) {
            true => best.rate,
            false => best.rate.inverse().ok()?,
        };
        let as_of = (best.source != Source::Peg).then_some(best.at);
        Some(ConversionHop { rate, as_of })
    }

    fn usable(&self, which: Usable) -> impl Iterator<Item = &Entry> {
        self.entries.values().filter(move |entry| {
            let is_valid = |now: Timestamp| entry.valid_until.is_none_or(|until| now < until);
            let is_fetched = entry.source == Source::Feed;
            match which {
                Usable::Valid(now) => is_valid(now),
                Usable::LastKnown(now) => is_fetched || is_valid(now),
                Usable::FetchedOthers { from, to, now } => {
                    let is_pair = [(from, to), (to, from)].contains(&(entry.from, entry.to));
                    is_fetched && is_valid(now) && !is_pair
                }
            }
        })
    }
}

/// Rates that a quote may use.
#[derive(Clone, Copy)]
enum Usable {
    /// Valid at this time.
    Valid(Timestamp),
    /// Valid at this time, or fetched at any time.
    LastKnown(Timestamp),
    /// Fetched, valid at this time, and not of these two currencies.
    FetchedOthers {
        from: Currency,
        to: Currency,
        now: Timestamp,
    },
}

struct ConversionHop {
    rate: Rate,
    as_of: Option<Timestamp>,
}

fn key(entry: &Entry) -> Key {
    (entry.from.code(), entry.to.code(), entry.source)
}

const PEGS: [(&str, &str, &str); 3] = [
    ("EUR", "XOF", "655.957"),
    ("EUR", "XAF", "655.957"),
    ("XOF", "XAF", "1"),
];
/// Rates on the longest way: from a currency over two that are traded everywhere to another. Each
/// adds its own spread and age.
const LEGS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_000);

    fn currency(code: &str) -> Currency {
        Currency::from_code(code).unwrap()
    }

    fn rates(entries: &[(&str, &str, &str, Source)]) -> RateTable {
        let mut rates = RateTable::default();
        for (from, to, rate, source) in entries {
            rates.put(Entry {
                from: currency(from),
                to: currency(to),
                rate: Rate::parse(rate).unwrap(),
                source: *source,
                at: Timestamp::from_seconds(500),
                valid_until: Some(Timestamp::from_seconds(2_000)),
                day_began_with: None,
            });
        }
        rates
    }

    fn quoted(rates: &RateTable, from: &str, to: &str, now: Timestamp) -> Option<(String, String)> {
        let quote = rates.quote(currency(from), currency(to), now)?;
        let way: Vec<&str> = quote.way.iter().map(|currency| currency.code()).collect();
        Some((quote.rate.to_string(), way.join(" ")))
    }

    #[test]
    fn the_cfa_francs_are_pegged_to_the_euro_and_so_to_each_other() {
        let rates = RateTable::default();
        for (from, to, rate) in [
            ("EUR", "XOF", "655.957"),
            ("EUR", "XAF", "655.957"),
            ("XOF", "EUR", "0.00152449017237"),
            ("XAF", "XOF", "1"),
        ] {
            let quote = rates.quote(currency(from), currency(to), NOW).unwrap();
            assert_eq!(quote.rate.to_string(), rate, "{from} {to}");
            assert_eq!(quote.as_of, None);
        }
        assert_eq!(quoted(&rates, "EUR", "USD", NOW), None);
        assert_eq!(quoted(&rates, "EUR", "EUR", NOW), None);
    }

    #[test]
    fn what_no_rate_connects_directly_is_connected_over_others_by_the_shortest_way() {
        let rates = rates(&[
            ("EUR", "USD", "1.25", Source::Feed),
            ("USD", "NGN", "1600", Source::Feed),
            ("USD", "GHS", "12.5", Source::Feed),
        ]);
        let some = |rate: &str, way: &str| Some((rate.to_owned(), way.to_owned()));
        assert_eq!(quoted(&rates, "USD", "EUR", NOW), some("0.8", "USD EUR"));
        assert_eq!(
            quoted(&rates, "USD", "XOF", NOW),
            some("524.7656", "USD EUR XOF")
        );
        assert_eq!(
            quoted(&rates, "XOF", "NGN", NOW),
            some("3.04898034474", "XOF EUR USD NGN")
        );
        assert_eq!(
            quoted(&rates, "NGN", "GHS", NOW),
            some("0.0078125", "NGN USD GHS")
        );
        let quote = rates.quote(currency("XOF"), currency("USD"), NOW).unwrap();
        assert_eq!(quote.as_of, Some(Timestamp::from_seconds(500)));
    }

    #[test]
    fn what_an_operator_wrote_comes_before_a_peg_and_a_peg_before_a_feed() {
        let feed = rates(&[("XOF", "EUR", "0.0015", Source::Feed)]);
        assert_eq!(
            quoted(&feed, "XOF", "EUR", NOW).unwrap().0,
            "0.00152449017237"
        );
        let written = rates(&[("EUR", "XOF", "650", Source::Table)]);
        assert_eq!(quoted(&written, "EUR", "XOF", NOW).unwrap().0, "650");
    }

    #[test]
    fn a_rate_that_is_too_old_is_not_used() {
        let rates = rates(&[("EUR", "USD", "1.25", Source::Feed)]);
        assert!(quoted(&rates, "EUR", "USD", NOW).is_some());
        let late = Timestamp::from_seconds(2_000);
        assert_eq!(quoted(&rates, "EUR", "USD", late), None);
    }
}
