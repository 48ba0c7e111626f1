//! `switchyard connections`.

use std::fs;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use serde_json::{Map, Value};
use switchyard_core::environment::Environment;

use super::client::{Answer, Client, query};
use super::output::{Column, Output, cell};
use crate::operator::contract::connections::{
    ConfigCheck, ConfigForm, Connection, ConnectionChange, ConnectionLimits, NewConnection,
    ProviderId, ProviderIdFilter, ProviderIds,
};

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
        terms: ConnectionOptions,
    },
    /// Change a connection; credentials and limits are replaced as a whole
    Update {
        connection: String,
        #[arg(long)]
        account_name: Option<String>,
        #[command(flatten)]
        terms: ConnectionOptions,
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
        limit: usize,
    },
    /// Delete a connection and its credentials
    Delete { connection: String },
}

/// Credentials, methods and limits of a connection.
#[derive(Args)]
pub struct ConnectionOptions {
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
                out.table(&client.get(&path).await?, COLUMNS)?;
            }
            Self::Show { connection } => {
                let path = format!("/connections/{connection}");
                out.fields::<Connection>(&client.get(&path).await?)?;
            }
            Self::Create {
                app,
                gateway,
                environment,
                account_name,
                terms,
            } => {
                let app = client.app(app.as_deref())?;
                let new = NewConnection {
                    environment,
                    account_name,
                    methods: terms.methods(),
                    config: terms.config(client, &gateway).await?,
                    limits: terms.limits()?.unwrap_or_default(),
                    skip_check: terms.skip_check,
                    enable_unchecked: terms.enable_unchecked,
                    gateway,
                };
                let path = format!("/apps/{app}/connections");
                print_change(out, &client.post(&path, &new).await?)?;
            }
            Self::Update {
                connection,
                account_name,
                terms,
            } => update(client, &connection, account_name, terms).await?,
            Self::Enable { connection } => out.fields(&switch(client, &connection, true).await?)?,
            Self::Disable { connection } => {
                out.fields(&switch(client, &connection, false).await?)?
            }
            Self::ProviderIds {
                connection,
                after,
                limit,
            } => {
                let filter = ProviderIdFilter {
                    after,
                    limit: Some(limit),
                };
                let path = format!("/connections/{connection}/provider-ids?{}", query(&filter));
                let answer = client.get::<ProviderIds>(&path).await?;
                let page = &answer.data;
                let more = page.more.as_ref().map(|more| more as _);
                out.page(&answer, (&page.provider_ids, "--after", more), PROVIDER_IDS)?;
            }
            Self::Delete { connection } => {
                out.done(&client.delete(&format!("/connections/{connection}")).await?)?
            }
        }
        Ok(())
    }
}

async fn update(
    client: &Client,
    connection: &str,
    account_name: Option<String>,
    terms: ConnectionOptions,
) -> anyhow::Result<()> {
    let path = format!("/connections/{connection}");
    let known = client.get::<Connection>(&path).await?.data;
    let change = ConnectionChange {
        account_name,
        methods: terms.methods().map(Some),
        config: terms.config(client, &known.gateway).await?,
        limits: terms.limits()?,
        is_enabled: None,
        skip_check: terms.skip_check,
        enable_unchecked: terms.enable_unchecked,
    };
    let changed = client.patch(&path, &change).await?;
    Ok(print_change(client.output, &changed)?)
}

impl ConnectionOptions {
    fn methods(&self) -> Option<Vec<String>> {
        (!self.methods.is_empty()).then(|| self.methods.clone())
    }

    async fn config(&self, client: &Client, gateway: &str) -> anyhow::Result<Option<Value>> {
        let mut config = match &self.config {
            Some(config) => parse_config(config)?,
            None => Map::new(),
        };
        if self.credentials.is_empty() && self.credential_files.is_empty() {
            return Ok(self.config.as_ref().map(|_| Value::Object(config)));
        }
        let form = client.get(&format!("/gateways/{gateway}/form")).await?.data;
        for given in &self.credentials {
            let (name, value) = pair("--credential", given)?;
            config.insert(name.to_owned(), typed(&form, name, value));
        }
        for given in &self.credential_files {
            let (name, file) = pair("--credential-file", given)?;
            let value = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
            let value = typed(&form, name, value.trim_end_matches(['\r', '\n']));
            config.insert(name.to_owned(), value);
        }
        Ok(Some(Value::Object(config)))
    }

    fn limits(&self) -> anyhow::Result<Option<ConnectionLimits>> {
        if self.min.is_empty() && self.max.is_empty() && self.countries.is_empty() {
            return Ok(None);
        }
        let mut limits = ConnectionLimits {
            countries: self.countries.clone(),
            ..ConnectionLimits::default()
        };
        for given in &self.min {
            let (currency, amount) = pair("--min", given)?;
            let limit = limits.amounts.entry(currency.to_ascii_uppercase());
            limit.or_default().min = Some(amount.to_owned());
        }
        for given in &self.max {
            let (currency, amount) = pair("--max", given)?;
            let limit = limits.amounts.entry(currency.to_ascii_uppercase());
            limit.or_default().max = Some(amount.to_owned());
        }
        Ok(Some(limits))
    }
}

const PROVIDER_IDS: &[Column<ProviderId>] = &[
    ("provider id", |one| cell(&one.provider_id)),
    ("index", |one| cell(&one.index)),
    ("transaction", |one| cell(&one.transaction)),
    ("status", |one| cell(&one.status)),
    ("captured", |one| cell(&one.captured)),
    ("began", |one| cell(&one.started_at)),
];

/// Prints a connection, with a note if its credentials were not checked.
fn print_change(out: Output, answer: &Answer<Connection>) -> std::io::Result<()> {
    out.fields(answer)?;
    if let Some(note) = answer.data.check.as_ref().and_then(untested) {
        out.note(note);
    }
    Ok(())
}

/// Returns a note about credentials that were stored without a check.
fn untested(check: &ConfigCheck) -> Option<&str> {
    match check {
        ConfigCheck::Works { .. } => None,
        ConfigCheck::NotChecked { message, .. } => {
            let skipped = "The credentials are untested, as asked for.";
            Some(message.as_deref().unwrap_or(skipped))
        }
    }
}

async fn switch(client: &Client, connection: &str, on: bool) -> anyhow::Result<Answer<Connection>> {
    let change = ConnectionChange {
        is_enabled: Some(on),
        ..ConnectionChange::default()
    };
    let path = format!("/connections/{connection}");
    client.patch(&path, &change).await
}

/// Formats a list of which an empty one stands for all.
fn or_all(list: &[String]) -> String {
    match list.is_empty() {
        true => "all".to_owned(),
        false => cell(&list),
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
fn typed(form: &ConfigForm, name: &str, value: &str) -> Value {
    let field = form.fields.iter().find(|field| field.name == name);
    let read = match field.and_then(|field| field.r#type.as_deref()) {
        Some("integer") => value.parse::<i64>().ok().map(Value::from),
        Some("boolean") => value.parse::<bool>().ok().map(Value::from),
        _ => None,
    };
    read.unwrap_or_else(|| Value::from(value))
}

fn parse_config(config: &str) -> anyhow::Result<Map<String, Value>> {
    let text = match config.strip_prefix('@') {
        Some(file) => fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?,
        None => config.to_owned(),
    };
    // The error does not contain the input, which has credentials.
    let read: Option<Map<String, Value>> = serde_json::from_str(&text).ok();
    read.context("--config is no JSON object: it looks like {\"api_key\": \"…\"}")
}

pub const COLUMNS: &[Column<Connection>] = &[
    ("id", |one| cell(&one.id)),
    ("environment", |one| cell(&one.environment)),
    ("gateway", |one| cell(&one.gateway)),
    ("account", |one| cell(&one.account_name)),
    ("methods", |one| {
        or_all(one.methods.as_deref().unwrap_or_default())
    }),
    ("countries", |one| or_all(&one.limits.countries)),
    ("enabled", |one| cell(&one.is_enabled)),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn credentials_that_were_not_checked_are_said_to_be_untested() {
        let not_checked = |message: Option<&str>| ConfigCheck::NotChecked {
            why: "as asked for".to_owned(),
            message: message.map(str::to_owned),
        };
        let no_check = not_checked(Some("The gateway has no check."));
        assert_eq!(untested(&no_check), Some("The gateway has no check."));
        let skipped = not_checked(None);
        assert!(untested(&skipped).is_some_and(|note| note.contains("untested")));
        let works = ConfigCheck::Works {
            account: None,
            message: "ok".to_owned(),
        };
        assert_eq!(untested(&works), None);
    }

    #[test]
    fn a_credential_has_the_type_that_the_form_asks_for() {
        let field = |name: &str, kind: &str| {
            let known = json!({ "name": name, "title": name, "type": kind });
            let marks = json!({ "is_required": true, "is_secret": true });
            let mut field = known.as_object().unwrap().clone();
            field.extend(marks.as_object().unwrap().clone());
            field
        };
        let form = json!({
            "gateway": "acme", "title": "Acme", "can_be_checked": false, "methods": [],
            "fields": [field("shop", "integer"), field("key", "string")],
        });
        let form: ConfigForm = serde_json::from_value(form).unwrap();
        assert_eq!(typed(&form, "shop", "12"), json!(12));
        assert_eq!(typed(&form, "key", "12"), json!("12"));
        assert_eq!(pair("--credential", "key=a=b").unwrap(), ("key", "a=b"));
        let wrong = pair("--credential", "hunter2").unwrap_err().to_string();
        assert!(!wrong.contains("hunter2"));
    }
}
