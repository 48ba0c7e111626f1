//! Plausibility check of fetched rates. Pure.
//!
//! A fetched rate that moved further than [`FeedSettings::max_change_percent`](super::FeedSettings)
//! from the last accepted one, or that contradicts a peg, is held: it is stored, shown and not used
//! until an operator accepts or rejects it. So is one that moved further than this from the rate
//! with which the day (UTC) began: a drift in small steps stays within one such change a day. What
//! an operator accepted counts as the rate with which the day began.
//!
//! The last accepted rate of a pair may be of the other direction. A rate is also compared with the
//! one that valid fetched rates of other pairs imply. The first rate of a pair is compared with the
//! one that all known rates imply, the operator's table included, so that a feed with another base
//! is checked too. Rates of a base that no known rate reaches are compared with each other. Nothing
//! is compared with the first rates of all.
//!
//! Limits: steps just before and just after midnight are of two days, and a drift of many days is
//! not held.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::rate_table::{Entry, RateTable};
use switchyard_core::limits::PEG_TOLERANCE_PERCENT;
use switchyard_core::money::{Currency, Rate};
use switchyard_core::time::Timestamp;

/// A fetched rate that waits for an operator's decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldRate {
    /// The rate as fetched.
    pub entry: Entry,
    pub reason: HoldReason,
    /// The rate that it was compared with: the last accepted one, the one with which the day
    /// began, or the one that the peg or other rates imply.
    pub expected: Rate,
    /// The currency whose fixed rate and fetched rate imply `expected`: one of the two fetched
    /// rates is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pegged_to: Option<Currency>,
    /// An operator rejected this very rate: it stays unused, and is no longer announced.
    #[serde(default)]
    pub rejected: bool,
}

/// Reason why a fetched rate is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldReason {
    /// The rate differs by more than the setting allows from the last accepted one, or from the one
    /// that the known rates imply.
    Moved,
    /// The rate differs by more than the setting allows from the one with which the day began.
    Drifted,
    /// Together with the rate of the pegged currency it contradicts a fixed rate.
    ContradictsPeg,
}

/// Divides fetched rates into those that may be used and those that an operator has to look at
/// first.
pub fn screen(
    rates: &RateTable,
    fetched: Vec<Entry>,
    max_change_percent: u32,
    now: Timestamp,
) -> (Vec<Entry>, Vec<HeldRate>) {
    let start_of_day = rates.at_start_of_day(now);
    let drifted = moved(&start_of_day, &fetched, max_change_percent, now);
    let moved = moved(rates, &fetched, max_change_percent, now);
    let has_moved = |code| moved.contains_key(code) || drifted.contains_key(code);
    // The rate of the batch, or what is in use instead when the batch's own is held.
    let known = |base: Currency, to: Currency| {
        if base == to {
            return Some(Rate::ONE);
        }
        let fetched = fetched.iter().find(|entry| entry.to == to);
        let plausible = fetched.filter(|entry| !has_moved(entry.to.code()));
        let plausible = plausible.map(|entry| entry.rate);
        plausible.or_else(|| rates.last_fetched(base, to))
    };
    let held_entry = |entry: &Entry| {
        let hold = |reason, expected, pegged_to| HeldRate {
            entry: entry.clone(),
            reason,
            expected,
            pegged_to,
            rejected: rates.is_rejected(entry),
        };
        if let Some(before) = moved.get(entry.to.code()) {
            return Some(hold(HoldReason::Moved, *before, None));
        }
        if let Some(began_with) = drifted.get(entry.to.code()) {
            return Some(hold(HoldReason::Drifted, *began_with, None));
        }
        let pegs = rates.pegs_of(entry.to, now);
        let mut implied = pegs.into_iter().filter_map(|(partner, rate)| {
            Some((partner, known(entry.from, partner)?.then(rate).ok()?))
        });
        let (partner, expected) = implied
            .find(|(_, implied)| entry.rate.differs_from(*implied, PEG_TOLERANCE_PERCENT))?;
        Some(hold(HoldReason::ContradictsPeg, expected, Some(partner)))
    };
    let held: Vec<HeldRate> = fetched.iter().filter_map(held_entry).collect();
    let is_held = |entry: &Entry| held.iter().any(|held| held.entry == *entry);
    let accepted = fetched.iter().filter(|entry| !is_held(entry));
    let accepted = accepted.map(|entry| Entry {
        day_began_with: before(&start_of_day, entry, now),
        ..entry.clone()
    });
    (accepted.collect(), held)
}

/// The rate of before for a fetched one: the last accepted rate of the pair, or the one that all
/// known rates imply. `None` for a pair with a fixed rate: pegs are compared apart, more strictly.
fn before(rates: &RateTable, entry: &Entry, now: Timestamp) -> Option<Rate> {
    let (from, to) = (entry.from, entry.to);
    if let Some(last) = rates.last_fetched(from, to) {
        return Some(last);
    }
    let is_pegged = rates.pegs_of(to, now).iter().any(|(peg, _)| *peg == from);
    match is_pegged {
        true => None,
        false => rates.last_known(from, to, now),
    }
}

/// The rates that moved too far, by their currencies, with the rates that were expected.
fn moved(
    rates: &RateTable,
    fetched: &[Entry],
    max_change_percent: u32,
    now: Timestamp,
) -> BTreeMap<&'static str, Rate> {
    let mut moved = BTreeMap::new();
    let mut is_connected = false;
    for entry in fetched {
        let Some(before) = before(rates, entry, now) else {
            continue;
        };
        is_connected = true;
        let implied = rates.implied(entry.from, entry.to, now);
        let is_far = |expected: &Rate| entry.rate.differs_from(*expected, max_change_percent);
        if let Some(expected) = [Some(before), implied].into_iter().flatten().find(is_far) {
            moved.insert(entry.to.code(), expected);
        }
    }
    if is_connected {
        return moved;
    }
    // A new base: the first rate with a known currency stands for it. Which of two rates that
    // contradict each other is wrong cannot be known.
    let mut known = fetched.iter().filter(|entry| rates.names(entry.to));
    let Some(first) = known.next() else {
        return moved;
    };
    // Pegs are compared apart, more strictly.
    let pegged = rates.pegs_of(first.to, now);
    let is_pegged = |entry: &&Entry| pegged.iter().any(|(partner, _)| *partner == entry.to);
    for entry in known.filter(|entry| !is_pegged(entry)) {
        let cross = rates.last_known(first.to, entry.to, now);
        let expected = cross.and_then(|cross| first.rate.then(cross).ok());
        let is_far = |expected: &Rate| entry.rate.differs_from(*expected, max_change_percent);
        let Some(expected) = expected.filter(is_far) else {
            continue;
        };
        moved.insert(entry.to.code(), expected);
        let back = rates.last_known(entry.to, first.to, now);
        if let Some(other) = back.and_then(|back| entry.rate.then(back).ok()) {
            moved.entry(first.to.code()).or_insert(other);
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::super::rate_table::Source;
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_000);

    fn entry(from: &str, to: &str, rate: &str) -> Entry {
        Entry {
            from: Currency::from_code(from).unwrap(),
            to: Currency::from_code(to).unwrap(),
            rate: Rate::parse(rate).unwrap(),
            source: Source::Feed,
            at: NOW,
            valid_until: None,
            day_began_with: None,
        }
    }

    /// Codes of the held currencies after `rates` has `accepted` and `base` is quoted as `fetched`.
    fn held(accepted: &[(&str, &str, &str)], fetched: &[(&str, &str, &str)]) -> String {
        let mut rates = RateTable::default();
        for (from, to, rate) in accepted {
            rates.put(entry(from, to, rate));
        }
        let fetched: Vec<Entry> = fetched
            .iter()
            .map(|(from, to, rate)| entry(from, to, rate))
            .collect();
        let count = fetched.len();
        let (used, held) = screen(&rates, fetched, 10, NOW);
        assert_eq!(used.len() + held.len(), count);
        let codes: Vec<&str> = held.iter().map(|held| held.entry.to.code()).collect();
        codes.join(" ")
    }

    #[test]
    fn a_rate_is_held_when_it_moves_more_than_the_setting_in_either_direction() {
        let before = [("EUR", "USD", "1")];
        for (rate, expected) in [
            ("1.1", ""),
            ("1.100001", "USD"),
            ("0.9", ""),
            ("0.899999", "USD"),
            ("2500", "USD"),
            ("0.0004", "USD"),
        ] {
            assert_eq!(held(&before, &[("EUR", "USD", rate)]), expected, "{rate}");
        }
    }

    #[test]
    fn a_feed_that_changes_its_base_is_compared_with_the_inverse() {
        let before = [("EUR", "USD", "1.25")];
        assert_eq!(held(&before, &[("USD", "EUR", "0.81")]), "");
        assert_eq!(held(&before, &[("USD", "EUR", "1.25")]), "EUR");
    }

    /// Rates that are fetched one after another at these hours, and whether each is used.
    fn fetched_in_turn(rates: &mut RateTable, steps: &[(i64, &str, &str, &str, bool)]) {
        for (hour, from, to, rate, is_used) in steps {
            let now = Timestamp::from_seconds(hour * 60 * 60);
            let fetched = Entry {
                at: now,
                ..entry(from, to, rate)
            };
            let (used, held) = screen(rates, vec![fetched], 10, now);
            assert_eq!(
                !used.is_empty(),
                *is_used,
                "{hour} {from} {to} {rate}: {held:?}"
            );
            used.into_iter().for_each(|entry| rates.put(entry));
        }
    }

    #[test]
    fn a_drift_in_small_steps_is_held_at_the_setting_until_the_next_day() {
        let steps = [
            (1, "EUR", "USD", "1", true),
            (1, "EUR", "USD", "1.099", true),
            (1, "EUR", "USD", "1.2078", false),
            (2, "EUR", "USD", "1.1", true),
            (3, "EUR", "USD", "1.101", false),
            (4, "EUR", "USD", "0.99", true),
            (5, "EUR", "USD", "0.895", false),
            // The day began with 0.99.
            (24, "EUR", "USD", "1.08", true),
            (47, "EUR", "USD", "1.1", false),
            (47, "EUR", "USD", "0.98", true),
            (47, "EUR", "USD", "0.891", true),
            // Two days later, without a rate in between.
            (96, "EUR", "USD", "0.98", true),
        ];
        fetched_in_turn(&mut RateTable::default(), &steps);
    }

    #[test]
    fn a_feed_that_changes_its_base_with_each_step_drifts_no_further() {
        let steps = [
            (1, "EUR", "USD", "1", true),
            (1, "USD", "EUR", "0.92", true),
            (1, "EUR", "USD", "1.19", false),
            (2, "USD", "EUR", "0.89", false),
            (3, "EUR", "GHS", "10", true),
            (3, "USD", "GHS", "9.9", true),
            (3, "USD", "GHS", "10.8", false),
            (3, "EUR", "GHS", "10.8", true),
            (4, "GHS", "USD", "0.09", false),
            (4, "GHS", "USD", "0.1", true),
        ];
        fetched_in_turn(&mut RateTable::default(), &steps);
    }

    #[test]
    fn a_drifted_rate_is_expected_to_be_that_with_which_the_day_began() {
        let mut rates = RateTable::default();
        for rate in ["1", "1.09"] {
            let (used, _) = screen(&rates, vec![entry("EUR", "USD", rate)], 10, NOW);
            used.into_iter().for_each(|entry| rates.put(entry));
        }
        let (_, held) = screen(&rates, vec![entry("EUR", "USD", "1.15")], 10, NOW);
        assert_eq!(held[0].reason, HoldReason::Drifted);
        assert_eq!(held[0].expected, Rate::ONE);
        let (_, held) = screen(&rates, vec![entry("EUR", "USD", "1.5")], 10, NOW);
        assert_eq!(held[0].reason, HoldReason::Moved);
        assert_eq!(held[0].expected.to_string(), "1.09");
    }

    #[test]
    fn a_rate_is_compared_with_the_other_direction_and_with_the_rates_of_other_pairs() {
        for (accepted, fetched, expected) in [
            (&[("USD", "XOF", "600")][..], ("XOF", "USD", "2500"), "USD"),
            (&[("USD", "XOF", "600")], ("XOF", "USD", "0.0016667"), ""),
            // The last rate of the pair agrees, and the valid rates of others do not.
            (
                &[
                    ("EUR", "USD", "1.08"),
                    ("EUR", "GHS", "16.5"),
                    ("USD", "GHS", "12"),
                ],
                ("USD", "GHS", "12.1"),
                "GHS",
            ),
            (
                &[
                    ("EUR", "USD", "1.08"),
                    ("EUR", "GHS", "16.5"),
                    ("USD", "GHS", "15"),
                ],
                ("USD", "GHS", "15.5"),
                "",
            ),
        ] {
            assert_eq!(held(accepted, &[fetched]), expected, "{fetched:?}");
        }
    }

    #[test]
    fn the_first_rate_of_a_pair_is_compared_with_the_operators_rate() {
        let mut rates = RateTable::default();
        rates.put(Entry {
            source: Source::Table,
            ..entry("USD", "XOF", "600")
        });
        let steps = [
            (1, "XOF", "USD", "2500", false),
            (1, "XOF", "USD", "0.0016", true),
        ];
        fetched_in_turn(&mut rates, &steps);
    }

    #[test]
    fn rates_of_other_pairs_that_are_too_old_contradict_nothing() {
        let old = |from, to, rate| Entry {
            valid_until: Some(NOW),
            ..entry(from, to, rate)
        };
        let mut rates = RateTable::default();
        rates.put(old("EUR", "USD", "1.08"));
        rates.put(old("EUR", "GHS", "16.5"));
        rates.put(entry("USD", "GHS", "12"));
        let (_, held) = screen(&rates, vec![entry("USD", "GHS", "12.1")], 10, NOW);
        assert_eq!(held, []);
    }

    #[test]
    fn the_first_rate_of_a_pair_is_compared_with_pegs_only() {
        assert_eq!(held(&[], &[("EUR", "NGN", "1750")]), "");
        assert_eq!(held(&[], &[("EUR", "XOF", "656.1")]), "");
        assert_eq!(held(&[], &[("EUR", "XOF", "1")]), "XOF");
        let consistent = [("USD", "EUR", "0.92"), ("USD", "XOF", "603.4")];
        assert_eq!(held(&[], &consistent), "");
        // Which of the two is wrong cannot be known.
        let contradicting = [("USD", "EUR", "0.92"), ("USD", "XOF", "0.0004")];
        assert_eq!(held(&[], &contradicting), "EUR XOF");
        // The euro's rate was fetched before, with another base.
        assert_eq!(
            held(&[("EUR", "USD", "1.1")], &[("USD", "XOF", "1")]),
            "XOF"
        );
    }

    #[test]
    fn a_feed_that_changes_its_base_is_compared_with_the_rates_over_other_currencies() {
        let before = [("EUR", "USD", "1.08"), ("EUR", "GHS", "16.5")];
        for (fetched, expected) in [
            (
                &[("XOF", "USD", "1000"), ("XOF", "EUR", "0.00152449")][..],
                "USD",
            ),
            (&[("XOF", "USD", "1000")], "USD"),
            (&[("XAF", "USD", "0.001646")], ""),
            (&[("USD", "GHS", "0.001")], "GHS"),
            (&[("USD", "GHS", "15.3")], ""),
            (&[("USD", "XOF", "607.4")], ""),
            // No known rate reaches the pound, and one of the two is wrong.
            (&[("GBP", "EUR", "0.5"), ("GBP", "USD", "50")], "EUR USD"),
            (&[("GBP", "EUR", "1.15"), ("GBP", "USD", "1.25")], ""),
            (
                &[
                    ("GBP", "EUR", "1.15"),
                    ("GBP", "GHS", "19"),
                    ("GBP", "USD", "50"),
                ],
                "EUR USD",
            ),
        ] {
            assert_eq!(held(&before, fetched), expected, "{fetched:?}");
        }
    }

    #[test]
    fn a_contradiction_to_a_peg_names_the_currency_whose_rate_implies_another_one() {
        let fetched = vec![entry("USD", "EUR", "0.92"), entry("USD", "XOF", "0.0004")];
        let (_, held) = screen(&RateTable::default(), fetched, 10, NOW);
        let named: Vec<_> = held
            .iter()
            .map(|held| (held.entry.to.code(), held.pegged_to.map(Currency::code)))
            .collect();
        assert_eq!(named, [("EUR", Some("XOF")), ("XOF", Some("EUR"))]);

        let mut rates = RateTable::default();
        rates.put(entry("EUR", "USD", "1"));
        let (_, held) = screen(&rates, vec![entry("EUR", "USD", "2500")], 10, NOW);
        assert_eq!(held[0].pegged_to, None);
    }

    #[test]
    fn a_rate_that_moved_does_not_take_its_pegged_partner_with_it() {
        let before = [("USD", "EUR", "0.92"), ("USD", "XOF", "603.4")];
        let fetched = [("USD", "EUR", "0.93"), ("USD", "XOF", "1")];
        assert_eq!(held(&before, &fetched), "XOF");
    }

    #[test]
    fn a_rate_of_the_operators_table_replaces_the_peg() {
        let devalued = Entry {
            source: Source::Table,
            ..entry("EUR", "XOF", "1000")
        };
        let mut rates = RateTable::default();
        rates.put(devalued);
        let (used, held) = screen(&rates, vec![entry("EUR", "XOF", "1001")], 10, NOW);
        assert_eq!((used.len(), held.len()), (1, 0));
        let (used, held) = screen(&rates, vec![entry("EUR", "XOF", "655.957")], 10, NOW);
        assert_eq!((used.len(), held.len()), (0, 1));
        assert_eq!(held[0].expected.to_string(), "1000");
    }
}
