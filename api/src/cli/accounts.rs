//! `switchyard accounts`.

use clap::Subcommand;
use serde_json::json;

use super::client::Client;
use super::output::Column;

#[derive(Subcommand)]
pub enum Accounts {
    /// List accounts
    List,
    /// Create an account
    Create { name: String },
    /// Rename an account
    Rename { account: String, name: String },
}

impl Accounts {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let out = client.output;
        match self {
            Self::List => out.table(&client.get("/accounts").await?, COLUMNS)?,
            Self::Create { name } => {
                out.fields(&client.post("/accounts", &json!({ "name": name })).await?)?
            }
            Self::Rename { account, name } => {
                out.fields(
                    &client
                        .patch(&format!("/accounts/{account}"), &json!({ "name": name }))
                        .await?,
                )?;
            }
        }
        Ok(())
    }
}

const COLUMNS: &[Column] = &[("id", "id"), ("name", "name"), ("created", "created_at")];
