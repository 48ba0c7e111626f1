//! Commands that order payouts.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Subcommand;
use serde_json::Value;

use super::{Session, read};
use crate::account::contract::batches::{
    BatchConfirmation, BatchFile, BatchHead, BatchLineView, PayoutBatchDetail,
};
use crate::account::contract::payouts::OrderedPayout;
use crate::cli::client::query;
use crate::cli::output::{Column, aligned, cell, listed};
use crate::operator::contract::Nothing;

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
    /// Upload a batch of payouts as a draft, after a dry run that orders nothing
    Upload {
        /// CSV file with one payout a line
        file: PathBuf,
    },
    /// List the newest batches
    Batches,
    /// Show a batch with the progress of its lines
    Batch { batch: String },
    /// Order the payouts of a batch
    Confirm { batch: String },
    /// Delete a batch that was not confirmed
    Discard { batch: String },
}

impl Payouts {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let (client, out) = (&session.client, session.client.output);
        let all = session.in_scope("payout-batches").await?;
        match self {
            Self::Create {
                file,
                idempotency_key,
            } => {
                let text = read(&file)?;
                let body: Value = serde_json::from_str(text.expose())
                    .with_context(|| format!("{} holds no JSON", file.display()))?;
                let path = session.in_scope("payouts").await?;
                let answer = client.post_with_key(&path, &body, &idempotency_key).await?;
                out.fields::<OrderedPayout>(&answer)?;
            }
            Self::Upload { file } => {
                let name = file.file_name().map(|name| name.to_string_lossy());
                let name = name.map(std::borrow::Cow::into_owned);
                let path = format!("{all}?{}", query(&BatchFile { name }));
                let bytes = std::fs::read(&file)
                    .with_context(|| format!("{} cannot be read", file.display()))?;
                let answer = client.upload(reqwest::Method::POST, &path, bytes).await?;
                out.text(&answer, batch)?;
                out.note("Nothing is ordered: `payouts confirm` orders it.");
            }
            Self::Batches => out.table(&client.get(&all).await?, BATCHES)?,
            Self::Batch { batch: id } => {
                out.text(&client.get(&format!("{all}/{id}")).await?, batch)?;
            }
            Self::Confirm { batch } => {
                let path = format!("{all}/{batch}/confirm");
                out.fields::<BatchConfirmation>(&client.post(&path, &Nothing {}).await?)?;
            }
            Self::Discard { batch } => {
                out.done(&client.delete(&format!("{all}/{batch}")).await?)?;
            }
        }
        Ok(())
    }
}

/// Formats a batch: its head, the numbers of its lines, and its lines as a table.
fn batch(batch: &PayoutBatchDetail) -> String {
    let head = listed(&batch.head);
    let counts = listed(&batch.counts);
    format!("{head}\n{counts}\n{}", aligned(&batch.lines, LINES))
}

const BATCHES: &[Column<BatchHead>] = &[
    ("id", |one| cell(&one.id)),
    ("file", |one| cell(&one.name)),
    ("lines", |one| cell(&one.count)),
    ("state", |one| cell(&one.state)),
    ("uploaded", |one| cell(&one.uploaded_at)),
];
const LINES: &[Column<BatchLineView>] = &[
    ("line", |one| cell(&one.line)),
    ("state", |one| cell(&one.state)),
    ("amount", |one| cell(&one.amount)),
    ("currency", |one| cell(&one.currency)),
    ("payout", |one| cell(&one.payout)),
    ("reason", |one| cell(&one.refused_message)),
];
