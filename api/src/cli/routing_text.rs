//! Rules and simulations as text for the terminal.

use serde_json::Value;
use switchyard_core::routing::{FeeRow, Match, Rule, Strategy};

use super::output::{Column, aligned, cell, visible};
use crate::operator::contract::routing::{
    ConnectionHealth, ConnectionTraffic, RoutingRules, Simulated, SimulatedCandidate,
    SimulatedDecision, SimulatedSkip, SimulatedTraffic,
};

/// Formats the rules of an app and their fees.
pub fn rules(rules: &RoutingRules) -> String {
    let (environment, version) = (rules.environment, rules.version);
    if rules.rules.is_empty() {
        return format!(
            "{environment}, version {version}: no rules, so connections are tried oldest first\n"
        );
    }
    let numbered: Vec<_> = rules.rules.iter().cloned().enumerate().collect();
    let made_at = cell(&rules.made_at);
    let mut text = format!("{environment}, version {version}, made {made_at}\n\n");
    text.push_str(&aligned(&numbered, RULES));
    if !rules.fees.is_empty() {
        text.push('\n');
        text.push_str(&aligned(&rules.fees, FEES));
    }
    text
}

/// Formats the conditions of a rule in one line.
fn when(matching: &Match) -> String {
    let fields = match serde_json::to_value(matching) {
        Ok(Value::Object(fields)) if !fields.is_empty() => fields,
        _ => return "always".to_owned(),
    };
    let fields = fields.iter().map(|(name, value)| match value {
        Value::Array(list) => {
            let words: Vec<String> = list.iter().map(cell).collect();
            format!("{name} {}", words.join("|"))
        }
        Value::Object(pairs) => {
            let pairs = pairs
                .iter()
                .map(|(key, value)| format!("{}={}", visible(key), cell(value)));
            format!("{name} {}", pairs.collect::<Vec<_>>().join(" and "))
        }
        value => format!("{name} {}", cell(value)),
    });
    fields.collect::<Vec<_>>().join(", ")
}

const fn strategy(strategy: &Strategy) -> &'static str {
    match strategy {
        Strategy::Priority { .. } => "priority",
        Strategy::Weighted { .. } => "weighted",
        Strategy::Cheapest { .. } => "cheapest",
        Strategy::BestSuccessRate { .. } => "best_success_rate",
    }
}

fn connections(strategy: &Strategy) -> String {
    let named: Vec<String> = match strategy {
        Strategy::Weighted { weights } => {
            let weights = weights.iter();
            weights
                .map(|row| format!("{} {}", row.weight, row.connection))
                .collect()
        }
        Strategy::Priority { connections }
        | Strategy::Cheapest { connections }
        | Strategy::BestSuccessRate { connections } => {
            connections.iter().map(ToString::to_string).collect()
        }
    };
    match named.is_empty() {
        true => "all".to_owned(),
        false => named.join(", "),
    }
}

/// Formats the result of a simulation.
pub fn simulated(simulated: &Simulated) -> String {
    match simulated {
        Simulated::Decision(made) => decision(made),
        Simulated::Traffic(replayed) => traffic(replayed),
    }
}

fn decision(decision: &SimulatedDecision) -> String {
    let mut text = match &decision.chosen {
        Some(chosen) => format!(
            "goes to {} ({}), {}\n",
            cell(&chosen.gateway),
            cell(&chosen.account_name),
            cell(&chosen.connection)
        ),
        None => "goes nowhere\n".to_owned(),
    };
    text.push_str(&format!("because {}\n", visible(&decision.because)));
    if let Some(rule) = &decision.rule {
        let of = match rule.version {
            0 => "the rules that were given".to_owned(),
            version => format!("version {version}"),
        };
        text.push_str(&format!("by rule {} of {of}\n", rule.number));
    }
    if let Some(roll) = decision.roll {
        text.push_str(&format!("drawn: {roll} of 10000\n"));
    }
    if !decision.considered.is_empty() {
        text.push_str("\nconsidered\n");
        text.push_str(&aligned(&decision.considered, CONSIDERED));
    }
    if !decision.skipped.is_empty() {
        text.push_str("\nskipped\n");
        text.push_str(&aligned(&decision.skipped, SKIPPED));
    }
    text
}

fn traffic(traffic: &SimulatedTraffic) -> String {
    let mut text = format!(
        "{} transactions from {} to {}; the newest {} were looked at, {} of them never chose a \
         method\n\n",
        traffic.total, traffic.from, traffic.to, traffic.read, traffic.without_method
    );
    text.push_str(&aligned(&traffic.connections, TRAFFIC));
    text.push_str(&format!(
        "\nfees under the rules in force: {}, under those that were tried: {}\n",
        sums(traffic.fees.in_force.sums.values()),
        sums(traffic.fees.tried.sums.values())
    ));
    text
}

fn sums<'a>(sums: impl Iterator<Item = &'a String>) -> String {
    let texts: Vec<String> = sums.map(|text| visible(text)).collect();
    match texts.is_empty() {
        true => "-".to_owned(),
        false => texts.join(" + "),
    }
}

/// Change of a count. Counts are below 2^63.
fn change(row: &ConnectionTraffic) -> String {
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    format!("{:+}", count(row.tried.count) - count(row.in_force.count))
}

const RULES: &[Column<(usize, Rule)>] = &[
    ("#", |(place, _)| (place + 1).to_string()),
    ("name", |(_, rule)| cell(&rule.name)),
    ("when", |(_, rule)| when(&rule.when)),
    ("strategy", |(_, rule)| strategy(&rule.strategy).to_owned()),
    ("connections", |(_, rule)| connections(&rule.strategy)),
    ("others", |(_, rule)| {
        if rule.only { "never" } else { "after" }.to_owned()
    }),
];
const FEES: &[Column<FeeRow>] = &[
    ("fees of", |one| cell(&one.connection)),
    ("methods", |one| cell(&one.methods)),
    ("currency", |one| cell(&one.currency)),
    ("percent", |one| cell(&one.percent)),
    ("fixed", |one| cell(&one.fixed)),
    ("least", |one| cell(&one.min)),
    ("most", |one| cell(&one.max)),
];
const CONSIDERED: &[Column<SimulatedCandidate>] = &[
    ("gateway", |one| cell(&one.connection.gateway)),
    ("account", |one| cell(&one.connection.account_name)),
    ("connection", |one| cell(&one.connection.connection)),
    ("why", |one| cell(&one.why)),
    ("fee", |one| cell(&one.fee_formatted)),
    ("breaker", |one| {
        cell(&one.health.as_ref().map(|health| health.breaker))
    }),
];
const SKIPPED: &[Column<SimulatedSkip>] = &[
    ("gateway", |one| cell(&one.connection.gateway)),
    ("account", |one| cell(&one.connection.account_name)),
    ("connection", |one| cell(&one.connection.connection)),
    ("because", |one| cell(&one.because)),
];
const TRAFFIC: &[Column<ConnectionTraffic>] = &[
    ("connection", |one| cell(&one.connection.connection)),
    ("account", |one| cell(&one.connection.account_name)),
    ("really", |one| cell(&one.really.count)),
    ("in force", |one| cell(&one.in_force.count)),
    ("tried", |one| cell(&one.tried.count)),
    ("change", change),
    ("fees", |one| sums(one.in_force.fees.values())),
    ("fees tried", |one| sums(one.tried.fees.values())),
];
/// Columns of the health.
pub const HEALTH: &[Column<ConnectionHealth>] = &[
    ("gateway", |one| cell(&one.connection.gateway)),
    ("account", |one| cell(&one.connection.account_name)),
    ("connection", |one| cell(&one.connection.connection)),
    ("environment", |one| cell(&one.environment)),
    ("kind", |one| cell(&one.kind)),
    ("method", |one| cell(&one.method)),
    ("breaker", |one| cell(&one.health.breaker)),
    ("calls 30 s", |one| cell(&one.health.calls)),
    ("faults", |one| cell(&one.health.faults)),
    ("ended 30 min", |one| cell(&one.health.ended)),
    ("succeeded", |one| cell(&one.health.succeeded)),
    ("no funds", |one| cell(&one.health.short_of_funds)),
    ("last fault", |one| {
        let fault = one.health.last_fault.as_ref();
        cell(&fault.map(|fault| &fault.message))
    }),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const A: &str = "con_01jd2nq3v4k5m6n7p8q9r0s1t2";
    const B: &str = "con_01jd2nq3v4k5m6n7p8q9r0s1t3";
    const APP: &str = "app_01jd2nq3v4k5m6n7p8q9r0s1t2";
    const AT: &str = "2026-11-20T10:00:00.000000Z";

    #[test]
    fn rules_are_a_table_that_people_can_read() {
        let gold = json!({ "methods": ["mtn_*"], "metadata": { "tier": "gold" } });
        let weights = json!([{ "connection": A, "weight": 7 }]);
        let read = json!({
            "app": APP, "environment": "live", "version": 3, "made_at": AT, "fees": [],
            "rules": [
                {
                    "name": "gold", "match": gold, "only": true,
                    "strategy": { "type": "priority", "connections": [A, B] },
                },
                { "strategy": { "type": "weighted", "weights": weights } },
            ],
        });
        let text = rules(&serde_json::from_value(read).unwrap());
        assert!(
            text.starts_with(&format!("live, version 3, made {AT}\n")),
            "{text}"
        );
        assert!(text.contains("metadata tier=gold, methods mtn_*"), "{text}");
        assert!(text.contains(&format!("{A}, {B}  never")), "{text}");
        assert!(text.contains("always"), "{text}");
        assert!(text.contains(&format!("7 {A}")), "{text}");
        let none = json!({
            "app": APP, "environment": "live", "version": 0, "rules": [], "fees": [],
        });
        let none = rules(&serde_json::from_value(none).unwrap());
        assert!(none.contains("oldest first"), "{none}");
    }

    #[test]
    fn a_simulation_says_where_it_goes_and_why() {
        let named = json!({ "connection": A, "gateway": "g", "account_name": "Main" });
        let mut considered = named.clone();
        considered["why"] = json!("its fee is XOF 25");
        let data = json!({
            "chosen": named,
            "because": "rule 1, cheapest: its fee is XOF 25",
            "rule": { "version": 0, "number": 1, "strategy": "cheapest" },
            "considered": [considered],
            "skipped": [],
        });
        let text = simulated(&serde_json::from_value(data).unwrap());
        let head = format!("goes to g (Main), {A}\nbecause rule 1");
        assert!(text.starts_with(&head), "{text}");
        let by = "by rule 1 of the rules that were given";
        assert!(text.contains(by), "{text}");
        let nowhere = json!({ "because": "none", "considered": [], "skipped": [] });
        let nowhere = simulated(&serde_json::from_value(nowhere).unwrap());
        assert!(nowhere.starts_with("goes nowhere"), "{nowhere}");
    }

    #[test]
    fn traffic_under_other_rules_is_told_with_what_changes() {
        let share = |count: u64, fee: &str| {
            let fees = json!({ "XOF": fee });
            json!({ "count": count, "amounts": {}, "fees": fees, "without_fee": 0 })
        };
        let row = json!({
            "connection": A, "gateway": "g", "account_name": "Main", "really": share(3, "XOF 3"),
            "in_force": share(3, "XOF 3"), "tried": share(1, "XOF 1"),
        });
        let fees = |fee: &str| json!({ "sums": { "XOF": fee }, "without_fee": 0 });
        let fees = json!({
            "really": fees("XOF 3"), "in_force": fees("XOF 3"), "tried": fees("XOF 1"),
        });
        let data = json!({
            "kind": "payment", "total": 3, "read": 3, "without_method": 0, "from": AT, "to": AT,
            "connections": [row], "moved": [], "fees": fees,
        });
        let text = simulated(&serde_json::from_value(data).unwrap());
        let head = format!("3 transactions from {AT} to {AT}");
        assert!(text.contains(&head), "{text}");
        assert!(text.contains("-2"), "{text}");
        let sums = "in force: XOF 3, under those that were tried: XOF 1";
        assert!(text.contains(sums), "{text}");
    }
}
