//! Commands about API keys.

use std::time::Duration;

use clap::Subcommand;
use switchyard_engine::access::KeyKind;

use super::Session;
use crate::account::contract::settings::NewKey;
use crate::cli::keys::{COLUMNS, ONCE};
use crate::config::DurationSetting;
use crate::operator::contract::keys::{Key, KeyRoll};

#[derive(Subcommand)]
pub enum Keys {
    /// List keys, without their secret parts
    List,
    /// Create a key and show it, this once
    Create {
        /// secret (for your server) or public (initializes payments only)
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
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let (client, out) = (&session.client, session.client.output);
        match self {
            Self::List => {
                let path = session.in_scope("keys").await?;
                out.table(&client.get(&path).await?, COLUMNS)?;
            }
            Self::Create { kind, name } => {
                let kind = match kind.as_str() {
                    "public" => KeyKind::Public,
                    _ => KeyKind::Secret,
                };
                let path = session.in_scope("keys").await?;
                out.fields::<Key>(&client.post(&path, &NewKey { kind, name }).await?)?;
                out.note(ONCE);
            }
            Self::Roll { key, grace, now } => {
                let grace = match now {
                    true => Some(DurationSetting(Duration::ZERO)),
                    false => grace,
                };
                let path = session.in_scope(&format!("keys/{key}/roll")).await?;
                out.fields::<Key>(&client.post(&path, &KeyRoll { grace }).await?)?;
                out.note(ONCE);
            }
            Self::Delete { key } => {
                let path = session.in_scope(&format!("keys/{key}")).await?;
                out.done(&client.delete(&path).await?)?;
            }
        }
        Ok(())
    }
}
