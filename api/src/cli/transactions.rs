//! `switchyard transactions`.

use std::fmt::Display;
use std::io::IsTerminal as _;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AttemptId, TransactionId};
use switchyard_progress::{Progress, Unit};

use super::client::{Answer, Client, query};
use super::output::{Column, Output, aligned, cell, listed, print_bytes};
use super::timeline::{ROW, rows};
use crate::operator::contract::search::{FoundTransactions, SearchFilter};
use crate::operator::contract::transactions::{
    Cancel, ExportFilter, Facts, QueryReport, Resolve as Resolution, ResolveOutcome, Transaction,
    TransactionFilter, TransactionPage, TransactionSelection, TransactionSummary,
};
use crate::operator::contract::{Nothing, NumberOrText};

#[derive(Subcommand)]
pub enum Transactions {
    /// List an app's payments or payouts, newest first
    List(List),
    /// Search an app's payments and payouts, newest first
    Search(Search),
    /// Write an app's payments or payouts as CSV to standard output, newest first
    Export(Export),
    /// Show a transaction with its timeline
    Show { transaction: String },
    /// Query the provider about the open attempt
    Check { transaction: String },
    /// Resolve an attempt manually, by the provider's records
    Resolve(Resolve),
    /// Cancel a payment, or a payout before it is sent; the provider decides about an open attempt
    Cancel {
        transaction: String,
        #[arg(long)]
        note: Option<String>,
    },
}

#[derive(Args)]
pub struct Resolve {
    transaction: String,
    #[arg(long, value_parser = ["succeeded", "failed", "never_sent"])]
    outcome: String,
    /// Evidence for the outcome, for the timeline
    #[arg(long)]
    note: String,
    /// Attempt to resolve; refused if another one is open
    #[arg(long)]
    attempt: Option<AttemptId>,
    /// Received amount, if the provider has reported another one: 25.00
    #[arg(long)]
    amount: Option<String>,
    /// Provider's id of the attempt, if the provider reported none
    #[arg(long)]
    provider_id: Option<String>,
    /// The id is of another charge than the reported one: both moved money
    #[arg(long, requires = "provider_id")]
    another_charge: bool,
    /// More than the requested amount came in: a case asks to return the surplus
    #[arg(long, requires = "amount")]
    surplus: bool,
    /// Reason of the failure, for the merchant
    #[arg(long)]
    message: Option<String>,
}

/// Arguments that select transactions of an app.
#[derive(Args)]
pub struct Selection {
    /// The app's id [default: of the development server]
    #[arg(long)]
    app: Option<String>,
    /// sandbox or live [default: live for an app with live transactions, otherwise sandbox]
    #[arg(long)]
    environment: Option<Environment>,
    /// payment or payout
    #[arg(long, default_value = "payment", value_parser = ["payment", "payout"])]
    kind: String,
    #[arg(long, value_parser = ["initiated", "pending", "success", "failed", "cancelled"])]
    status: Option<String>,
    /// Created since this day (2026-11-20) or time (2026-11-20T10:00:00Z)
    #[arg(long)]
    from_date: Option<String>,
    /// Created until this day or time
    #[arg(long)]
    to_date: Option<String>,
}

#[derive(Args)]
pub struct List {
    #[command(flatten)]
    selection: Selection,
    #[arg(long, default_value_t = 20)]
    limit: usize,
    #[arg(long, default_value_t = 1)]
    page: usize,
}

#[derive(Args)]
pub struct Search {
    /// Id, reference, provider's id, e-mail, phone, amount (25.00, "USD 25"), metadata (value or
    /// key:value) or words of a name
    text: String,
    /// The app's id [default: of the development server]
    #[arg(long)]
    app: Option<String>,
    /// sandbox or live [default: live for an app with live transactions, otherwise sandbox]
    #[arg(long)]
    environment: Option<Environment>,
    /// payment or payout [default: both]
    #[arg(long, value_parser = ["payment", "payout"])]
    kind: Option<String>,
    /// Continue where the last page ended
    #[arg(long)]
    before: Option<TransactionId>,
    /// Page size
    #[arg(long, default_value_t = 20)]
    limit: usize,
}

#[derive(Args)]
pub struct Export {
    #[command(flatten)]
    selection: Selection,
    /// Only the matches of a search
    #[arg(long, conflicts_with_all = ["status", "from_date", "to_date"])]
    text: Option<String>,
    /// Names of columns, with commas between [default: all]
    #[arg(long)]
    columns: Option<String>,
}

impl Transactions {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let out = client.output;
        match self {
            Self::List(list) => {
                let app = client.app(list.selection.app.as_deref())?;
                let path = format!("/apps/{app}/transactions?{}", query(&list.filter()));
                let answer = client.get_page(&path).await?;
                out.table(&answer, COLUMNS)?;
                if let Some(TransactionPage { page, environment }) = answer.meta {
                    out.note(&format!(
                        "{environment}, page {} of {}, {} in all",
                        page.current_page, page.last_page, page.total
                    ));
                }
            }
            Self::Search(search) => {
                let app = client.app(search.app.as_deref())?;
                let path = format!("/apps/{app}/search?{}", query(&search.filter()));
                let answer = client.get::<FoundTransactions>(&path).await?;
                let found = &answer.data;
                let more = found.more.as_ref().map(|more| more as &dyn Display);
                out.page(&answer, (&found.transactions, "--before", more), COLUMNS)?;
                out.note(found.environment.as_str());
            }
            Self::Export(export) => {
                let app = client.app(export.selection.app.as_deref())?;
                let filter = query(&export.filter());
                let path = format!("/apps/{app}/transactions.csv?{filter}");
                let rows = export.rows(client, app).await;
                write_all(client.stream(&path).await?, rows).await?;
            }
            Self::Show { transaction } => {
                let answer = client.get(&format!("/transactions/{transaction}")).await?;
                out.text(&answer, timeline_view)?;
            }
            Self::Check { transaction } => {
                let path = format!("/transactions/{transaction}/check");
                let answer = client.post::<QueryReport>(&path, &Nothing {}).await?;
                state(out, &answer, &answer.data.transaction.known.facts)?;
            }
            Self::Resolve(resolve) => {
                let path = format!("/transactions/{}/resolve", resolve.transaction);
                let answer = client.post::<Transaction>(&path, &resolve.body()).await?;
                state(out, &answer, &answer.data.known.facts)?;
            }
            Self::Cancel { transaction, note } => {
                let path = format!("/transactions/{transaction}/cancel");
                let answer = client.post::<Transaction>(&path, &Cancel { note }).await?;
                state(out, &answer, &answer.data.known.facts)?;
            }
        }
        Ok(())
    }
}

/// Writes the body of a response to standard output as it comes. `rows`: their number, if it is
/// known. A terminal that shows the rows shows no progress.
pub async fn write_all(mut file: reqwest::Response, rows: Option<u64>) -> anyhow::Result<()> {
    let incomplete = "the server ended the file too early: it is incomplete";
    let is_shown = !std::io::stdout().is_terminal();
    let progress = is_shown.then(|| Progress::begin("export", rows, Unit::Things("rows")));
    let mut lines: u64 = 0;
    while let Some(part) = file.chunk().await.context(incomplete)? {
        if !print_bytes(&part)? {
            break;
        }
        lines += part.iter().filter(|byte| **byte == b'\n').count() as u64;
        if let Some(progress) = &progress {
            // The first line has the names of the columns.
            progress.at(lines.saturating_sub(1));
        }
    }
    Ok(())
}

/// Prints the message of a change, and the state of the transaction after it.
pub fn state<T>(out: Output, answer: &Answer<T>, facts: &Facts) -> std::io::Result<()> {
    out.text(answer, |_| {
        let (id, status, state) = (facts.id, cell(&facts.status), &facts.state);
        format!("{}\n{id}: {status} ({state})\n", answer.message)
    })
}

impl Resolve {
    fn body(self) -> Resolution {
        Resolution {
            outcome: match self.outcome.as_str() {
                "succeeded" => ResolveOutcome::Succeeded,
                "failed" => ResolveOutcome::Failed,
                _ => ResolveOutcome::NeverSent,
            },
            note: self.note,
            attempt: self.attempt,
            amount: self.amount.map(NumberOrText::Text),
            provider_id: self.provider_id,
            another_charge: self.another_charge,
            surplus: self.surplus,
            message: self.message,
        }
    }
}

impl Selection {
    fn filter(&self) -> TransactionSelection {
        TransactionSelection {
            environment: self.environment,
            kind: Some(self.kind.clone()),
            status: self.status.clone(),
            from_date: self.from_date.clone(),
            to_date: self.to_date.clone(),
        }
    }
}

impl Export {
    /// Number of transactions in the file, for the progress only. `None` for the matches of a
    /// search, which the server counts while it writes them.
    async fn rows(&self, client: &Client, app: &str) -> Option<u64> {
        if self.text.is_some() {
            return None;
        }
        let filter = TransactionFilter {
            selection: self.selection.filter(),
            limit: Some(1),
            page: None,
        };
        let path = format!("/apps/{app}/transactions?{}", query(&filter));
        let list = client.get_page::<Vec<TransactionSummary>, TransactionPage>(&path);
        Some(list.await.ok()?.meta?.page.total as u64)
    }

    fn filter(&self) -> ExportFilter {
        ExportFilter {
            selection: self.selection.filter(),
            text: self.text.clone(),
            columns: self.columns.clone(),
        }
    }
}

impl Search {
    fn filter(&self) -> SearchFilter {
        SearchFilter {
            text: self.text.clone(),
            environment: self.environment,
            kind: self.kind.clone(),
            before: self.before,
            limit: Some(self.limit),
        }
    }
}

impl List {
    fn filter(&self) -> TransactionFilter {
        TransactionFilter {
            selection: self.selection.filter(),
            limit: Some(self.limit),
            page: Some(self.page),
        }
    }
}

/// Formats all fields, then the timeline as a table: time, event and details.
pub fn timeline_view(transaction: &Transaction) -> String {
    format!(
        "{}\n{}",
        listed(&transaction.known),
        aligned(&rows(&transaction.timeline), ROW)
    )
}

pub const COLUMNS: &[Column<TransactionSummary>] = &[
    ("id", |one| cell(&one.facts.id)),
    ("status", |one| cell(&one.facts.status)),
    ("amount", |one| cell(&one.facts.amount_formatted)),
    ("method", |one| cell(&one.facts.method)),
    ("gateway", |one| cell(&one.facts.gateway)),
    ("customer", |one| cell(&one.customer)),
    ("created", |one| cell(&one.facts.created_at)),
];
