//! `switchyard accounts`.

use clap::Subcommand;

use super::client::Client;
use super::output::{Column, cell};
use crate::operator::contract::accounts::{Account, AccountName};

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
                let made = client.post("/accounts", &AccountName { name }).await?;
                out.fields::<Account>(&made)?;
            }
            Self::Rename { account, name } => {
                let path = format!("/accounts/{account}");
                let changed = client.patch(&path, &AccountName { name }).await?;
                out.fields::<Account>(&changed)?;
            }
        }
        Ok(())
    }
}

const COLUMNS: &[Column<Account>] = &[
    ("id", |one| cell(&one.id)),
    ("name", |one| cell(&one.name)),
    ("created", |one| cell(&one.created_at)),
];
