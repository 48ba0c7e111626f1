//! `switchyard keys`.

use std::time::Duration;

use clap::Subcommand;
use serde_json::json;
use switchyard_engine::environment::Environment;

use super::client::Client;
use super::output::Column;
use crate::config::Span;

#[derive(Subcommand)]
pub enum Keys {
    /// Show an app's keys, as far as they can be shown
    List {
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
    },
    /// Make a key; it is shown once
    Create {
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
        /// sandbox or live
        #[arg(long)]
        environment: Environment,
        /// secret (for the merchant's server) or public (only initializes)
        #[arg(long, value_parser = ["secret", "public"])]
        kind: String,
        /// What people call it
        #[arg(long)]
        name: Option<String>,
    },
    /// Make a key like this one, and let the old one end after a while
    Roll {
        /// The key's id, as `keys list` shows it
        key: String,
        /// How long the old key stays valid, at most 30d [default: 24h]
        #[arg(long)]
        grace: Option<Span>,
        /// End the old key at once
        #[arg(long, conflicts_with = "grace")]
        now: bool,
    },
    /// Delete a key: it opens nothing from now on
    Delete {
        /// The key's id, as `keys list` shows it
        key: String,
    },
}

impl Keys {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let out = client.output;
        match self {
            Self::List { app } => {
                let app = client.app(app.as_deref())?;
                out.table(&client.get(&format!("/apps/{app}/keys")).await?, COLUMNS)?;
            }
            Self::Create {
                app,
                environment,
                kind,
                name,
            } => {
                let app = client.app(app.as_deref())?;
                let body = json!({ "environment": environment, "kind": kind, "name": name });
                out.fields(&client.post(&format!("/apps/{app}/keys"), &body).await?)?;
                out.note(ONCE);
            }
            Self::Roll { key, grace, now } => {
                let grace = if now {
                    Some(Span(Duration::ZERO))
                } else {
                    grace
                };
                out.fields(
                    &client
                        .post(&format!("/keys/{key}/roll"), &json!({ "grace": grace }))
                        .await?,
                )?;
                out.note(ONCE);
                if !now {
                    out.note("The old key stays valid until `keys list` says it ends; --now ends it at once.");
                }
            }
            Self::Delete { key } => out.done(&client.delete(&format!("/keys/{key}")).await?)?,
        }
        Ok(())
    }
}

const ONCE: &str = "The key is shown this once: put it where it is needed now.";
const COLUMNS: &[Column] = &[
    ("id", "id"),
    ("key", "shown_as"),
    ("environment", "environment"),
    ("kind", "kind"),
    ("name", "name"),
    ("last used", "last_used_at"),
    ("ends", "expires_at"),
];
