//! Strategies: the order in which a rule puts the eligible connections.

use std::cmp::Reverse;

use super::breaker::per_mille;
use super::health::RecentResults;
use super::plan::RouteRequest;
use super::rules::{Rule, RuleSet, Strategy, Weight};
use crate::ids::ConnectionId;
use crate::transaction::Candidate;

/// A candidate with its place's reason.
#[derive(Clone, Debug)]
pub(super) struct RankedCandidate {
    pub candidate: Candidate,
    pub why: String,
    pub recent: RecentResults,
}

/// Named connections in the strategy's order, and those that it does not name, in the order given.
pub(super) struct Ordered {
    pub named: Vec<RankedCandidate>,
    pub others: Vec<RankedCandidate>,
}

pub(super) fn order(
    rule: &Rule,
    set: &RuleSet,
    asked: &RouteRequest<'_>,
    candidates: Vec<RankedCandidate>,
) -> Ordered {
    let ids = rule.strategy.named();
    let names_all = ids.is_empty();
    let place = |placed: &RankedCandidate| {
        let id = placed.candidate.connection;
        ids.iter().position(|named| *named == id)
    };
    let (mut named, others): (Vec<_>, Vec<_>) = candidates
        .into_iter()
        .partition(|placed| names_all || place(placed).is_some());
    named.sort_by_key(|placed| place(placed));
    match &rule.strategy {
        Strategy::Priority { .. } => {
            for placed in &mut named {
                let number = place(placed).map_or(0, |place| place + 1);
                placed.why = format!("number {number} of the rule's list");
            }
        }
        Strategy::Weighted { weights } => named = drawn(named, weights, asked),
        Strategy::Cheapest { .. } => by_fee(&mut named, set, asked),
        Strategy::BestSuccessRate { .. } => by_rate(&mut named),
    }
    Ordered { named, others }
}

/// One after the other, each with the chance of its weight among those that are left.
fn drawn(
    mut left: Vec<RankedCandidate>,
    weights: &[Weight],
    asked: &RouteRequest<'_>,
) -> Vec<RankedCandidate> {
    let weight = |placed: &RankedCandidate| {
        let id = placed.candidate.connection;
        let row = weights.iter().find(|row| row.connection == id);
        u64::from(row.map_or(0, |row| row.weight))
    };
    let mut order = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let total: u64 = left.iter().map(weight).sum();
        let mut point = asked.roll.below(order.len() as u64, total);
        let mut hit = 0;
        for (place, placed) in left.iter().enumerate() {
            hit = place;
            match point.checked_sub(weight(placed)) {
                Some(rest) => point = rest,
                None => break,
            }
        }
        let mut placed = left.remove(hit);
        placed.why = format!("drawn with weight {} of {total}", weight(&placed));
        order.push(placed);
    }
    order
}

fn by_fee(named: &mut [RankedCandidate], set: &RuleSet, asked: &RouteRequest<'_>) {
    let fee = |id: ConnectionId| set.fee(id, asked.kind, asked.method, asked.amount?);
    for placed in named.iter_mut() {
        placed.why = match fee(placed.candidate.connection) {
            Some(fee) => format!("its fee is {}", fee.format()),
            None => "the table has no fee for it".to_owned(),
        };
    }
    named.sort_by_key(|placed| {
        let fee = fee(placed.candidate.connection);
        (fee.is_none(), fee.map(|fee| fee.minor()))
    });
}

fn by_rate(named: &mut [RankedCandidate]) {
    for placed in named.iter_mut() {
        let numbers = placed.recent.numbers;
        placed.why = if numbers.ended < LEAST_ENDS {
            format!(
                "{} attempts ended lately: too few for a rate, so it counts as {} %",
                numbers.ended,
                PRIOR_PER_MILLE / 10
            )
        } else {
            format!(
                "{} of {} attempts succeeded lately",
                numbers.succeeded, numbers.ended
            )
        };
    }
    named.sort_by_key(|placed| Reverse(rate_per_mille(placed.recent)));
}

/// Successes of a thousand, mixed with the prior: twenty results weigh as much as the prior, a
/// thousand results outweigh it. Below the minimum, the prior alone, so that a new connection is
/// tried before a known bad one.
pub(super) fn rate_per_mille(recent: RecentResults) -> u32 {
    let (ended, succeeded) = (recent.numbers.ended, recent.numbers.succeeded);
    if ended < LEAST_ENDS {
        return PRIOR_PER_MILLE;
    }
    per_mille(
        succeeded.saturating_add(PRIOR_WEIGHT * PRIOR_PER_MILLE / 1_000),
        ended.saturating_add(PRIOR_WEIGHT),
    )
}

/// Attempts that must have ended before a rate is one.
const LEAST_ENDS: u32 = 20;
/// Prior success rate of a connection without results: about the rate of mobile money.
const PRIOR_PER_MILLE: u32 = 800;
/// As many attempts as the prior counts for.
const PRIOR_WEIGHT: u32 = 20;
