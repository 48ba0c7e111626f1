//! `switchyard routing`.

use std::fs;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use switchyard_engine::environment::Environment;

use super::client::Client;
use super::output::{Column, aligned, print};

#[derive(Subcommand)]
pub enum Routing {
    /// Show an app's routing rules
    Show {
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
        #[arg(long, default_value = "sandbox")]
        environment: Environment,
        /// Earlier version [default: the active one]
        #[arg(long = "rules-version")]
        rules_version: Option<u64>,
    },
    /// Replace an app's routing rules by those of a file
    Set {
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
        #[arg(long, default_value = "sandbox")]
        environment: Environment,
        /// JSON with `rules` and optional `fees`, as `switchyard routing show --json` prints
        #[arg(long)]
        file: String,
        /// Refuse unless this version is active
        #[arg(long)]
        replaces: Option<u64>,
    },
    /// Simulate the routing of a request or of stored traffic
    Simulate(Box<Simulate>),
    /// Show the recent health of each connection and method
    Health {
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
        #[arg(long)]
        environment: Option<Environment>,
    },
}

#[derive(Args)]
pub struct Simulate {
    /// The app's id [default: of the development server]
    #[arg(long)]
    app: Option<String>,
    #[arg(long, default_value = "sandbox")]
    environment: Environment,
    /// payment or payout
    #[arg(long, default_value = "payment", value_parser = ["payment", "payout"])]
    kind: String,
    /// Method of a hypothetical request
    #[arg(long, required_unless_present = "from")]
    method: Option<String>,
    #[arg(long, requires = "method")]
    country: Option<String>,
    /// Amount in major units: 25.50
    #[arg(long, required_unless_present = "from")]
    amount: Option<String>,
    #[arg(long, required_unless_present = "from")]
    currency: Option<String>,
    /// Metadata as KEY=VALUE, repeatable
    #[arg(long, requires = "method")]
    metadata: Vec<String>,
    /// Transaction whose weighted draw is repeated
    #[arg(long, requires = "method")]
    transaction: Option<String>,
    /// Stored traffic created since this day or time
    #[arg(long, conflicts_with = "method", requires = "to")]
    from: Option<String>,
    /// Stored traffic created until this day or time
    #[arg(long, requires = "from")]
    to: Option<String>,
    /// File with rules that replace the active ones in the simulation
    #[arg(long)]
    rules: Option<String>,
}

impl Routing {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        match self {
            Self::Show {
                app,
                environment,
                rules_version,
            } => {
                let app = client.app(app.as_deref())?;
                let version = rules_version.map(|version| format!("&version={version}"));
                let version = version.unwrap_or_default();
                let path = format!("/apps/{app}/routing?environment={environment}{version}");
                tell(client, &client.get(&path).await?, rules)
            }
            Self::Set {
                app,
                environment,
                file,
                replaces,
            } => {
                let app = client.app(app.as_deref())?;
                let mut body = from_file(&file)?;
                body["environment"] = json!(environment);
                body["replaces"] = json!(replaces);
                tell(
                    client,
                    &client.put(&format!("/apps/{app}/routing"), &body).await?,
                    rules,
                )
            }
            Self::Simulate(simulate) => {
                let body = simulate.body(client)?;
                let view = match simulate.from {
                    Some(_) => traffic,
                    None => decision,
                };
                tell(
                    client,
                    &client.post("/routing/simulate", &body).await?,
                    view,
                )
            }
            Self::Health { app, environment } => {
                let mut query = url::form_urlencoded::Serializer::new(String::new());
                if let Some(app) = &app {
                    query.append_pair("app", app);
                }
                if let Some(environment) = environment {
                    query.append_pair("environment", environment.as_str());
                }
                let path = format!("/routing/health?{}", query.finish());
                Ok(client.output.table(&client.get(&path).await?, HEALTH)?)
            }
        }
    }
}

impl Simulate {
    fn body(&self, client: &Client) -> anyhow::Result<Value> {
        let app = client.app(self.app.as_deref())?;
        let mut body = json!({ "app": app, "environment": self.environment });
        if let Some(file) = &self.rules {
            let given = from_file(file)?;
            for name in ["rules", "fees"] {
                if let Some(list) = given.get(name) {
                    body[name] = list.clone();
                }
            }
        }
        if let Some(from) = &self.from {
            body["traffic"] = json!({ "kind": self.kind, "from": from, "to": self.to });
            return Ok(body);
        }
        let mut metadata = serde_json::Map::new();
        for pair in &self.metadata {
            let (key, value) = pair
                .split_once('=')
                .with_context(|| format!("--metadata {pair} is not KEY=VALUE"))?;
            metadata.insert(key.to_owned(), value.into());
        }
        body["request"] = json!({
            "kind": self.kind,
            "method": self.method,
            "country": self.country,
            "amount": self.amount,
            "currency": self.currency,
            "metadata": metadata,
            "transaction": self.transaction,
        });
        Ok(body)
    }
}

/// Reads `rules` and `fees` from a file. Accepts the output of `show --json`.
fn from_file(file: &str) -> anyhow::Result<Value> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
    let read: Value = serde_json::from_str(&text)
        .with_context(|| format!("{file} is not JSON: it looks like {{\"rules\": […]}}"))?;
    let data = read.get("data").unwrap_or(&read);
    if !data["rules"].is_array() && !data["fees"].is_array() {
        bail!("{file} has neither `rules` nor `fees`");
    }
    let mut kept = json!({});
    for name in ["rules", "fees"] {
        if let Some(list) = data.get(name) {
            kept[name] = list.clone();
        }
    }
    Ok(kept)
}

fn tell(client: &Client, answer: &Value, view: fn(&Value) -> String) -> anyhow::Result<()> {
    if client.output.json {
        return Ok(client.output.fields(answer)?);
    }
    Ok(print(&view(&answer["data"]))?)
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or("-").to_owned()
}

fn rules(data: &Value) -> String {
    let list = rows(&data["rules"]);
    if list.is_empty() {
        return format!(
            "{}, version {}: no rules, so connections are tried oldest first\n",
            word(&data["environment"]),
            data["version"]
        );
    }
    let table: Vec<Value> = list
        .iter()
        .enumerate()
        .map(|(place, rule)| {
            let strategy = &rule["strategy"];
            let weights = rows(&strategy["weights"]).iter();
            let weights = weights.map(|row| format!("{} {}", row["weight"], word(&row["connection"])));
            let named = rows(&strategy["connections"]).iter().map(word);
            let connections: Vec<String> = weights.chain(named).collect();
            json!({
                "number": place + 1,
                "name": rule["name"],
                "when": when(&rule["match"]),
                "strategy": strategy["type"],
                "connections": if connections.is_empty() { vec!["all".to_owned()] } else { connections },
                "others": if rule["only"] == true { "never" } else { "after" },
            })
        })
        .collect();
    let head = format!(
        "{}, version {}, made {}\n\n",
        word(&data["environment"]),
        data["version"],
        word(&data["made_at"])
    );
    let mut text = head + &aligned(&table, RULES);
    if !rows(&data["fees"]).is_empty() {
        text.push('\n');
        text.push_str(&aligned(rows(&data["fees"]), FEES));
    }
    text
}

/// Formats the conditions of a rule in one line.
fn when(matching: &Value) -> String {
    let Some(fields) = matching.as_object().filter(|fields| !fields.is_empty()) else {
        return "always".to_owned();
    };
    let said = fields.iter().map(|(name, value)| match value {
        Value::Array(list) => {
            let words: Vec<String> = list.iter().map(word).collect();
            format!("{name} {}", words.join("|"))
        }
        Value::Object(pairs) => {
            let pairs: Vec<String> = pairs
                .iter()
                .map(|(key, value)| format!("{key}={}", word(value)))
                .collect();
            format!("{name} {}", pairs.join(" and "))
        }
        value => format!("{name} {}", word(value)),
    });
    said.collect::<Vec<_>>().join(", ")
}

fn decision(data: &Value) -> String {
    let mut text = match data["chosen"]["connection"].as_str() {
        Some(connection) => format!(
            "goes to {} ({}), {connection}\n",
            word(&data["chosen"]["gateway"]),
            word(&data["chosen"]["account_name"])
        ),
        None => "goes nowhere\n".to_owned(),
    };
    text.push_str(&format!("because {}\n", word(&data["because"])));
    if let Some(version) = data["rule"]["version"].as_u64() {
        let of = match version {
            0 => "the rules that were given".to_owned(),
            version => format!("version {version}"),
        };
        text.push_str(&format!("by rule {} of {of}\n", data["rule"]["number"]));
    }
    if let Some(roll) = data["roll"].as_u64() {
        text.push_str(&format!("drawn: {roll} of 10000\n"));
    }
    for (name, columns) in [("considered", CONSIDERED), ("skipped", SKIPPED)] {
        if !rows(&data[name]).is_empty() {
            text.push_str(&format!("\n{name}\n"));
            text.push_str(&aligned(rows(&data[name]), columns));
        }
    }
    text
}

fn traffic(data: &Value) -> String {
    let (read, total) = (&data["read"], &data["total"]);
    let mut text = format!(
        "{total} transactions from {} to {}; the newest {read} were looked at, {} of them never chose a method\n\n",
        word(&data["from"]),
        word(&data["to"]),
        data["without_method"]
    );
    let sums = |value: &Value| {
        let pairs = value.as_object().into_iter().flatten();
        let texts: Vec<String> = pairs.map(|(_, text)| word(text)).collect();
        if texts.is_empty() {
            "-".to_owned()
        } else {
            texts.join(" + ")
        }
    };
    let table: Vec<Value> = rows(&data["connections"])
        .iter()
        .map(|row| {
            let count = |name: &str| row[name]["count"].as_i64().unwrap_or(0);
            json!({
                "connection": row["connection"],
                "account": row["account_name"],
                "really": count("really"),
                "in_force": count("in_force"),
                "tried": count("tried"),
                "change": format!("{:+}", count("tried") - count("in_force")),
                "fees": sums(&row["in_force"]["fees"]),
                "fees_tried": sums(&row["tried"]["fees"]),
            })
        })
        .collect();
    text.push_str(&aligned(&table, TRAFFIC));
    text.push_str(&format!(
        "\nfees under the rules in force: {}, under those that were tried: {}\n",
        sums(&data["fees"]["in_force"]["sums"]),
        sums(&data["fees"]["tried"]["sums"])
    ));
    text
}

const RULES: &[Column] = &[
    ("#", "number"),
    ("name", "name"),
    ("when", "when"),
    ("strategy", "strategy"),
    ("connections", "connections"),
    ("others", "others"),
];
const FEES: &[Column] = &[
    ("fees of", "connection"),
    ("methods", "methods"),
    ("currency", "currency"),
    ("percent", "percent"),
    ("fixed", "fixed"),
    ("least", "min"),
    ("most", "max"),
];
const CONSIDERED: &[Column] = &[
    ("gateway", "gateway"),
    ("account", "account_name"),
    ("connection", "connection"),
    ("why", "why"),
    ("fee", "fee_formatted"),
    ("breaker", "health.breaker"),
];
const SKIPPED: &[Column] = &[
    ("gateway", "gateway"),
    ("account", "account_name"),
    ("connection", "connection"),
    ("because", "because"),
];
const TRAFFIC: &[Column] = &[
    ("connection", "connection"),
    ("account", "account"),
    ("really", "really"),
    ("in force", "in_force"),
    ("tried", "tried"),
    ("change", "change"),
    ("fees", "fees"),
    ("fees tried", "fees_tried"),
];
const HEALTH: &[Column] = &[
    ("gateway", "gateway"),
    ("account", "account_name"),
    ("connection", "connection"),
    ("environment", "environment"),
    ("kind", "kind"),
    ("method", "method"),
    ("breaker", "breaker"),
    ("calls 30 s", "calls"),
    ("faults", "faults"),
    ("ended 30 min", "ended"),
    ("succeeded", "succeeded"),
    ("no funds", "short_of_funds"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_a_table_that_people_can_read() {
        let data = json!({
            "environment": "live", "version": 3, "made_at": "T",
            "rules": [
                { "name": "gold", "match": { "methods": ["mtn_*"], "metadata": { "tier": "gold" } }, "only": true,
                  "strategy": { "type": "priority", "connections": ["con_a", "con_b"] } },
                { "match": {}, "only": false, "strategy": { "type": "weighted", "weights": [{ "connection": "con_a", "weight": 7 }] } },
            ],
        });
        let text = rules(&data);
        assert!(text.starts_with("live, version 3, made T\n"), "{text}");
        assert!(text.contains("metadata tier=gold, methods mtn_*"), "{text}");
        assert!(text.contains("con_a, con_b  never"), "{text}");
        assert!(text.contains("always"), "{text}");
        assert!(text.contains("7 con_a"), "{text}");
        let none = rules(&json!({ "environment": "live", "version": 0, "rules": [] }));
        assert!(none.contains("oldest first"), "{none}");
    }

    #[test]
    fn a_simulation_says_where_it_goes_and_why() {
        let considered =
            json!([{ "gateway": "g", "connection": "con_a", "why": "its fee is XOF 25" }]);
        let data = json!({
            "chosen": { "connection": "con_a", "gateway": "g", "account_name": "Main" },
            "because": "rule 1, cheapest: its fee is XOF 25",
            "rule": { "version": 0, "number": 1 },
            "considered": considered,
            "skipped": [],
        });
        let text = decision(&data);
        assert!(
            text.starts_with("goes to g (Main), con_a\nbecause rule 1"),
            "{text}"
        );
        assert!(
            text.contains("by rule 1 of the rules that were given"),
            "{text}"
        );
        assert!(decision(&json!({})).starts_with("goes nowhere"));
    }

    #[test]
    fn traffic_under_other_rules_is_told_with_what_changes() {
        let share = |count: u64, fee: &str| json!({ "count": count, "fees": { "XOF": fee } });
        let row = json!({
            "connection": "con_a", "account_name": "Main",
            "really": share(3, "XOF 3"), "in_force": share(3, "XOF 3"), "tried": share(1, "XOF 1"),
        });
        let fees = json!({ "in_force": { "sums": { "XOF": "XOF 3" } }, "tried": { "sums": { "XOF": "XOF 1" } } });
        let data = json!({ "total": 3, "read": 3, "without_method": 0, "from": "A", "to": "B", "connections": [row], "fees": fees });
        let text = traffic(&data);
        assert!(text.contains("3 transactions from A to B"), "{text}");
        assert!(text.contains("-2"), "{text}");
        assert!(
            text.contains("in force: XOF 3, under those that were tried: XOF 1"),
            "{text}"
        );
    }
}
