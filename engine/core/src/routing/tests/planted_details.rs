//! Details of health, breakers, rules and fees that a change could lose unseen.

use std::time::Duration;

use super::*;
use crate::testing::START;
use crate::time::Timestamp;

fn key(number: u128) -> Key {
    Key {
        connection: id(number),
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

fn at(seconds: u64) -> Timestamp {
    START.plus(Duration::from_secs(seconds))
}

fn open_breaker(limit: usize) -> Health {
    let mut health = Health::new(limit);
    for _ in 0..5 {
        health.note(&key(1), verdict(false), at(0), at(0));
    }
    assert!(health.recent(&key(1), at(0)).numbers.open);
    health
}

#[test]
fn a_connection_of_the_old_generation_is_probed() {
    let mut health = open_breaker(2);
    health.note(&key(2), verdict(true), at(1), at(1));
    assert!(health.grant(&key(1), at(600)));
}

#[test]
fn a_plan_by_which_nothing_began_does_not_bring_a_probe_forward() {
    let mut health = open_breaker(100);
    for _ in 0..19 {
        assert!(!health.grant(&key(1), at(1)));
    }
    health.take_back(&key(1), false);
    assert!(!health.grant(&key(1), at(1)), "the nineteenth");
    assert!(health.grant(&key(1), at(1)), "the twentieth");
}

#[test]
fn a_probe_that_did_not_begin_is_granted_to_the_next_plan() {
    let mut health = open_breaker(100);
    for _ in 0..19 {
        assert!(!health.grant(&key(1), at(1)));
    }
    assert!(health.grant(&key(1), at(1)));
    health.take_back(&key(1), true);
    assert!(health.grant(&key(1), at(1)));
}

#[test]
fn three_faults_of_ten_open_a_breaker() {
    let mut health = Health::new(100);
    let turns: Vec<_> = (0..20)
        .map(|call| {
            let good = call % 3 != 1 || call == 1;
            let good = good && call != 19;
            health.note(&key(1), verdict(good), at(call), at(call))
        })
        .collect();
    let numbers = health.recent(&key(1), at(19)).numbers;
    assert_eq!((numbers.calls, numbers.faults), (20, 6));
    assert_eq!(turns.last(), Some(&Some(BreakerTransition::Opened)));
}

#[test]
fn the_second_of_two_sick_connections_is_probed_when_the_first_is_not() {
    let metadata = BTreeMap::new();
    let recent = |connection| match connection == id(3) {
        true => RecentResults::default(),
        false => sick(500),
    };
    let route = plan(able(3), &asked(&metadata), None, recent, |connection| {
        connection == id(2)
    });
    assert_eq!(numbers(&route), [2, 3, 1]);
}

#[test]
fn a_fee_whose_part_cannot_be_read_is_unknown() {
    let set = rules(r#"{"fees": [{"connection": "con1", "percent": "1", "fixed": "0.5"}]}"#.into());
    let fee = set.fee(id(1), Kind::Payment, "mtn_bj", amount(10_000, "XOF"));
    assert_eq!(fee, None);
}

#[test]
fn a_silent_connection_is_as_sick_as_when_its_breaker_opened() {
    let mut health = Health::new(100);
    for call in 0..20 {
        health.note(&key(1), verdict(call < 15), at(0), at(0));
    }
    let recent = health.recent(&key(1), at(3_600));
    assert!(recent.numbers.open);
    assert_eq!((recent.numbers.calls, recent.faults_per_mille), (0, 250));
}
