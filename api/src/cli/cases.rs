//! `switchyard cases`.

use clap::{Args, Subcommand};
use serde_json::json;
use switchyard_engine::environment::Environment;
use switchyard_engine::transaction::CaseReason;

use super::client::{Client, query};
use super::output::{Column, print};
use super::transactions::story;

#[derive(Subcommand)]
pub enum Cases {
    /// List cases for manual review, newest first
    List(List),
    /// Show a case with its transaction and timeline
    Show { case: String },
    /// Close a case
    Close {
        case: String,
        /// Reason, for the timeline
        #[arg(long)]
        note: String,
    },
}

#[derive(Args)]
pub struct List {
    #[arg(long, default_value = "open", value_parser = ["open", "closed"])]
    state: String,
    /// Only cases of this app
    #[arg(long)]
    app: Option<String>,
    #[arg(long)]
    environment: Option<Environment>,
    #[arg(long, value_parser = CaseReason::ALL.map(CaseReason::as_str))]
    reason: Option<String>,
    /// Only cases opened until this day (2026-11-20) or time (2026-11-20T10:00:00Z)
    #[arg(long)]
    opened_before: Option<String>,
    /// Only cases older than this id
    #[arg(long)]
    before: Option<String>,
    #[arg(long, default_value_t = 20)]
    limit: u32,
}

impl Cases {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let out = client.output;
        match self {
            Self::List(list) => {
                let answer = client.get(&format!("/cases?{}", list.query())).await?;
                out.page(&answer, ("cases", "--before"), COLUMNS)?;
                if let Some(damage) = answer["data"]["store_damage"].as_str() {
                    out.note(&format!(
                        "the store is damaged: {damage}. Run `switchyard store check`, and restore a backup"
                    ));
                }
            }
            Self::Show { case } => {
                let mut answer = client.get(&format!("/cases/{case}")).await?;
                if out.json {
                    out.fields(&answer)?;
                    return Ok(());
                }
                let transaction = answer["data"].as_object_mut();
                let transaction = transaction.and_then(|case| case.remove("transaction"));
                let transaction = transaction.unwrap_or_default();
                out.fields(&answer)?;
                print(&format!("\n{}", story(&transaction)))?;
            }
            Self::Close { case, note } => {
                let body = json!({ "note": note });
                out.done(&client.post(&format!("/cases/{case}/close"), &body).await?)?;
            }
        }
        Ok(())
    }
}

impl List {
    fn query(&self) -> String {
        let environment = self.environment.map(|environment| environment.to_string());
        query(&[
            ("state", &Some(self.state.clone())),
            ("limit", &Some(self.limit.to_string())),
            ("app", &self.app),
            ("environment", &environment),
            ("reason", &self.reason),
            ("opened_before", &self.opened_before),
            ("before", &self.before),
        ])
    }
}

const COLUMNS: &[Column] = &[
    ("id", "id"),
    ("opened", "opened_at"),
    ("reason", "reason"),
    ("transaction", "transaction.id"),
    ("status", "transaction.status"),
    ("amount", "transaction.amount_formatted"),
    ("gateway", "gateway"),
    ("detail", "detail"),
];
