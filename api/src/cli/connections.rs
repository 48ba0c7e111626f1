//! `switchyard connections`.

use std::fs;

use anyhow::Context as _;
use clap::Subcommand;
use serde_json::{Value, json};
use switchyard_engine::environment::Environment;

use super::client::Client;
use super::output::Column;

#[derive(Subcommand)]
pub enum Connections {
    /// Show an app's connections
    List {
        #[arg(long)]
        app: Option<String>,
    },
    /// Connect an app to a gateway
    Create {
        #[arg(long)]
        app: Option<String>,
        /// The gateway's name, as `switchyard gateways list` shows it
        #[arg(long)]
        gateway: String,
        /// sandbox or live
        #[arg(long)]
        environment: Environment,
        /// What people call the account at the provider
        #[arg(long)]
        account_name: String,
        /// Method codes, separated by commas; without it: all that the gateway has
        #[arg(long, value_delimiter = ',')]
        methods: Option<Vec<String>>,
        /// Credentials as JSON; `@FILE` reads them from a file, which keeps them out of the shell's history
        #[arg(long, default_value = "{}")]
        config: String,
    },
    /// Use a connection again
    Enable { connection: String },
    /// Send nothing new through a connection
    Disable { connection: String },
    /// Delete a connection and its credentials
    Delete { connection: String },
}

impl Connections {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let out = client.output;
        match self {
            Self::List { app } => {
                let app = client.app(app.as_deref())?;
                out.table(
                    &client.get(&format!("/apps/{app}/connections")).await?,
                    COLUMNS,
                )?;
            }
            Self::Create {
                app,
                gateway,
                environment,
                account_name,
                methods,
                config,
            } => {
                let app = client.app(app.as_deref())?;
                let body = json!({
                    "gateway": gateway,
                    "environment": environment,
                    "account_name": account_name,
                    "methods": methods,
                    "config": credentials(&config)?,
                });
                out.fields(
                    &client
                        .post(&format!("/apps/{app}/connections"), &body)
                        .await?,
                )?;
            }
            Self::Enable { connection } => out.fields(&switch(client, &connection, true).await?)?,
            Self::Disable { connection } => {
                out.fields(&switch(client, &connection, false).await?)?
            }
            Self::Delete { connection } => {
                out.done(&client.delete(&format!("/connections/{connection}")).await?)?
            }
        }
        Ok(())
    }
}

async fn switch(client: &Client, connection: &str, on: bool) -> anyhow::Result<Value> {
    client
        .patch(
            &format!("/connections/{connection}"),
            &json!({ "is_enabled": on }),
        )
        .await
}

fn credentials(config: &str) -> anyhow::Result<Value> {
    let text = match config.strip_prefix('@') {
        Some(file) => fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?,
        None => config.to_owned(),
    };
    // What is wrong with it is said without it: it holds credentials.
    serde_json::from_str(&text)
        .ok()
        .context("--config is not JSON: it looks like {\"api_key\": \"…\"}")
}

const COLUMNS: &[Column] = &[
    ("id", "id"),
    ("environment", "environment"),
    ("gateway", "gateway"),
    ("account", "account_name"),
    ("methods", "methods"),
    ("enabled", "is_enabled"),
];
