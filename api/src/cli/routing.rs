//! `switchyard routing`.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::Value;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, TransactionId};
use switchyard_core::money::Currency;
use switchyard_core::routing::{FeeRow, Rule};
use switchyard_core::transaction::Kind;

use super::client::{Client, query};
use super::routing_text::{HEALTH, rules, simulated};
use crate::operator::contract::NumberOrText;
use crate::operator::contract::routing::{
    ConnectionHealth, HealthFilter, HypotheticalRequest, NewRules, RulesQuery, Simulation,
    TrafficSpan,
};

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
        /// The app's id [default: all apps]
        #[arg(long)]
        app: Option<AppId>,
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
    currency: Option<Currency>,
    /// Metadata as KEY=VALUE, repeatable
    #[arg(long, requires = "method")]
    metadata: Vec<String>,
    /// Transaction whose weighted draw is repeated
    #[arg(long, requires = "method")]
    transaction: Option<TransactionId>,
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
        let out = client.output;
        match self {
            Self::Show {
                app,
                environment,
                rules_version,
            } => {
                let app = client.app(app.as_deref())?;
                let asked = RulesQuery {
                    environment: Some(environment),
                    version: rules_version,
                };
                let path = format!("/apps/{app}/routing?{}", query(&asked));
                out.text(&client.get(&path).await?, rules)?;
            }
            Self::Set {
                app,
                environment,
                file,
                replaces,
            } => {
                let app = client.app(app.as_deref())?;
                let given = from_file(&file)?;
                let new = NewRules {
                    environment,
                    rules: given
                        .rules
                        .with_context(|| format!("{file} has no `rules`"))?,
                    fees: given.fees.unwrap_or_default(),
                    replaces,
                };
                let path = format!("/apps/{app}/routing");
                out.text(&client.put(&path, &new).await?, rules)?;
            }
            Self::Simulate(simulate) => {
                let body = simulate.body(client)?;
                out.text(&client.post("/routing/simulate", &body).await?, simulated)?;
            }
            Self::Health { app, environment } => {
                let filter = HealthFilter { app, environment };
                let path = format!("/routing/health?{}", query(&filter));
                out.table(&client.get::<Vec<ConnectionHealth>>(&path).await?, HEALTH)?;
            }
        }
        Ok(())
    }
}

impl Simulate {
    fn body(self, client: &Client) -> anyhow::Result<Simulation> {
        let app = client.app(self.app.as_deref())?;
        let given = self.rules.as_deref().map(from_file).transpose()?;
        let given = given.unwrap_or_default();
        let kind = match self.kind.as_str() {
            "payout" => Kind::Payout,
            _ => Kind::Payment,
        };
        let mut simulation = Simulation {
            app: app
                .parse()
                .with_context(|| format!("{app} is not the id of an app"))?,
            environment: self.environment,
            request: None,
            traffic: None,
            rules: given.rules,
            fees: given.fees,
        };
        if let (Some(from), Some(to)) = (self.from, self.to) {
            simulation.traffic = Some(TrafficSpan {
                kind: Some(kind),
                from,
                to,
            });
            return Ok(simulation);
        }
        let mut metadata = BTreeMap::new();
        for pair in self.metadata {
            let (key, value) = pair
                .split_once('=')
                .with_context(|| format!("--metadata {pair} is not KEY=VALUE"))?;
            metadata.insert(key.to_owned(), value.to_owned());
        }
        simulation.request = Some(HypotheticalRequest {
            kind,
            method: self.method.context("give --method")?,
            country: self.country,
            amount: NumberOrText::Text(self.amount.context("give --amount")?),
            currency: self.currency.context("give --currency")?,
            metadata,
            transaction: self.transaction,
        });
        Ok(simulation)
    }
}

/// Lists of a file.
#[derive(Default, Deserialize)]
struct RuleFile {
    rules: Option<Vec<Rule>>,
    fees: Option<Vec<FeeRow>>,
}

/// Reads `rules` and `fees` from a file. Accepts the output of `show --json`.
fn from_file(file: &str) -> anyhow::Result<RuleFile> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
    let read: Value = serde_json::from_str(&text)
        .with_context(|| format!("{file} is not JSON: it looks like {{\"rules\": […]}}"))?;
    let data = match read {
        Value::Object(mut fields) => match fields.remove("data") {
            Some(data) => data,
            None => Value::Object(fields),
        },
        other => other,
    };
    let given: RuleFile = serde_json::from_value(data)
        .with_context(|| format!("{file} has rules or fees that are unreadable"))?;
    if given.rules.is_none() && given.fees.is_none() {
        bail!("{file} has neither `rules` nor `fees`");
    }
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_from_a_file_and_from_the_output_of_show() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.json");
        let file = path.display().to_string();
        let rules = r#"{"rules": [{"strategy": {"type": "cheapest"}}]}"#;
        for text in [
            rules.to_owned(),
            format!(r#"{{"message": "", "data": {rules}}}"#),
        ] {
            fs::write(&path, text).unwrap();
            assert_eq!(from_file(&file).unwrap().rules.unwrap().len(), 1);
        }
        for (text, why) in [
            ("{}", "neither"),
            (
                r#"{"rules": [{"strategy": {"type": "fastest"}}]}"#,
                "best_success_rate",
            ),
        ] {
            fs::write(&path, text).unwrap();
            let refused = format!("{:#}", from_file(&file).err().unwrap());
            assert!(refused.contains(why), "{refused}");
        }
    }
}
