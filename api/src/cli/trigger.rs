//! `switchyard trigger`.

use anyhow::ensure;
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::json;

use super::client::Client;
use crate::operator::TRIGGERS;

#[derive(Args)]
pub struct Trigger {
    /// Event to produce, such as payment.success
    #[arg(value_parser = PossibleValuesParser::new(TRIGGERS.map(|event| event.as_str())))]
    event: String,
    /// The app's id [default: of the development server]
    #[arg(long)]
    app: Option<String>,
}

impl Trigger {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let app = client.app(self.app.as_deref())?;
        let body = json!({ "event": self.event });
        let answer = client.post(&format!("/apps/{app}/trigger"), &body).await?;
        client.output.fields(&answer)?;
        let message = answer["message"].as_str().unwrap_or_default();
        ensure!(answer["data"]["reached"] != false, "{message}");
        Ok(())
    }
}
