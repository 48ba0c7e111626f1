//! One table for each strategy.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::*;
use crate::money::Currency;

#[test]
fn priority_goes_by_the_list_and_who_is_not_on_it_comes_after() {
    let nothing = BTreeMap::new();
    let strategy = r#"{"type": "priority", "connections": ["con3", "con9", "con1"]}"#;
    let set = one_rule(&format!(r#"{{"name": "home", "strategy": {strategy}}}"#));
    let route = planned(&set, &asked(&nothing), able(4));
    assert_eq!(numbers(&route), [3, 1, 2, 4]);
    let rule = route.decision.rule.unwrap();
    assert_eq!((rule.version, rule.number), (3, 1));
    assert_eq!(
        route.decision.chosen_because,
        "rule 1 “home”, priority: number 1 of the rule's list"
    );
    let set = one_rule(&format!(r#"{{"only": true, "strategy": {strategy}}}"#));
    let route = planned(&set, &asked(&nothing), able(4));
    assert_eq!(numbers(&route), [3, 1]);
    assert_eq!(route.decision.skipped.len(), 2);
    assert!(route.decision.skipped[0].because.contains("only"));
}

#[test]
fn weights_are_met_over_many_transactions_and_one_transaction_draws_the_same_each_time() {
    let nothing = BTreeMap::new();
    let weights = r#"[{"connection": "con1", "weight": 70}, {"connection": "con2", "weight": 25},
                      {"connection": "con3", "weight": 5}]"#;
    let set = one_rule(&format!(
        r#"{{"strategy": {{"type": "weighted", "weights": {weights}}}}}"#
    ));
    let mut rng = StdRng::seed_from_u64(1);
    let (mut firsts, mut seconds) = ([0_u32; 4], [0_u32; 4]);
    for _ in 0..20_000 {
        let asked = RouteRequest {
            roll: WeightedDraw::of(rng.random()),
            ..asked(&nothing)
        };
        let route = planned(&set, &asked, able(4));
        assert_eq!(route, planned(&set, &asked, able(4)));
        let order = numbers(&route);
        assert_eq!(order[3], 4, "without a weight it comes last");
        firsts[order[0] as usize] += 1;
        if order[0] == 1 {
            seconds[order[1] as usize] += 1;
        }
    }
    // Five standard deviations of 20,000 draws: 65, 61 and 31 each.
    for (connection, expected, within) in [(1, 14_000, 325), (2, 5_000, 306), (3, 1_000, 155)] {
        let drawn = firsts[connection];
        assert!(drawn.abs_diff(expected) < within, "{connection}: {drawn}");
    }
    // Behind the first the weights of the others hold: 25 to 5.
    let share = f64::from(seconds[2]) / f64::from(seconds[2] + seconds[3]);
    assert!((share - 25.0 / 30.0).abs() < 0.02, "{share}");
}

#[test]
fn weights_of_connections_that_cannot_serve_are_shared_among_the_others() {
    let nothing = BTreeMap::new();
    let weights =
        r#"[{"connection": "con1", "weight": 1000}, {"connection": "con2", "weight": 1}]"#;
    let set = one_rule(&format!(
        r#"{{"strategy": {{"type": "weighted", "weights": {weights}}}}}"#
    ));
    let mut offers = able(2);
    offers[0].standing = Eligibility::Disabled;
    let route = planned(&set, &asked(&nothing), offers);
    assert_eq!(numbers(&route), [2]);
    assert_eq!(route.decision.roll, Some(WeightedDraw::of(7).shown()));
}

#[test]
fn the_cheapest_is_first_and_one_without_a_known_fee_is_last() {
    let nothing = BTreeMap::new();
    let set = rules(
        r#"{
        "rules": [{"strategy": {"type": "cheapest"}}],
        "fees": [
            {"connection": "con2", "methods": ["card_*"], "percent": "0"},
            {"connection": "con2", "currency": "XOF", "percent": "2.5"},
            {"connection": "con3", "currency": "XOF", "percent": "1", "fixed": "100"},
            {"connection": "con4", "currency": "XOF", "percent": "3", "max": "150"},
            {"connection": "con5", "currency": "XOF", "percent": "0.01", "min": "200"}
        ]}"#
        .to_owned(),
    );
    let at = |minor| {
        let asked = RouteRequest {
            amount: Some(amount(minor, "XOF")),
            ..asked(&nothing)
        };
        planned(&set, &asked, able(5))
    };
    // 250, 200, 150 (capped), 200 (least).
    assert_eq!(numbers(&at(10_000)), [4, 3, 5, 2, 1]);
    // 25, 110, 30, 200.
    assert_eq!(numbers(&at(1_000)), [2, 4, 3, 5, 1]);
    let route = at(1_000);
    assert_eq!(route.decision.considered[0].why, "its fee is XOF 25");
    let dollars = RouteRequest {
        amount: Some(amount(1_000, "USD")),
        ..asked(&nothing)
    };
    assert_eq!(
        numbers(&planned(&set, &dollars, able(5))),
        [1, 2, 3, 4, 5],
        "no row is for dollars"
    );
}

#[test]
fn a_fee_of_payouts_is_not_one_of_payments() {
    let fee_of = |kind: &str| {
        let set = rules(format!(
            r#"{{"fees": [{{"connection": "con1", "kind": "{kind}", "percent": "1"}}]}}"#
        ));
        set.fee(id(1), Kind::Payment, "mtn_bj", amount(10_000, "XOF"))
    };
    assert_eq!(fee_of("payment"), Some(amount(100, "XOF")));
    assert_eq!(fee_of("payout"), None);
}

#[test]
fn fees_are_exact_and_a_half_is_rounded_upwards() {
    let row = |percent: &str, fixed: Option<&str>| FeeRow {
        connection: id(1),
        kind: None,
        methods: Vec::new(),
        currency: Currency::from_code("USD"),
        percent: Some(percent.parse().unwrap()),
        fixed: fixed.map(str::to_owned),
        min: None,
        max: None,
    };
    let table = [
        ("2.9", Some("0.30"), 10_000, 320),
        ("2.9", Some("0.30"), 1, 30),
        ("1.5", None, 100, 2),
        ("1.4999", None, 100, 1),
        ("0.0001", None, 500_000, 1),
        ("0.0001", None, 499_999, 0),
        ("100", None, 12_345, 12_345),
        ("0", Some("0"), 12_345, 0),
        ("33.3333", None, 100_000_000_000_000, 33_333_300_000_000),
    ];
    for (percent, fixed, minor, fee) in table {
        assert_eq!(
            row(percent, fixed).fee(amount(minor, "USD")),
            Some(amount(fee, "USD")),
            "{percent} % + {fixed:?} of {minor}"
        );
    }
    assert_eq!(
        row("100", Some("1")).fee(amount(i64::MAX, "USD")),
        None,
        "out of range is no fee, and no panic"
    );
}

#[test]
fn the_best_rate_is_first_few_ends_say_nothing_and_ties_keep_the_lists_order() {
    let nothing = BTreeMap::new();
    let set = one_rule(
        r#"{"strategy": {"type": "best_success_rate", "connections": ["con4", "con3", "con2", "con1"]}}"#,
    );
    let ends = |ended, succeeded| RecentResults {
        numbers: HealthNumbers {
            ended,
            succeeded,
            ..HealthNumbers::default()
        },
        ..RecentResults::default()
    };
    let recent = |connection: ConnectionId| match connection.ulid().random() {
        1 => ends(1_000, 950),
        2 => ends(20, 10),
        // 19 of 19 are too few to be believed, as 0 of 5 are.
        3 => ends(19, 19),
        _ => ends(5, 0),
    };
    let in_force = ActiveRules {
        version: 1,
        set: &set,
    };
    let route = plan(able(4), &asked(&nothing), Some(in_force), recent, never);
    assert_eq!(numbers(&route), [1, 4, 3, 2]);
    let why = &route.decision.considered[0].why;
    assert_eq!(why, "950 of 1000 attempts succeeded lately");
    let few = &route.decision.considered[1].why;
    let few_for = "5 attempts ended lately: too few for a rate, so it counts as 80 %";
    assert_eq!(few, few_for);
    let enough = &route.decision.considered[3].why;
    assert_eq!(enough, "10 of 20 attempts succeeded lately");
}

#[test]
fn the_first_row_of_the_table_that_fits_names_the_fee() {
    let set = rules(
        r#"{"rules": [], "fees": [
            {"connection": "con1", "methods": ["mtn_bj"], "percent": "1"},
            {"connection": "con1", "percent": "2"}
        ]}"#
        .to_owned(),
    );
    let fee = |method| set.fee(id(1), Kind::Payment, method, amount(10_000, "XOF"));
    assert_eq!(fee("mtn_bj"), Some(amount(100, "XOF")));
    assert_eq!(fee("moov_bj"), Some(amount(200, "XOF")));
}
