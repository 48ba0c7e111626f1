//! `switchyard tokens`.

use clap::Subcommand;

use super::client::Client;
use super::output::{Column, cell};
use crate::operator::contract::tokens::{NewToken, Revocation, Token};

#[derive(Subcommand)]
pub enum Tokens {
    /// List the operator tokens in the store, without those of the settings file
    List,
    /// Create a token and show it, this once
    Create { name: String },
    /// Delete a token
    Delete { id: String },
    /// Delete all tokens that a token created, and those that were created with them
    Revoke {
        /// Name of the token that created them; it may be deleted
        #[arg(long, value_name = "NAME")]
        made_by: String,
    },
}

impl Tokens {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let out = client.output;
        match self {
            Self::List => out.table(&client.get("/tokens").await?, COLUMNS)?,
            Self::Create { name } => {
                let made = client.post("/tokens", &NewToken { name }).await?;
                out.fields::<Token>(&made)?;
                out.note("The token is shown this once.");
            }
            Self::Revoke { made_by } => {
                let revocation = Revocation { made_by };
                out.table(&client.post("/tokens/revoke", &revocation).await?, COLUMNS)?;
                out.note("These tokens are deleted.");
            }
            Self::Delete { id } => out.done(&client.delete(&format!("/tokens/{id}")).await?)?,
        }
        Ok(())
    }
}

const COLUMNS: &[Column<Token>] = &[
    ("id", |one| cell(&one.id)),
    ("name", |one| cell(&one.name)),
    ("token", |one| cell(&one.shown_as)),
    ("made by", |one| cell(&one.made_by)),
    ("maker exists", |one| cell(&one.maker_exists)),
    ("created", |one| cell(&one.created_at)),
];
