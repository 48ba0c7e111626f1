//! `switchyard gateways`.

use clap::Subcommand;

use super::client::Client;
use super::output::Column;

#[derive(Subcommand)]
pub enum Gateways {
    /// Show the gateways that are loaded
    List,
}

impl Gateways {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        match self {
            Self::List => client
                .output
                .table(&client.get("/gateways").await?, COLUMNS)?,
        }
        Ok(())
    }
}

const COLUMNS: &[Column] = &[
    ("name", "name"),
    ("version", "version"),
    ("title", "title"),
    ("suspended", "is_suspended"),
    ("sha256", "sha256"),
];
