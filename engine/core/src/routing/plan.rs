//! The plan: who is tried, in which order, and the trace of why.

use std::collections::BTreeMap;

use super::health::RecentResults;
use super::offer::Offer;
use super::order::{Ordered, RankedCandidate, order};
use super::roll::WeightedDraw;
use super::rules::{RuleSet, Strategy};
use crate::ids::ConnectionId;
use crate::limits::ROUTING_CONSIDERED;
use crate::money::Amount;
use crate::transaction::{
    Candidate, Considered, Decision, HealthNumbers, Kind, Route, RuleUsed, Skipped,
};

/// Properties of a transaction that routing may use.
#[derive(Clone, Copy, Debug)]
pub struct RouteRequest<'a> {
    pub kind: Kind,
    pub method: &'a str,
    /// ISO 3166-1 alpha-2.
    pub country: Option<&'a str>,
    pub amount: Option<Amount>,
    pub metadata: &'a BTreeMap<String, String>,
    pub roll: WeightedDraw,
}

/// Rules, and the version under which decisions name them.
#[derive(Clone, Copy, Debug)]
pub struct ActiveRules<'a> {
    pub version: u64,
    pub set: &'a RuleSet,
}

/// The plan for a request. `recent` returns the recent results of a connection with this method.
/// `grant` is called for each unhealthy connection that would otherwise be first, until it lets one
/// through as a probe; a preview passes a function that returns false.
pub fn plan(
    offers: Vec<Offer>,
    asked: &RouteRequest<'_>,
    rules: Option<ActiveRules<'_>>,
    recent: impl Fn(ConnectionId) -> RecentResults,
    grant: impl FnMut(ConnectionId) -> bool,
) -> Route {
    let mut decision = Decision::default();
    let mut able = Vec::new();
    for Offer {
        candidate,
        standing,
    } in offers
    {
        match standing.reason() {
            None => able.push(RankedCandidate {
                why: "in order of age".to_owned(),
                recent: recent(candidate.connection),
                candidate,
            }),
            Some(because) => decision.skipped.push(skipped(&candidate, because)),
        }
    }
    let wanted = by_rules(able, asked, rules, &mut decision);
    let first_wanted = wanted.first().map(|placed| placed.candidate.connection);
    let (placed, probe) = by_health(wanted, grant);
    decision.chosen_because = because(&placed, first_wanted, probe, &decision);
    decision.considered = placed
        .iter()
        .take(ROUTING_CONSIDERED)
        .map(considered)
        .collect();
    Route {
        candidates: placed.into_iter().map(|placed| placed.candidate).collect(),
        decision,
        counted: Vec::new(),
    }
}

/// The order that the rules want, health aside.
fn by_rules(
    able: Vec<RankedCandidate>,
    asked: &RouteRequest<'_>,
    rules: Option<ActiveRules<'_>>,
    decision: &mut Decision,
) -> Vec<RankedCandidate> {
    let matching = rules.and_then(|rules| Some((rules, rules.set.rule(asked)?)));
    let Some((ActiveRules { version, set }, (number, rule))) = matching else {
        return able;
    };
    decision.rule = Some(RuleUsed {
        version,
        number,
        name: rule.name.clone(),
        strategy: rule.strategy.name().to_owned(),
    });
    if matches!(rule.strategy, Strategy::Weighted { .. }) {
        decision.roll = Some(asked.roll.shown());
    }
    let Ordered { mut named, others } = order(rule, set, asked, able);
    for mut other in others {
        if rule.only {
            let because = format!("rule {number} uses only the connections that it names");
            decision.skipped.push(skipped(&other.candidate, &because));
        } else {
            other.why = "not named by the rule".to_owned();
            named.push(other);
        }
    }
    named
}

/// Connections that are short of funds come after the healthy ones, and unhealthy connections after
/// these, the healthiest first; but a probe goes first.
fn by_health(
    mut wanted: Vec<RankedCandidate>,
    mut grant: impl FnMut(ConnectionId) -> bool,
) -> (Vec<RankedCandidate>, Option<ConnectionId>) {
    // A single connection is tried at any health: without an alternative, no plan avoids it.
    let askable = if wanted.len() > 1 { wanted.len() } else { 0 };
    let probe = wanted
        .iter()
        .take(askable)
        .take_while(|placed| placed.recent.numbers.open)
        .map(|placed| placed.candidate.connection)
        .find(|connection| grant(*connection));
    wanted.sort_by_key(|placed| {
        let recent = placed.recent;
        let sick = recent.numbers.open.then_some(recent.faults_per_mille);
        let is_probe = probe == Some(placed.candidate.connection);
        (!is_probe, sick, recent.numbers.short_of_funds)
    });
    (wanted, probe)
}

/// One sentence for the timeline.
fn because(
    placed: &[RankedCandidate],
    first_wanted: Option<ConnectionId>,
    probe: Option<ConnectionId>,
    decision: &Decision,
) -> String {
    let Some(first) = placed.first() else {
        return "nothing can serve it".to_owned();
    };
    let count = placed.len();
    if probe == Some(first.candidate.connection) {
        return "a probe: its breaker is open, and one in twenty shows whether it has healed"
            .to_owned();
    }
    let by = match (&decision.rule, count) {
        (Some(rule), _) => {
            let name = rule.name.as_ref().map(|name| format!(" “{name}”"));
            let (number, name) = (rule.number, name.unwrap_or_default());
            format!("rule {number}{name}, {}: {}", rule.strategy, first.why)
        }
        (None, 1) => "the only connection that serves it".to_owned(),
        (None, _) => format!("the first of {count} connections that serve it"),
    };
    if first.recent.numbers.open {
        return format!("{by}; the breakers of all are open, and it is the least sick");
    }
    match first_wanted {
        Some(wanted) if wanted != first.candidate.connection => {
            format!("{by}; {wanted} would come first, and is sick or short of funds")
        }
        _ => by,
    }
}

fn considered(placed: &RankedCandidate) -> Considered {
    let numbers = placed.recent.numbers;
    Considered {
        connection: placed.candidate.connection,
        gateway: placed.candidate.gateway.clone(),
        why: placed.why.clone(),
        health: (numbers != HealthNumbers::default()).then_some(numbers),
    }
}

fn skipped(candidate: &Candidate, because: &str) -> Skipped {
    Skipped {
        connection: candidate.connection,
        because: because.to_owned(),
    }
}
