//! `switchyard keys`.

use std::time::Duration;

use clap::Subcommand;
use switchyard_core::environment::Environment;
use switchyard_engine::access::KeyKind;

use super::client::Client;
use super::output::{Column, cell};
use crate::config::DurationSetting;
use crate::operator::contract::keys::{Key, KeyRoll, NewKey};

#[derive(Subcommand)]
pub enum Keys {
    /// List an app's keys, without their secret parts
    List {
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
    },
    /// Create a key and show it, this once
    Create {
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
        /// sandbox or live
        #[arg(long)]
        environment: Environment,
        /// secret (for the merchant's server) or public (initializes payments only)
        #[arg(long, value_parser = ["secret", "public"])]
        kind: String,
        /// Name of the key
        #[arg(long)]
        name: Option<String>,
    },
    /// Replace a key by a new one of the same kind
    Roll {
        /// The key's id, as `keys list` shows it
        key: String,
        /// Time until the old key expires, at most 30d [default: 24h]
        #[arg(long)]
        grace: Option<DurationSetting>,
        /// Revoke the old key at once
        #[arg(long, conflicts_with = "grace")]
        now: bool,
    },
    /// Revoke a key
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
                let new = NewKey {
                    environment,
                    kind: match kind.as_str() {
                        "public" => KeyKind::Public,
                        _ => KeyKind::Secret,
                    },
                    name,
                };
                out.fields::<Key>(&client.post(&format!("/apps/{app}/keys"), &new).await?)?;
                out.note(ONCE);
            }
            Self::Roll { key, grace, now } => {
                let grace = if now {
                    Some(DurationSetting(Duration::ZERO))
                } else {
                    grace
                };
                let path = format!("/keys/{key}/roll");
                out.fields::<Key>(&client.post(&path, &KeyRoll { grace }).await?)?;
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

pub const ONCE: &str = "The key is shown this once: put it where it is needed now.";
pub const COLUMNS: &[Column<Key>] = &[
    ("id", |one| cell(&one.id)),
    ("key", |one| cell(&one.shown_as)),
    ("environment", |one| cell(&one.environment)),
    ("kind", |one| cell(&one.kind)),
    ("name", |one| cell(&one.name)),
    ("last used", |one| cell(&one.last_used_at)),
    ("ends", |one| cell(&one.expires_at)),
];
