//! Form of a new rule, and the rule that was entered.

use std::collections::BTreeMap;
use std::sync::Arc;

use switchyard_core::ids::ConnectionId;
use switchyard_core::money::Currency;
use switchyard_core::routing::{Match, MethodPattern, Rule, Strategy, Weight};
use switchyard_core::transaction::Kind;
use switchyard_engine::access::Connection;

use super::super::form::Fields;
use super::super::installation::view::{Choice, Form, Input};
use super::super::page::{Failed, Page, Scope};
use super::super::problems::Problems;

/// Strategies with their messages.
const STRATEGIES: [(&str, &str); 4] = [
    ("priority", "console-strategy-priority"),
    ("weighted", "console-strategy-weighted"),
    ("cheapest", "console-strategy-cheapest"),
    ("best_success_rate", "console-strategy-best"),
];

/// Connections that rules of the page's app can name.
fn connections(page: &Page) -> Result<Vec<Arc<Connection>>, Failed> {
    let scope: &Scope = page.scope().ok_or(Failed::NotFound)?;
    let access = page.state.engine().access();
    Ok(access.connections(scope.app.id, scope.environment))
}

/// The form of a new rule.
pub fn form(page: &Page, typed: Option<&Fields>, problems: &Problems) -> Result<Form, Failed> {
    let text = page.text();
    let kept = |name: &str| typed.map_or("", |typed| typed.text(name));
    let line = |name: &str, label: &str, hint: Option<&str>| {
        let input = Input::line(page, name, label, kept(name));
        problems.beside(input.with_hint(hint.map(|hint| text.say(hint))))
    };
    let select = |name: &str, label: &str, options: &[(&str, &str)]| {
        let options = options.iter().map(|(value, message)| Choice {
            value: (*value).to_owned(),
            name: text.say(message),
            is_chosen: *value == kept(name),
        });
        problems.beside(Input::select(page, name, label, options.collect()))
    };
    let kinds = [
        ("", "console-rule-all"),
        ("payment", "console-payments"),
        ("payout", "console-payouts"),
    ];
    let places = [
        ("first", "console-rule-first"),
        ("last", "console-rule-last"),
    ];
    let list = Some("console-rule-list-hint");
    let mut inputs = vec![
        line("name", "console-name-of-key", None),
        select("place", "console-rule-place", &places),
        select("match.kind", "console-kind", &kinds),
        line(
            "match.methods",
            "console-methods",
            Some("console-rule-methods-hint"),
        ),
        line("match.countries", "console-countries", list),
        line("match.currencies", "console-rule-currency", list),
        line(
            "match.min_amount",
            "console-rule-least-amount",
            Some("console-rule-amount-hint"),
        ),
        line("match.max_amount", "console-rule-most-amount", None),
        select("strategy", "console-rule-order", &STRATEGIES),
    ];
    for one in connections(page)? {
        let name = format!("connection.{}", one.id);
        let input = Input::line(page, &name, "console-connection", kept(&name));
        let label = format!("{} ({})", one.account_name, one.gateway);
        let hint = Some(text.say("console-rule-connection-hint"));
        inputs.push(Input { label, ..input }.with_hint(hint));
    }
    let is_only = !kept("only").is_empty();
    inputs.push(Input::checkbox(
        page,
        "only",
        "console-rule-only-box",
        "console-rule-only-hint",
        is_only,
    ));
    Ok(Form {
        name: "rule",
        inputs,
        label: text.say("console-rule-preview"),
        is_primary: true,
        ..Form::default()
    })
}

/// The entered rule. An unreadable number or currency is an error of its field.
pub fn rule(page: &Page, fields: &Fields) -> Result<Result<Rule, Problems>, Failed> {
    let text = page.text();
    let given = |name: &str| Some(fields.text(name).to_owned()).filter(|text| !text.is_empty());
    let mut currencies = Vec::new();
    for code in listed(fields.text("match.currencies")) {
        match Currency::from_code(&code.to_uppercase()) {
            Some(currency) => currencies.push(currency),
            None => {
                let unknown = text.with("console-currency-unknown", &[("code", &code)]);
                return Ok(Err(Problems::one("match.currencies", unknown)));
            }
        }
    }
    let mut numbers: Vec<(u32, ConnectionId)> = Vec::new();
    for one in connections(page)? {
        let name = format!("connection.{}", one.id);
        match fields.text(&name) {
            "" => {}
            number => match number.parse() {
                Ok(number) => numbers.push((number, one.id)),
                Err(_) => {
                    let wrong = text.with("console-rule-number", &[("name", &one.account_name)]);
                    return Ok(Err(Problems::one("strategy", wrong)));
                }
            },
        }
    }
    let countries = listed(fields.text("match.countries"));
    let countries = countries.iter().map(|code| code.to_uppercase());
    let methods = listed(fields.text("match.methods")).into_iter();
    let when = Match {
        kind: match fields.text("match.kind") {
            "payment" => Some(Kind::Payment),
            "payout" => Some(Kind::Payout),
            _ => None,
        },
        methods: methods.map(MethodPattern).collect(),
        countries: countries.collect(),
        currencies,
        min_amount: given("match.min_amount"),
        max_amount: given("match.max_amount"),
        metadata: BTreeMap::new(),
    };
    Ok(Ok(Rule {
        name: given("name"),
        when,
        strategy: strategy(fields.text("strategy"), numbers),
        only: given("only").is_some(),
    }))
}

/// The strategy with the connections that have a number: their places, or their weights.
fn strategy(name: &str, mut numbers: Vec<(u32, ConnectionId)>) -> Strategy {
    if name == "weighted" {
        let weights = numbers.into_iter();
        let weights = weights.map(|(weight, connection)| Weight { connection, weight });
        return Strategy::Weighted {
            weights: weights.collect(),
        };
    }
    numbers.sort_by_key(|(place, _)| *place);
    let connections = numbers.into_iter().map(|(_, id)| id).collect();
    match name {
        "cheapest" => Strategy::Cheapest { connections },
        "best_success_rate" => Strategy::BestSuccessRate { connections },
        _ => Strategy::Priority { connections },
    }
}

/// The entries of a list with commas or spaces between them.
fn listed(text: &str) -> Vec<String> {
    let entries = text
        .split([',', ' ', ';'])
        .filter(|entry| !entry.is_empty());
    entries.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use switchyard_core::ids::ConnectionId;
    use switchyard_core::routing::Strategy;

    use super::{listed, strategy};

    #[test]
    fn a_list_is_read_with_commas_or_spaces() {
        assert_eq!(
            listed(" mtn_bj, moov_*;card_xof "),
            ["mtn_bj", "moov_*", "card_xof"]
        );
        assert!(listed(" , ").is_empty());
    }

    #[test]
    fn numbers_are_places_or_weights() {
        let id = |last: u128| ConnectionId::new(last.into());
        let numbers = || vec![(2, id(1)), (1, id(2))];
        let Strategy::Priority { connections } = strategy("priority", numbers()) else {
            panic!("no priority");
        };
        assert_eq!(connections, [id(2), id(1)]);
        let Strategy::Weighted { weights } = strategy("weighted", numbers()) else {
            panic!("no weights");
        };
        assert_eq!((weights[0].weight, weights[0].connection), (2, id(1)));
    }
}
