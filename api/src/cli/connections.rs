//! `switchyard connections`.

use std::fs;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use switchyard_engine::environment::Environment;

use super::client::{Client, query};
use super::output::{Column, Output};

#[derive(Subcommand)]
pub enum Connections {
    /// List an app's connections
    List {
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
    },
    /// Show a connection
    Show { connection: String },
    /// Connect an app to a gateway
    Create {
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
        /// The gateway's name, as `switchyard gateway list` shows it
        #[arg(long)]
        gateway: String,
        /// sandbox or live
        #[arg(long)]
        environment: Environment,
        /// Name of the account at the provider
        #[arg(long)]
        account_name: String,
        #[command(flatten)]
        terms: Terms,
    },
    /// Change a connection; credentials and limits are replaced as a whole
    Update {
        connection: String,
        #[arg(long)]
        account_name: Option<String>,
        #[command(flatten)]
        terms: Terms,
    },
    /// Enable a connection
    Enable { connection: String },
    /// Disable a connection: start no new attempts
    Disable { connection: String },
    /// List the provider's ids of attempts; for coins, each address that was shown
    ProviderIds {
        connection: String,
        /// Only attempts after this id
        #[arg(long)]
        after: Option<String>,
        #[arg(long, default_value_t = 100)]
        limit: u32,
    },
    /// Delete a connection and its credentials
    Delete { connection: String },
}

/// Credentials, methods and limits of a connection.
#[derive(Args)]
pub struct Terms {
    /// Method code, repeatable [default: all methods of the gateway]
    #[arg(
        long = "method",
        alias = "methods",
        value_name = "CODE",
        value_delimiter = ','
    )]
    methods: Vec<String>,
    /// Credential, repeatable; `switchyard gateway show NAME` lists them
    #[arg(long = "credential", value_name = "NAME=VALUE")]
    credentials: Vec<String>,
    /// Credential from a file, which keeps it out of the shell's history
    #[arg(long = "credential-file", value_name = "NAME=FILE")]
    credential_files: Vec<String>,
    /// All credentials as JSON; `@FILE` reads them from a file
    #[arg(long)]
    config: Option<String>,
    /// Smallest amount in major units, repeatable per currency
    #[arg(long, value_name = "CURRENCY=AMOUNT")]
    min: Vec<String>,
    /// Largest amount in major units, repeatable per currency
    #[arg(long, value_name = "CURRENCY=AMOUNT")]
    max: Vec<String>,
    /// Country (BJ), repeatable [default: all]
    #[arg(long = "country", value_name = "CODE", value_delimiter = ',')]
    countries: Vec<String>,
    /// Store the credentials without a check at the provider
    #[arg(long)]
    skip_check: bool,
    /// Enable the connection although the check at the provider failed to run
    #[arg(long)]
    enable_unchecked: bool,
}

impl Connections {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let out = client.output;
        match self {
            Self::List { app } => {
                let app = client.app(app.as_deref())?;
                let path = format!("/apps/{app}/connections");
                let mut answer = client.get(&path).await?;
                if !out.json {
                    say_all(&mut answer["data"]);
                }
                out.table(&answer, COLUMNS)?;
            }
            Self::Show { connection } => {
                out.fields(&client.get(&format!("/connections/{connection}")).await?)?;
            }
            Self::Create {
                app,
                gateway,
                environment,
                account_name,
                terms,
            } => {
                let app = client.app(app.as_deref())?;
                let mut body = terms.body(client, &gateway).await?;
                body.insert("gateway".into(), json!(gateway));
                body.insert("environment".into(), json!(environment));
                body.insert("account_name".into(), json!(account_name));
                let path = format!("/apps/{app}/connections");
                print_change(out, &client.post(&path, &Value::Object(body)).await?)?;
            }
            Self::Update {
                connection,
                account_name,
                terms,
            } => {
                let path = format!("/connections/{connection}");
                let known = client.get(&path).await?;
                let gateway = known["data"]["gateway"].as_str().unwrap_or_default();
                let mut body = terms.body(client, gateway).await?;
                if let Some(name) = account_name {
                    body.insert("account_name".into(), json!(name));
                }
                print_change(out, &client.patch(&path, &Value::Object(body)).await?)?;
            }
            Self::Enable { connection } => out.fields(&switch(client, &connection, true).await?)?,
            Self::Disable { connection } => {
                out.fields(&switch(client, &connection, false).await?)?
            }
            Self::ProviderIds {
                connection,
                after,
                limit,
            } => {
                let limit = Some(limit.to_string());
                let asked = query(&[("limit", &limit), ("after", &after)]);
                let path = format!("/connections/{connection}/provider-ids?{asked}");
                out.page(
                    &client.get(&path).await?,
                    ("provider_ids", "--after"),
                    PROVIDER_IDS,
                )?;
            }
            Self::Delete { connection } => {
                out.done(&client.delete(&format!("/connections/{connection}")).await?)?
            }
        }
        Ok(())
    }
}

impl Terms {
    /// Returns the body of the request, with only the options that were given.
    async fn body(&self, client: &Client, gateway: &str) -> anyhow::Result<Map<String, Value>> {
        let mut body = Map::new();
        if !self.methods.is_empty() {
            body.insert("methods".into(), json!(self.methods));
        }
        if let Some(config) = self.config(client, gateway).await? {
            body.insert("config".into(), config);
        }
        if let Some(limits) = self.limits()? {
            body.insert("limits".into(), limits);
        }
        if self.skip_check {
            body.insert("skip_check".into(), json!(true));
        }
        if self.enable_unchecked {
            body.insert("enable_unchecked".into(), json!(true));
        }
        Ok(body)
    }

    async fn config(&self, client: &Client, gateway: &str) -> anyhow::Result<Option<Value>> {
        let mut config = match &self.config {
            Some(config) => whole(config)?,
            None => json!({}),
        };
        if self.credentials.is_empty() && self.credential_files.is_empty() {
            return Ok(self.config.as_ref().map(|_| config));
        }
        let form = client.get(&format!("/gateways/{gateway}/form")).await?;
        for given in &self.credentials {
            let (name, value) = pair("--credential", given)?;
            config[name] = typed(&form, name, value);
        }
        for given in &self.credential_files {
            let (name, file) = pair("--credential-file", given)?;
            let value = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
            config[name] = typed(&form, name, value.trim_end_matches(['\r', '\n']));
        }
        Ok(Some(config))
    }

    fn limits(&self) -> anyhow::Result<Option<Value>> {
        if self.min.is_empty() && self.max.is_empty() && self.countries.is_empty() {
            return Ok(None);
        }
        let mut amounts = json!({});
        for (name, all) in [("min", &self.min), ("max", &self.max)] {
            for given in all {
                let (currency, amount) = pair(&format!("--{name}"), given)?;
                amounts[currency.to_ascii_uppercase()][name] = json!(amount);
            }
        }
        Ok(Some(
            json!({ "amounts": amounts, "countries": self.countries }),
        ))
    }
}

const PROVIDER_IDS: &[Column] = &[
    ("provider id", "provider_id"),
    ("index", "index"),
    ("transaction", "transaction"),
    ("status", "status"),
    ("captured", "captured"),
    ("began", "started_at"),
];

/// Prints a connection, with a note if its credentials were not checked.
fn print_change(out: Output, answer: &Value) -> std::io::Result<()> {
    out.fields(answer)?;
    if let Some(note) = untested(&answer["data"]["check"]) {
        out.note(note);
    }
    Ok(())
}

/// Returns a note about credentials that were stored without a check.
fn untested(check: &Value) -> Option<&str> {
    let message = check["message"].as_str();
    let note = message.unwrap_or("The credentials are untested, as asked for.");
    (check["result"] == "not_checked").then_some(note)
}

async fn switch(client: &Client, connection: &str, on: bool) -> anyhow::Result<Value> {
    let path = format!("/connections/{connection}");
    client.patch(&path, &json!({ "is_enabled": on })).await
}

/// Replaces an empty list by "all", for the table.
fn say_all(connections: &mut Value) {
    for connection in connections.as_array_mut().into_iter().flatten() {
        for place in ["/methods", "/limits/countries"] {
            if let Some(list) = connection.pointer_mut(place)
                && list.as_array().is_none_or(Vec::is_empty)
            {
                *list = json!("all");
            }
        }
    }
}

/// Splits NAME=VALUE. The error does not contain the input, which may be a credential.
fn pair<'g>(option: &str, given: &'g str) -> anyhow::Result<(&'g str, &'g str)> {
    match given.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name, value)),
        _ => bail!("{option} is written NAME=VALUE"),
    }
}

/// Converts the value to a number or boolean if the form has such a field. Otherwise it stays a
/// text.
fn typed(form: &Value, name: &str, value: &str) -> Value {
    let fields = form["data"]["fields"].as_array();
    let field = fields
        .into_iter()
        .flatten()
        .find(|field| field["name"] == name);
    let read = match field.and_then(|field| field["type"].as_str()) {
        Some("integer") => value.parse::<i64>().ok().map(Value::from),
        Some("boolean") => value.parse::<bool>().ok().map(Value::from),
        _ => None,
    };
    read.unwrap_or_else(|| Value::from(value))
}

fn whole(config: &str) -> anyhow::Result<Value> {
    let text = match config.strip_prefix('@') {
        Some(file) => fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?,
        None => config.to_owned(),
    };
    // The error does not contain the input, which has credentials.
    let read: Option<Map<String, Value>> = serde_json::from_str(&text).ok();
    read.map(Value::Object)
        .context("--config is no JSON object: it looks like {\"api_key\": \"…\"}")
}

const COLUMNS: &[Column] = &[
    ("id", "id"),
    ("environment", "environment"),
    ("gateway", "gateway"),
    ("account", "account_name"),
    ("methods", "methods"),
    ("countries", "limits.countries"),
    ("enabled", "is_enabled"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_that_were_not_checked_are_said_to_be_untested() {
        let no_check = json!({ "result": "not_checked", "message": "The gateway has no check." });
        assert_eq!(untested(&no_check), Some("The gateway has no check."));
        let skipped = json!({ "result": "not_checked", "why": "as asked for" });
        assert!(untested(&skipped).is_some_and(|note| note.contains("untested")));
        assert_eq!(
            untested(&json!({ "result": "works", "message": "ok" })),
            None
        );
        assert_eq!(untested(&Value::Null), None);
    }

    #[test]
    fn a_credential_has_the_type_that_the_form_asks_for() {
        let fields =
            json!([{ "name": "shop", "type": "integer" }, { "name": "key", "type": "string" }]);
        let form = json!({ "data": { "fields": fields } });
        assert_eq!(typed(&form, "shop", "12"), json!(12));
        assert_eq!(typed(&form, "key", "12"), json!("12"));
        assert_eq!(pair("--credential", "key=a=b").unwrap(), ("key", "a=b"));
        let wrong = pair("--credential", "hunter2").unwrap_err().to_string();
        assert!(!wrong.contains("hunter2"));
    }
}
