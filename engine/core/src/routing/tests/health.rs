//! The breaker and what feeds it, on a clock of the test's own.

use std::time::Duration;

use proptest::prelude::*;

use super::super::breaker::Breaker;
use super::*;
use crate::testing::START;
use crate::time::Timestamp;
use crate::transaction::{Captured, Decline, DeclineReason, Outcome};

fn key() -> Key {
    Key {
        connection: id(1),
        kind: Kind::Payment,
        method: "mtn_bj".to_owned(),
    }
}

fn verdict(good: bool) -> Verdict {
    Verdict {
        works: Some(good),
        succeeded: Some(good),
        short_of_funds: false,
    }
}

fn at(millis: u64) -> Timestamp {
    START.plus(Duration::from_millis(millis))
}

/// Sends traffic at 20 a second as routing does: to the connection while it is closed, past it
/// while it is open, but for probes.
struct Road {
    health: Health,
    now: u64,
    sent_while_open: u64,
    plans_while_open: u64,
    turns: Vec<(BreakerTransition, u64)>,
}

impl Road {
    fn new() -> Self {
        Self {
            health: Health::new(100),
            now: 0,
            sent_while_open: 0,
            plans_while_open: 0,
            turns: Vec::new(),
        }
    }

    fn drive(&mut self, seconds: u64, mut good: impl FnMut(u64) -> bool) {
        for _ in 0..seconds * 20 {
            self.now += 50;
            let now = at(self.now);
            if self.health.recent(&key(), now).numbers.open {
                self.plans_while_open += 1;
                if !self.health.grant(&key(), now) {
                    continue;
                }
                self.sent_while_open += 1;
            }
            let turn = self.health.note(&key(), verdict(good(self.now)), now, now);
            self.turns.extend(turn.map(|turn| (turn, self.now)));
        }
    }
}

#[test]
fn a_breaker_opens_within_30_s_probes_at_most_5_percent_and_closes_within_60_s_of_healing() {
    for past in [0, 600] {
        let mut road = Road::new();
        road.drive(past, |_| true);
        assert_eq!(road.turns, [], "nothing opens a healthy one");
        let mut alternate = false;
        road.drive(300, |_| {
            alternate = !alternate;
            alternate
        });
        let (turn, opened) = road.turns[0];
        assert_eq!((turn, road.turns.len()), (BreakerTransition::Opened, 1));
        assert!(opened - past * 1_000 <= 30_000, "{opened}");
        assert!(road.sent_while_open * 20 <= road.plans_while_open);
        assert!(road.sent_while_open > 100, "it is probed");
        road.drive(60, |_| true);
        let (turn, closed) = road.turns[1];
        assert_eq!((turn, road.turns.len()), (BreakerTransition::Closed, 2));
        assert!(closed - (past + 300) * 1_000 <= 60_000, "{closed}");
    }
}

#[test]
fn a_dead_provider_with_little_traffic_is_found_by_its_faults_in_a_row() {
    let mut health = Health::new(100);
    for minute in 0..4 {
        let now = at(minute * 60_000);
        assert_eq!(health.note(&key(), verdict(false), now, now), None);
    }
    let now = at(4 * 60_000);
    assert_eq!(
        health.note(&key(), verdict(false), now, now),
        Some(BreakerTransition::Opened)
    );
    // Too little traffic for one in twenty: a probe every ten minutes.
    assert!(!health.grant(&key(), at(14 * 60_000 - 1)));
    assert!(health.grant(&key(), at(14 * 60_000)));
    assert!(!health.grant(&key(), at(15 * 60_000)));
    // A plan by which nothing began is no plan, and its probe none.
    health.take_back(&key(), false);
    health.take_back(&key(), true);
    assert!(health.grant(&key(), at(15 * 60_000)));
    // Faults with more than ten minutes between them are no row.
    let mut health = Health::new(100);
    for hour in 0..20 {
        let now = at(hour * 3_600_000);
        assert_eq!(health.note(&key(), verdict(false), now, now), None);
    }
}

#[test]
fn calls_that_began_before_it_opened_do_not_close_it() {
    let mut health = Health::new(100);
    let turns: Vec<_> = (0..5)
        .filter_map(|_| health.note(&key(), verdict(false), at(0), at(1_000)))
        .collect();
    assert_eq!(turns, [BreakerTransition::Opened]);
    for _ in 0..100 {
        assert_eq!(health.note(&key(), verdict(true), at(500), at(2_000)), None);
    }
    let turns = (0..10).map(|_| health.note(&key(), verdict(true), at(2_000), at(3_000)));
    assert_eq!(turns.last(), Some(Some(BreakerTransition::Closed)));
}

#[test]
fn only_what_is_the_providers_fault_opens_a_breaker() {
    use DeclineReason as Reason;
    let declined = |reason| {
        Outcome::Declined(Decline {
            reason,
            retryable: false,
            provider_id: None,
            provider_code: None,
            provider_message: None,
            field: None,
        })
    };
    let succeeded = Outcome::Succeeded {
        provider_id: None,
        amount: Captured::AsAsked,
        fees: None,
        provider_status: None,
    };
    let pending = Outcome::Pending {
        provider_id: None,
        payer_action: None,
        poll_after: None,
        provider_status: None,
        received: None,
    };
    let why = || "why".to_owned();
    let (good, bad) = (Some(true), Some(false));
    // Of a submission: does the provider work, and did it succeed. Of a query: the same.
    let table = [
        (succeeded, (good, good), (None, good)),
        (pending, (good, None), (None, None)),
        (Outcome::unknown(why()), (bad, None), (None, None)),
        (Outcome::NotSent { why: why() }, (bad, bad), (None, bad)),
        (
            declined(Reason::ProviderUnavailable),
            (bad, bad),
            (bad, bad),
        ),
        (declined(Reason::Misconfigured), (bad, bad), (bad, bad)),
        (declined(Reason::MerchantFunds), (good, None), (None, None)),
        (
            declined(Reason::InsufficientFunds),
            (good, bad),
            (None, bad),
        ),
        (declined(Reason::PayerDeclined), (good, bad), (None, bad)),
        (declined(Reason::PayerTimeout), (good, bad), (None, bad)),
        (declined(Reason::InvalidAccount), (good, bad), (None, bad)),
        (declined(Reason::LimitExceeded), (good, bad), (None, bad)),
        (declined(Reason::Other), (good, bad), (None, bad)),
    ];
    for (outcome, submission, news) in table {
        for (call, expected) in [(Call::Submission, submission), (Call::News, news)] {
            let verdict = Verdict::of(&outcome, call);
            assert_eq!(
                (verdict.works, verdict.succeeded),
                expected,
                "{outcome:?} {call:?}"
            );
            let empty = declined(Reason::MerchantFunds);
            assert_eq!(verdict.short_of_funds, outcome == empty, "{outcome:?}");
        }
    }
}

#[test]
fn an_empty_account_is_less_preferred_for_ten_minutes_or_until_money_moves() {
    let mut health = Health::new(100);
    let empty = Verdict {
        short_of_funds: true,
        works: Some(true),
        succeeded: None,
    };
    let short = |health: &Health, millis| health.recent(&key(), at(millis)).numbers.short_of_funds;
    health.note(&key(), empty, at(0), at(0));
    assert!(short(&health, 599_999));
    assert!(!short(&health, 600_000));
    assert!(!health.recent(&key(), at(0)).numbers.open);
    health.note(&key(), verdict(true), at(1_000), at(1_000));
    assert!(!short(&health, 1_000));
}

#[test]
fn numbers_leave_with_the_time() {
    let mut health = Health::new(100);
    for second in 0..10 {
        let now = at(second * 1_000);
        health.note(&key(), verdict(second % 4 != 0), now, now);
    }
    let numbers = |millis| health.recent(&key(), at(millis)).numbers;
    assert_eq!((numbers(9_000).calls, numbers(9_000).faults), (10, 3));
    assert_eq!((numbers(60_000).calls, numbers(60_000).ended), (0, 10));
    assert_eq!(numbers(24 * 60_000).ended, 10);
    assert_eq!(numbers(36 * 60_000).ended, 0);
}

#[test]
fn memory_is_bounded_and_what_is_in_use_is_kept() {
    let mut health = Health::new(100);
    for number in 0..10_000 {
        let other = Key {
            connection: id(number + 2),
            ..key()
        };
        health.note(&other, verdict(true), START, START);
        health.note(&key(), verdict(true), START, START);
        assert!(health.all(START).len() <= 100);
    }
    assert_eq!(health.recent(&key(), START).numbers.ended, 10_000);
}

proptest! {
    #[test]
    fn whatever_the_provider_does_probes_keep_to_their_share_and_healing_closes(
        pattern in prop::collection::vec(any::<bool>(), 1..200),
        seconds in 60_u64..240,
    ) {
        let mut road = Road::new();
        let mut calls = 0;
        road.drive(seconds, |_| {
            calls += 1;
            pattern[calls % pattern.len()]
        });
        prop_assert!(road.sent_while_open * 20 <= road.plans_while_open);
        road.drive(60, |_| true);
        let open = road.health.recent(&key(), at(road.now)).numbers.open;
        prop_assert!(!open);
        prop_assert!(road.sent_while_open * 20 <= road.plans_while_open);
    }
}

#[test]
fn faults_are_one_row_while_no_more_than_ten_minutes_lie_between_them() {
    for (pause, opens) in [(600_000, true), (600_001, false)] {
        let mut health = Health::new(1);
        for _ in 0..4 {
            health.note(&key(), verdict(false), START, START);
        }
        health.note(&key(), verdict(false), START, at(pause));
        let numbers = health.recent(&key(), at(pause)).numbers;
        assert_eq!(numbers.open, opens, "{pause}");
    }
}

#[test]
fn only_calls_that_began_before_the_breaker_opened_tell_nothing_of_healing() {
    for (began, closes) in [(999, false), (1_000, true)] {
        let mut health = Health::new(1);
        for _ in 0..5 {
            health.note(&key(), verdict(false), START, at(1_000));
        }
        assert!(health.recent(&key(), at(1_000)).numbers.open);
        for _ in 0..10 {
            health.note(&key(), verdict(true), at(began), at(2_000));
        }
        let numbers = health.recent(&key(), at(2_000)).numbers;
        assert_eq!(!numbers.open, closes, "{began}");
    }
}

#[test]
fn shares_are_of_a_thousand_and_a_rate_that_was_seen_twenty_times_is_half_a_guess() {
    use super::super::breaker::per_mille;
    use super::super::order::rate_per_mille;

    let shares = [(0, 0), (1, 2), (1, 3), (20, 20)].map(|(part, whole)| per_mille(part, whole));
    assert_eq!(shares, [0, 500, 333, 1_000]);
    let rate = |ended, succeeded| {
        rate_per_mille(RecentResults {
            numbers: HealthNumbers {
                ended,
                succeeded,
                ..HealthNumbers::default()
            },
            faults_per_mille: 0,
        })
    };
    assert_eq!([rate(19, 0), rate(20, 0), rate(20, 20)], [800, 400, 900]);
}

#[test]
fn an_open_breaker_without_calls_lately_shows_the_faults_with_which_it_opened() {
    let mut health = Health::new(1);
    let faults = |health: &Health, millis| health.recent(&key(), at(millis)).faults_per_mille;
    assert_eq!(faults(&health, 0), 0);
    for good in [true, true, false, false, false, false, false, false] {
        health.note(&key(), verdict(good), START, START);
    }
    assert_eq!(faults(&health, 0), 750);
    assert!(faults(&health, 60_000) > 700, "of when it opened");
}

#[test]
fn the_health_of_every_connection_is_shown_in_order() {
    let mut health = Health::new(2);
    let keys = [2, 1].map(|number| Key {
        connection: id(number),
        ..key()
    });
    for key in &keys {
        health.note(key, verdict(true), START, START);
    }
    let shown = health
        .all(START)
        .into_iter()
        .map(|(key, ..)| key.connection);
    assert_eq!(shown.collect::<Vec<_>>(), [id(1), id(2)]);
}

#[test]
fn a_breaker_that_closes_counts_anew() {
    let mut health = Health::new(1);
    for good in [[false; 5].as_slice(), &[true; 10]].concat() {
        health.note(&key(), verdict(good), START, START);
    }
    let numbers = health.recent(&key(), START).numbers;
    assert_eq!((numbers.open, numbers.calls, numbers.faults), (false, 0, 0));
}

#[test]
fn half_of_the_limit_is_known_at_a_time_at_least() {
    let mut health = Health::new(100);
    for number in 0..50 {
        let other = Key {
            connection: id(number),
            ..key()
        };
        health.note(&other, verdict(true), START, START);
    }
    assert_eq!(health.all(START).len(), 50);
}

#[test]
fn a_connection_of_the_older_half_is_still_known_to_the_plan() {
    let mut health = Health::new(4);
    for number in 1..=3 {
        let one = Key {
            connection: id(number),
            ..key()
        };
        health.note(&one, verdict(true), START, START);
    }
    let first = Key {
        connection: id(1),
        ..key()
    };
    assert_eq!(health.recent(&first, START).numbers.ended, 1);
}

#[test]
fn twenty_calls_open_a_breaker_and_the_twentieth_plan_is_a_probe() {
    let mut breaker = Breaker::default();
    let now = at(0);
    for call in 1..=20 {
        // Never five faults in a row: only the share of twenty calls opens it.
        let turn = breaker.note(call % 2 == 1, now, now);
        assert_eq!(turn.is_some(), call == 20, "call {call}");
    }
    for plan in 1..=40 {
        assert_eq!(breaker.grant(now), plan % 20 == 0, "plan {plan}");
    }
}

#[test]
fn the_last_fault_of_a_connection_is_kept_with_its_time() {
    let mut health = Health::new(100);
    health.note(&key(), verdict(false), START, START);
    assert_eq!(health.all(START)[0].2, None);
    health.note_fault(&key(), "timeout", START);
    health.note_fault(&key(), "HTTP 503", at(5_000));
    let expected = LastFault {
        at: at(5_000),
        why: "HTTP 503".to_owned(),
    };
    assert_eq!(health.all(at(9_000))[0].2, Some(expected));
}
