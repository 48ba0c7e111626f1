//! `switchyard cases`.

use clap::{Args, Subcommand};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, CaseId};
use switchyard_core::transaction::CaseReason;

use super::client::{Client, query};
use super::output::{Column, cell, listed};
use super::transactions::timeline_view;
use crate::operator::contract::cases::{
    CaseDetail, CaseFilter, CaseView, Cases as Page, CloseCase,
};

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
    app: Option<AppId>,
    #[arg(long)]
    environment: Option<Environment>,
    #[arg(long, value_parser = CaseReason::ALL.map(CaseReason::as_str))]
    reason: Option<String>,
    /// Only cases opened until this day (2026-11-20) or time (2026-11-20T10:00:00Z)
    #[arg(long)]
    opened_before: Option<String>,
    /// Only cases older than this id
    #[arg(long)]
    before: Option<CaseId>,
    #[arg(long, default_value_t = 20)]
    limit: usize,
}

impl Cases {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let out = client.output;
        match self {
            Self::List(list) => {
                let path = format!("/cases?{}", query(&list.filter()));
                let answer = client.get::<Page>(&path).await?;
                let page = &answer.data;
                let more = page.more.as_ref().map(|more| more as _);
                out.page(&answer, (&page.cases, "--before", more), COLUMNS)?;
                if page.incomplete {
                    out.note("cases are missing from this list, because they cannot be read");
                }
                if let Some(damage) = &page.store_damage {
                    out.note(&format!(
                        "the store is damaged: {damage}. Run `switchyard store check`, and restore a backup"
                    ));
                }
            }
            Self::Show { case } => {
                let answer = client.get(&format!("/cases/{case}")).await?;
                out.text(&answer, |found: &CaseDetail| {
                    format!(
                        "{}\n{}",
                        listed(&found.case),
                        timeline_view(&found.transaction)
                    )
                })?;
            }
            Self::Close { case, note } => {
                let path = format!("/cases/{case}/close");
                let closed = client.post::<CaseView>(&path, &CloseCase { note }).await?;
                out.done(&closed)?;
            }
        }
        Ok(())
    }
}

impl List {
    fn filter(self) -> CaseFilter {
        let named = |reason: &CaseReason| Some(reason.as_str()) == self.reason.as_deref();
        CaseFilter {
            state: Some(self.state),
            app: self.app,
            environment: self.environment,
            reason: CaseReason::ALL.into_iter().find(named),
            opened_before: self.opened_before,
            before: self.before,
            limit: Some(self.limit),
        }
    }
}

const COLUMNS: &[Column<CaseView>] = &[
    ("id", |one| cell(&one.case.case.id)),
    ("opened", |one| cell(&one.case.case.opened_at)),
    ("reason", |one| cell(&one.case.case.reason)),
    ("transaction", |one| cell(&one.transaction.facts.id)),
    ("status", |one| cell(&one.transaction.facts.status)),
    ("amount", |one| {
        cell(&one.transaction.facts.amount_formatted)
    }),
    ("gateway", |one| cell(&one.case.gateway)),
    ("detail", |one| cell(&one.case.case.detail)),
];
