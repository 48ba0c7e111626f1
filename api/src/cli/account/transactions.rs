//! Commands about payments and payouts.

use std::fmt::Display;

use clap::{Args, Subcommand};
use switchyard_core::ids::TransactionId;

use super::Session;
use crate::account::contract::transactions::{
    ExportFilter, SearchFilter, StatisticsFilter, TransactionFilter,
};
use crate::cli::client::query;
use crate::cli::statistics::show;
use crate::cli::transactions::{COLUMNS, state, timeline_view, write_all};
use crate::operator::contract::Nothing;
use crate::operator::contract::search::FoundTransactions;
use crate::operator::contract::transactions::{
    Cancel, QueryReport, Transaction, TransactionPage, TransactionSummary,
};

#[derive(Subcommand)]
pub enum Transactions {
    /// List payments or payouts, newest first
    List(List),
    /// Find payments and payouts by what is known of them
    Search(Search),
    /// Write payments or payouts as CSV to standard output, newest first
    Export(Export),
    /// Show a transaction with its timeline
    Show { transaction: String },
    /// Query the provider about the open attempt now
    Check { transaction: String },
    /// Cancel a transaction
    Cancel {
        transaction: String,
        /// Reason, for the timeline
        #[arg(long)]
        note: Option<String>,
    },
}

#[derive(Args)]
pub struct List {
    /// payment or payout
    #[arg(long, default_value = "payment", value_parser = ["payment", "payout"])]
    kind: String,
    /// initiated, pending, success, failed or cancelled
    #[arg(long)]
    status: Option<String>,
    /// Created since this day (2026-11-20) or time
    #[arg(long)]
    from_date: Option<String>,
    /// Created until this day or time
    #[arg(long)]
    to_date: Option<String>,
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
    /// payment or payout
    #[arg(long, default_value = "payment", value_parser = ["payment", "payout"])]
    kind: String,
    /// initiated, pending, success, failed or cancelled
    #[arg(long)]
    status: Option<String>,
    /// Created since this day (2026-11-20) or time
    #[arg(long)]
    from_date: Option<String>,
    /// Created until this day or time
    #[arg(long)]
    to_date: Option<String>,
    /// Only the matches of a search
    #[arg(long, conflicts_with_all = ["status", "from_date", "to_date"])]
    text: Option<String>,
    /// Names of columns, with commas between [default: all that you may see]
    #[arg(long)]
    columns: Option<String>,
}

#[derive(Args)]
pub struct Statistics {
    /// payment or payout
    #[arg(long, default_value = "payment", value_parser = ["payment", "payout"])]
    kind: String,
    /// Created since this day (2026-11-20) or time [default: 29 days before the end]
    #[arg(long)]
    from: Option<String>,
    /// Created until this day or time [default: now]
    #[arg(long)]
    to: Option<String>,
    /// hour (at most 31 days) or day (at most 400)
    #[arg(long, default_value = "day", value_parser = ["hour", "day"])]
    interval: String,
}

impl Transactions {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let (client, out) = (&session.client, session.client.output);
        match self {
            Self::List(list) => {
                let filter = query(&list.filter());
                let path = session.in_scope(&format!("transactions?{filter}")).await?;
                let answer = client
                    .get_page::<Vec<TransactionSummary>, TransactionPage>(&path)
                    .await?;
                out.table(&answer, COLUMNS)?;
                if let Some(TransactionPage { page, environment }) = answer.meta {
                    out.note(&format!(
                        "{environment}, page {} of {}, {} in all",
                        page.current_page, page.last_page, page.total
                    ));
                }
            }
            Self::Search(search) => {
                let filter = query(&search.filter());
                let path = session.in_scope(&format!("search?{filter}")).await?;
                let answer = client.get::<FoundTransactions>(&path).await?;
                let found = &answer.data;
                let more = found.more.as_ref().map(|more| more as &dyn Display);
                out.page(&answer, (&found.transactions, "--before", more), COLUMNS)?;
            }
            Self::Export(export) => {
                let filter = query(&export.filter());
                let path = format!("transactions.csv?{filter}");
                let file = client.stream(&session.in_scope(&path).await?).await?;
                write_all(file, None).await?;
            }
            Self::Show { transaction } => {
                let path = format!("transactions/{transaction}");
                let path = session.in_scope(&path).await?;
                out.text(&client.get(&path).await?, timeline_view)?;
            }
            Self::Check { transaction } => {
                let path = format!("transactions/{transaction}/check");
                let path = session.in_scope(&path).await?;
                let answer = client.post::<QueryReport>(&path, &Nothing {}).await?;
                state(out, &answer, &answer.data.transaction.known.facts)?;
            }
            Self::Cancel { transaction, note } => {
                let path = format!("transactions/{transaction}/cancel");
                let path = session.in_scope(&path).await?;
                let answer = client.post::<Transaction>(&path, &Cancel { note }).await?;
                state(out, &answer, &answer.data.known.facts)?;
            }
        }
        Ok(())
    }
}

impl Statistics {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let filter = StatisticsFilter {
            kind: Some(self.kind),
            from: self.from,
            to: self.to,
            interval: Some(self.interval),
        };
        let path = format!("statistics?{}", query(&filter));
        let path = session.in_scope(&path).await?;
        show(&session.client, &path).await
    }
}

impl List {
    fn filter(&self) -> TransactionFilter {
        TransactionFilter {
            kind: Some(self.kind.clone()),
            status: self.status.clone(),
            from_date: self.from_date.clone(),
            to_date: self.to_date.clone(),
            limit: Some(self.limit),
            page: Some(self.page),
        }
    }
}

impl Export {
    fn filter(self) -> ExportFilter {
        ExportFilter {
            kind: Some(self.kind),
            status: self.status,
            from_date: self.from_date,
            to_date: self.to_date,
            text: self.text,
            columns: self.columns,
        }
    }
}

impl Search {
    fn filter(&self) -> SearchFilter {
        SearchFilter {
            text: self.text.clone(),
            kind: self.kind.clone(),
            before: self.before,
            limit: Some(self.limit),
        }
    }
}
