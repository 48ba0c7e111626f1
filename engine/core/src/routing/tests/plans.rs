//! Properties of every plan, with any rules.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::Strategy as Drawn;

use super::*;
// The library's trait has the name of ours.
use crate::routing::Strategy;

#[test]
fn connections_that_can_serve_are_tried_in_their_order_and_the_others_are_named_with_a_reason() {
    let nothing = BTreeMap::new();
    let offers = vec![
        offer(1, Eligibility::Disabled),
        offer(2, Eligibility::CanServe),
        offer(3, Eligibility::GatewayMissing),
        offer(4, Eligibility::CanServe),
        offer(5, Eligibility::AmountOutOfRange),
        offer(6, Eligibility::MethodNotServed),
        offer(7, Eligibility::InQuarantine),
        offer(8, Eligibility::Draining),
    ];
    let route = plan(offers, &asked(&nothing), None, healthy, never);
    assert_eq!(numbers(&route), [2, 4]);
    assert_eq!(route.decision.skipped.len(), 6);
    assert!(route.decision.skipped[4].because.contains("quarantine"));
    assert_eq!(
        route.decision.chosen_because,
        "the first of 2 connections that serve it"
    );
    assert_eq!(route.decision.rule, None);
}

#[test]
fn nobody_is_chosen_when_nobody_can_serve() {
    let nothing = BTreeMap::new();
    let route = plan(Vec::new(), &asked(&nothing), None, healthy, never);
    assert_eq!(route.candidates, Vec::new());
    assert_eq!(route.decision.chosen_because, "nothing can serve it");
}

#[test]
fn who_is_sick_or_short_of_funds_comes_after_who_is_well_and_the_decision_says_so() {
    let nothing = BTreeMap::new();
    let recent = |connection| match connection {
        one if one == id(1) => sick(600),
        two if two == id(2) => sick(400),
        three if three == id(3) => RecentResults {
            numbers: HealthNumbers {
                short_of_funds: true,
                ..HealthNumbers::default()
            },
            ..RecentResults::default()
        },
        _ => RecentResults::default(),
    };
    let route = plan(able(4), &asked(&nothing), None, recent, never);
    assert_eq!(numbers(&route), [4, 3, 2, 1]);
    let because = &route.decision.chosen_because;
    assert!(because.contains("would come first"), "{because}");
    assert!(route.decision.considered[3].health.unwrap().open);
    assert_eq!(route.decision.considered[0].health, None);
}

#[test]
fn of_two_sick_connections_the_one_with_funds_comes_first() {
    let nothing = BTreeMap::new();
    let recent = |connection| {
        let mut recent = sick(600);
        recent.numbers.short_of_funds = connection == id(1);
        recent
    };
    let route = plan(able(2), &asked(&nothing), None, recent, never);
    assert_eq!(numbers(&route), [2, 1]);
}

#[test]
fn an_open_breaker_never_makes_a_payment_impossible() {
    let nothing = BTreeMap::new();
    let recent = |connection| sick(if connection == id(2) { 300 } else { 900 });
    let route = plan(able(3), &asked(&nothing), None, recent, never);
    assert_eq!(numbers(&route), [2, 1, 3]);
    let because = &route.decision.chosen_because;
    assert!(because.contains("least sick"), "{because}");
}

#[test]
fn only_a_connection_that_would_have_been_first_is_probed() {
    let nothing = BTreeMap::new();
    let recent = |connection| match connection {
        two if two == id(2) => RecentResults::default(),
        _ => sick(900),
    };
    let mut questions = Vec::new();
    let route = plan(able(3), &asked(&nothing), None, recent, |connection| {
        questions.push(connection);
        true
    });
    assert_eq!(questions, [id(1)], "the third is behind one that is well");
    assert_eq!(numbers(&route), [1, 2, 3]);
    assert!(route.decision.chosen_because.starts_with("a probe"));
    let alone = plan(able(1), &asked(&nothing), None, recent, |_| {
        panic!("there is nobody to spare it for")
    });
    assert_eq!(numbers(&alone), [1]);
}

fn any_strategy() -> impl Drawn<Value = Strategy> {
    let list = || prop::sample::subsequence((1_u128..=7).collect::<Vec<_>>(), 1..=6).prop_shuffle();
    prop_oneof![
        list().prop_map(|ids| Strategy::Priority {
            connections: ids.into_iter().map(id).collect()
        }),
        list().prop_map(|ids| Strategy::Weighted {
            weights: ids
                .into_iter()
                .map(|number| Weight {
                    connection: id(number),
                    weight: u32::try_from(number * number).unwrap()
                })
                .collect()
        }),
        list().prop_map(|ids| Strategy::Cheapest {
            connections: ids.into_iter().map(id).collect()
        }),
        Just(Strategy::BestSuccessRate {
            connections: Vec::new()
        }),
    ]
}

proptest! {
    #[test]
    fn a_plan_holds_each_connection_that_can_serve_exactly_once(
        strategy in any_strategy(),
        only in any::<bool>(),
        able in prop::collection::vec(any::<bool>(), 7),
        open in prop::collection::vec(any::<bool>(), 7),
        probes in any::<bool>(),
        seed in any::<u128>(),
    ) {
        let only = only && !strategy.named().is_empty();
        let named: BTreeSet<_> = strategy.named().into_iter().collect();
        let rule = Rule { name: None, when: Match::default(), strategy, only };
        let set = RuleSet { rules: vec![rule], fees: Vec::new() };
        prop_assert_eq!(set.check(), Ok(()));
        let offers = able.iter().zip(1..).map(|(able, number)| {
            offer(number, if *able { Eligibility::CanServe } else { Eligibility::Disabled })
        });
        let nothing = BTreeMap::new();
        let asked = RouteRequest { roll: WeightedDraw::of(seed), ..asked(&nothing) };
        let recent = |connection: ConnectionId| match open[connection.ulid().random() as usize - 1] {
            true => sick(500),
            false => RecentResults::default(),
        };
        let in_force = ActiveRules { version: 1, set: &set };
        let route = plan(offers.collect(), &asked, Some(in_force), recent, |_| probes);
        let mut order = numbers(&route);
        order.sort_unstable();
        let expected: Vec<u128> = (1..=7_u128)
            .filter(|number| able[*number as usize - 1] && (!only || named.contains(&id(*number))))
            .collect();
        prop_assert_eq!(order, expected);
        prop_assert_eq!(route.candidates.len() + route.decision.skipped.len(), 7);
    }
}
