//! Rules whose planted faults no other test finds.

use super::*;
use crate::time::Timestamp;

#[test]
fn a_sick_connection_behind_a_healthy_one_is_not_asked_for_a_probe() {
    let nothing = BTreeMap::new();
    let recent = |connection| match connection {
        one if one == id(2) => sick(600),
        _ => RecentResults::default(),
    };
    let mut asked_for = Vec::new();
    let grant = |connection| {
        asked_for.push(connection);
        true
    };
    let route = plan(able(2), &asked(&nothing), None, recent, grant);
    assert_eq!(numbers(&route), [1, 2]);
    assert_eq!(asked_for, []);
}

#[test]
fn the_least_fee_holds_for_the_share_and_the_fixed_part_together() {
    let row = |min: &str| FeeRow {
        connection: id(1),
        kind: None,
        methods: Vec::new(),
        currency: None,
        percent: Some("1".parse().unwrap()),
        fixed: Some("50".to_owned()),
        min: Some(min.to_owned()),
        max: None,
    };
    for (min, fee) in [("100", 150), ("149", 150), ("200", 200)] {
        let taken = row(min).fee(amount(10_000, "XOF"));
        assert_eq!(taken, Some(amount(fee, "XOF")), "{min}");
    }
}

#[test]
fn an_account_stays_short_until_money_moves_although_the_provider_answers() {
    let key = Key {
        connection: id(1),
        kind: Kind::Payout,
        method: "mtn_bj".to_owned(),
    };
    let now = Timestamp::from_seconds(1_700_000_000);
    let mut health = Health::new(10);
    let answers = |succeeded, short_of_funds| Verdict {
        works: Some(true),
        succeeded,
        short_of_funds,
    };
    let mut note = |verdict| {
        health.note(&key, verdict, now, now);
        health.recent(&key, now).numbers.short_of_funds
    };
    assert!(note(answers(None, true)));
    assert!(note(answers(None, false)), "a pending one");
    assert!(note(answers(Some(false), false)), "a payer declined");
    assert!(!note(answers(Some(true), false)));
}
