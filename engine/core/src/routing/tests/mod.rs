//! The room's rules, as tables and properties.

mod health;
mod plans;
mod planted;
mod planted_details;
mod planted_rules;
mod rules;
mod strategies;

use std::collections::BTreeMap;

use super::*;
use crate::ids::ConnectionId;
use crate::testing::amount;
use crate::transaction::{Candidate, HealthNumbers, Kind, Route};

fn id(number: u128) -> ConnectionId {
    ConnectionId::new(ulid::Ulid::from_parts(1, number))
}

fn offer(number: u128, standing: Eligibility) -> Offer {
    let candidate = Candidate {
        connection: id(number),
        gateway: format!("gateway_{number}"),
        gateway_title: format!("Gateway {number}"),
        gateway_hash: String::new(),
        account_name: "Main".to_owned(),
        ends_after_s: None,
        usual_s: None,
        can_cancel: false,
    };
    Offer {
        candidate,
        standing,
    }
}

/// Connections 1 to `count`, oldest first, all able.
fn able(count: u128) -> Vec<Offer> {
    (1..=count)
        .map(|number| offer(number, Eligibility::CanServe))
        .collect()
}

fn asked(metadata: &BTreeMap<String, String>) -> RouteRequest<'_> {
    RouteRequest {
        kind: Kind::Payment,
        method: "mtn_bj",
        country: Some("BJ"),
        amount: Some(amount(10_000, "XOF")),
        metadata,
        roll: WeightedDraw::of(7),
    }
}

/// Rules as an operator writes them; `con1` to `con9` stand for connections.
fn rules(mut text: String) -> RuleSet {
    for number in 1..10 {
        text = text.replace(&format!("con{number}"), &id(number).to_string());
    }
    serde_json::from_str(&text).unwrap()
}

fn one_rule(rule: &str) -> RuleSet {
    rules(format!("{{\"rules\": [{rule}]}}"))
}

/// The numbers of the connections in a plan's order.
fn numbers(route: &Route) -> Vec<u128> {
    let ids = route.candidates.iter();
    ids.map(|candidate| candidate.connection.ulid().random())
        .collect()
}

fn healthy(_: ConnectionId) -> RecentResults {
    RecentResults::default()
}

fn never(_: ConnectionId) -> bool {
    false
}

fn planned(set: &RuleSet, asked: &RouteRequest<'_>, offers: Vec<Offer>) -> Route {
    let in_force = ActiveRules { version: 3, set };
    plan(offers, asked, Some(in_force), healthy, never)
}

fn sick(faults_per_mille: u32) -> RecentResults {
    RecentResults {
        numbers: HealthNumbers {
            open: true,
            ..HealthNumbers::default()
        },
        faults_per_mille,
    }
}
