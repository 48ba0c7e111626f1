//! Commands about the settings of an app.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Subcommand;

use super::{Session, read};
use crate::account::contract::settings::OwnAppChange;
use crate::operator::contract::apps::App;

#[derive(Subcommand)]
pub enum Settings {
    /// Show the app with its settings
    Show,
    /// Change settings
    Update {
        /// File with the changed fields as JSON, `-` for standard input
        file: PathBuf,
    },
}

impl Settings {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let (client, out) = (&session.client, session.client.output);
        let path = session.in_app("").await?;
        match self {
            Self::Show => out.fields::<App>(&client.get(&path).await?)?,
            Self::Update { file } => {
                let text = read(&file)?;
                let change: OwnAppChange = serde_json::from_str(text.expose())
                    .with_context(|| format!("{} is no change of an app", file.display()))?;
                out.fields::<App>(&client.patch(&path, &change).await?)?;
            }
        }
        Ok(())
    }
}
