//! `switchyard trigger`.

use anyhow::ensure;
use clap::Args;
use clap::builder::PossibleValuesParser;

use super::client::Client;
use crate::operator::TRIGGERS;
use crate::operator::contract::transactions::{Trigger as Event, Triggered};

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
        let event = Event { event: self.event };
        let path = format!("/apps/{app}/trigger");
        let answer = client.post::<Triggered>(&path, &event).await?;
        client.output.fields(&answer)?;
        ensure!(answer.data.reached != Some(false), "{}", answer.message);
        Ok(())
    }
}
