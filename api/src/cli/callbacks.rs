//! `switchyard callbacks`.

use clap::Subcommand;

use super::client::{Client, query};
use super::output::{Column, cell};
use crate::operator::contract::Nothing;
use crate::operator::contract::callbacks::{Callback, CallbackFilter, Callbacks as Page};

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
                let filter = CallbackFilter {
                    state,
                    before,
                    limit: Some(limit),
                };
                let path = format!("/connections/{connection}/callbacks?{}", query(&filter));
                let answer = client.get::<Page>(&path).await?;
                let page = &answer.data;
                let more = page.more.as_ref().map(|more| more as _);
                out.page(&answer, (&page.callbacks, "--before", more), COLUMNS)?;
            }
            Self::Show {
                connection,
                callback,
            } => {
                let path = format!("/connections/{connection}/callbacks/{callback}");
                out.fields::<Callback>(&client.get(&path).await?)?;
            }
            Self::Retry {
                connection,
                callback,
            } => {
                let path = format!("/connections/{connection}/callbacks/{callback}/retry");
                out.fields::<Callback>(&client.post(&path, &Nothing {}).await?)?;
            }
        }
        Ok(())
    }
}

const COLUMNS: &[Column<Callback>] = &[
    ("id", |one| cell(&one.id)),
    ("received", |one| cell(&one.received_at)),
    ("state", |one| cell(&one.state)),
    ("trusted", |one| cell(&one.trusted)),
    ("transaction", |one| cell(&one.transaction)),
    ("note", |one| cell(&one.note)),
];
