//! `switchyard callbacks`.

use clap::Subcommand;
use serde_json::json;

use super::client::{Client, query};
use super::output::Column;

#[derive(Subcommand)]
pub enum Callbacks {
    /// List callbacks of a connection's provider, newest first
    List {
        connection: String,
        #[arg(long, value_parser = ["waiting", "matched", "unmatched", "refused", "ignored"])]
        state: Option<String>,
        /// Page size
        #[arg(long, default_value_t = 20)]
        limit: usize,
        /// Only callbacks older than this id
        #[arg(long)]
        before: Option<String>,
    },
    /// Show a callback with its redacted request
    Show {
        connection: String,
        callback: String,
    },
    /// Process a callback again
    Retry {
        connection: String,
        callback: String,
    },
}

impl Callbacks {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let out = client.output;
        match self {
            Self::List {
                connection,
                state,
                limit,
                before,
            } => {
                let limit = Some(limit.to_string());
                let asked = query(&[("limit", &limit), ("state", &state), ("before", &before)]);
                let path = format!("/connections/{connection}/callbacks?{asked}");
                out.page(
                    &client.get(&path).await?,
                    ("callbacks", "--before"),
                    COLUMNS,
                )?;
            }
            Self::Show {
                connection,
                callback,
            } => {
                let path = format!("/connections/{connection}/callbacks/{callback}");
                out.fields(&client.get(&path).await?)?;
            }
            Self::Retry {
                connection,
                callback,
            } => {
                let path = format!("/connections/{connection}/callbacks/{callback}/retry");
                out.fields(&client.post(&path, &json!({})).await?)?;
            }
        }
        Ok(())
    }
}

const COLUMNS: &[Column] = &[
    ("id", "id"),
    ("received", "received_at"),
    ("state", "state"),
    ("trusted", "trusted"),
    ("transaction", "transaction"),
    ("note", "note"),
];
