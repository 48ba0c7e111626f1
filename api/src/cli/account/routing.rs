//! Commands about connections and routing rules.

use clap::{Args, Subcommand};
use switchyard_core::ids::ConnectionId;

use super::Session;
use crate::account::contract::routing::VersionQuery;
use crate::cli::client::query;
use crate::cli::connections::COLUMNS;
use crate::cli::routing_text::rules;
use crate::operator::contract::connections::Connection;

#[derive(Subcommand)]
pub enum Connections {
    /// List connections
    List,
    /// Show a connection, without its credentials
    Show { connection: ConnectionId },
}

/// Command `routing`.
#[derive(Args)]
pub struct Routing {
    /// Earlier version [default: the active one]
    #[arg(long = "rules-version")]
    version: Option<u64>,
}

impl Connections {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let (client, out) = (&session.client, session.client.output);
        match self {
            Self::List => {
                let path = session.in_scope("connections").await?;
                out.table(&client.get(&path).await?, COLUMNS)?;
            }
            Self::Show { connection } => {
                let path = session
                    .in_scope(&format!("connections/{connection}"))
                    .await?;
                out.fields::<Connection>(&client.get(&path).await?)?;
            }
        }
        Ok(())
    }
}

impl Routing {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let asked = query(&VersionQuery {
            version: self.version,
        });
        let path = session.in_scope(&format!("routing?{asked}")).await?;
        let client = &session.client;
        client.output.text(&client.get(&path).await?, rules)?;
        Ok(())
    }
}
