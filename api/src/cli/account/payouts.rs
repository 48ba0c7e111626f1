//! Commands that order payouts.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Subcommand;
use serde_json::Value;

use super::{Session, read};
use crate::account::contract::payouts::OrderedPayout;

#[derive(Subcommand)]
pub enum Payouts {
    /// Order a payout
    Create {
        /// File with the request of `POST /v1/payouts/initialize`, `-` for standard input
        file: PathBuf,
        /// Key of the order: the same key and request make one payout
        #[arg(long)]
        idempotency_key: String,
    },
}

impl Payouts {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let client = &session.client;
        let Self::Create {
            file,
            idempotency_key,
        } = self;
        let text = read(&file)?;
        let body: Value = serde_json::from_str(text.expose())
            .with_context(|| format!("{} holds no JSON", file.display()))?;
        let path = session.in_scope("payouts").await?;
        let answer = client.post_with_key(&path, &body, &idempotency_key).await?;
        Ok(client.output.fields::<OrderedPayout>(&answer)?)
    }
}
