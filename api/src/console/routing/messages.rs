//! Routing rules in words.

use switchyard_core::ids::ConnectionId;
use switchyard_core::routing::{FeeRow, Match, MethodPattern, Rule, RuleSet, Strategy};
use switchyard_core::transaction::Kind;

use super::super::connections::named;
use super::super::installation::view::{Row, Section, Table};
use super::super::page::Page;

/// The rules in their order, and the table of fees.
pub fn sections(page: &Page, set: &RuleSet) -> Vec<Section> {
    let text = page.text();
    let columns = ["console-rule", "console-rule-applies", "console-rule-order"];
    let rows = set.rules.iter().enumerate();
    let rows = rows.map(|(at, rule)| rule_row(page, at, rule)).collect();
    let rules = Section {
        title: Some(text.say("console-rules")),
        table: Some(Table::new(page, &columns, rows, "console-rules-empty")),
        ..Section::default()
    };
    if set.fees.is_empty() {
        return vec![rules];
    }
    let columns = ["console-connection", "console-rule-applies", "console-fees"];
    let rows = set.fees.iter().map(|row| fee_row(page, row)).collect();
    let fees = Section {
        title: Some(text.say("console-fee-table")),
        text: Some(text.say("console-fee-table-text")),
        table: Some(Table::new(page, &columns, rows, "console-rules-empty")),
        ..Section::default()
    };
    vec![rules, fees]
}

fn rule_row(page: &Page, at: usize, rule: &Rule) -> Row {
    let number = at + 1;
    let name = match &rule.name {
        Some(name) => format!("{number}. {name}"),
        None => format!("{number}. {}", page.text().say("console-unnamed")),
    };
    Row::plain(vec![name, conditions(page, &rule.when), order(page, rule)])
}

fn kind(page: &Page, kind: Option<Kind>) -> String {
    page.text().say(match kind {
        Some(Kind::Payment) => "console-payments",
        Some(Kind::Payout) => "console-payouts",
        None => "console-rule-all",
    })
}

fn methods(page: &Page, patterns: &[MethodPattern]) -> String {
    let names = patterns.iter().map(|pattern| named(page, &pattern.0));
    names.collect::<Vec<_>>().join(", ")
}

/// The transactions to which a rule applies.
fn conditions(page: &Page, when: &Match) -> String {
    let text = page.text();
    let mut parts = vec![kind(page, when.kind)];
    let mut add = |message: &str, value: String| {
        if !value.is_empty() {
            parts.push(text.with(message, &[("value", &value)]));
        }
    };
    add("console-rule-methods", methods(page, &when.methods));
    add("console-rule-countries", when.countries.join(", "));
    let currencies: Vec<_> = when.currencies.iter().map(|one| one.code()).collect();
    add("console-rule-currencies", currencies.join(", "));
    add(
        "console-rule-least",
        when.min_amount.clone().unwrap_or_default(),
    );
    add(
        "console-rule-most",
        when.max_amount.clone().unwrap_or_default(),
    );
    let metadata = when.metadata.iter();
    let metadata = metadata.map(|(key, value)| format!("{key} = {value}"));
    add(
        "console-rule-metadata",
        metadata.collect::<Vec<_>>().join(", "),
    );
    parts.join("; ")
}

/// The order that a rule gives to connections.
fn order(page: &Page, rule: &Rule) -> String {
    let text = page.text();
    let names = |ids: &[ConnectionId]| {
        let names = ids.iter().map(|id| connection_name(page, *id));
        names.collect::<Vec<_>>().join(", ")
    };
    let (message, value) = match &rule.strategy {
        Strategy::Priority { connections } => ("console-rule-priority", names(connections)),
        Strategy::Weighted { weights } => {
            let weights = weights.iter();
            let shares = weights.map(|row| {
                let name = connection_name(page, row.connection);
                format!("{name}: {}", row.weight)
            });
            (
                "console-rule-weighted",
                shares.collect::<Vec<_>>().join(", "),
            )
        }
        Strategy::Cheapest { connections } if connections.is_empty() => {
            ("console-rule-cheapest-all", String::new())
        }
        Strategy::Cheapest { connections } => ("console-rule-cheapest", names(connections)),
        Strategy::BestSuccessRate { connections } if connections.is_empty() => {
            ("console-rule-best-all", String::new())
        }
        Strategy::BestSuccessRate { connections } => ("console-rule-best", names(connections)),
    };
    let order = text.with(message, &[("value", &value)]);
    match rule.only {
        true => format!("{order} {}", text.say("console-rule-only")),
        false => order,
    }
}

/// Name of a connection; its id when it was deleted.
pub fn connection_name(page: &Page, id: ConnectionId) -> String {
    let found = page.state.engine().access().connection(id);
    match found {
        Some(found) => format!("{} ({})", found.account_name, found.gateway),
        None => match page.state.engine().sandbox_names(id) {
            Some((gateway, account)) => format!("{account} ({gateway})"),
            None => id.to_string(),
        },
    }
}

fn fee_row(page: &Page, row: &FeeRow) -> Row {
    let text = page.text();
    let mut applies = vec![kind(page, row.kind)];
    if !row.methods.is_empty() {
        let methods = methods(page, &row.methods);
        applies.push(text.with("console-rule-methods", &[("value", &methods)]));
    }
    let currency = row.currency.map_or("", |currency| currency.code());
    let money = |amount: &Option<String>, message: &str| {
        let amount = amount.as_ref()?;
        let amount = format!("{currency} {amount}");
        Some(text.with(message, &[("value", &amount)]))
    };
    let percent = row.percent.map(|percent| format!("{percent} %"));
    let fee = [
        percent,
        money(&row.fixed, "console-fee-fixed"),
        money(&row.min, "console-fee-least"),
        money(&row.max, "console-fee-most"),
    ];
    let fee: Vec<_> = fee.into_iter().flatten().collect();
    Row::plain(vec![
        connection_name(page, row.connection),
        applies.join("; "),
        fee.join("; "),
    ])
}
