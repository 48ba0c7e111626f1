//! `switchyard tokens`.

use clap::Subcommand;
use serde_json::json;

use super::client::Client;
use super::output::Column;

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
                out.fields(&client.post("/tokens", &json!({ "name": name })).await?)?;
                out.note("The token is shown this once.");
            }
            Self::Revoke { made_by } => {
                let body = json!({ "made_by": made_by });
                out.table(&client.post("/tokens/revoke", &body).await?, COLUMNS)?;
                out.note("These tokens are deleted.");
            }
            Self::Delete { id } => out.done(&client.delete(&format!("/tokens/{id}")).await?)?,
        }
        Ok(())
    }
}

const COLUMNS: &[Column] = &[
    ("id", "id"),
    ("name", "name"),
    ("token", "shown_as"),
    ("made by", "made_by"),
    ("maker exists", "maker_exists"),
    ("created", "created_at"),
];
