//! Commands about proposals.

use clap::Subcommand;

use super::Session;
use crate::account::contract::approvals::{
    Approval, ApprovalFilter, Approvals as Page, Approved, Rejection,
};
use crate::cli::client::query;
use crate::cli::output::{Column, cell};
use crate::operator::contract::Nothing;

#[derive(Subcommand)]
pub enum Approvals {
    /// List open proposals
    List {
        /// List decided ones
        #[arg(long)]
        decided: bool,
        /// Continue where the last page of decided ones ended
        #[arg(long, requires = "decided")]
        before: Option<switchyard_core::ids::ApprovalId>,
    },
    /// Show a proposal
    Show { approval: String },
    /// Approve a proposal of another person
    Approve { approval: String },
    /// Reject a proposal of another person
    Reject {
        approval: String,
        #[arg(long)]
        reason: String,
    },
    /// Withdraw your own proposal
    Withdraw { approval: String },
}

impl Approvals {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let (client, out) = (&session.client, session.client.output);
        match self {
            Self::List { decided, before } => {
                let filter = ApprovalFilter {
                    state: decided.then(|| "decided".to_owned()),
                    before,
                };
                let path = format!("approvals?{}", query(&filter));
                let answer = client.get::<Page>(&session.in_scope(&path).await?).await?;
                let page = &answer.data;
                let more = page
                    .more
                    .as_ref()
                    .map(|more| more as &dyn std::fmt::Display);
                out.page(&answer, (&page.approvals, "--before", more), COLUMNS)?;
            }
            Self::Show { approval } => {
                let path = session.in_scope(&format!("approvals/{approval}")).await?;
                out.fields::<Approval>(&client.get(&path).await?)?;
            }
            Self::Approve { approval } => {
                let path = format!("approvals/{approval}/approve");
                let path = session.in_scope(&path).await?;
                out.fields::<Approved>(&client.post(&path, &Nothing {}).await?)?;
            }
            Self::Reject { approval, reason } => {
                let path = format!("approvals/{approval}/reject");
                let path = session.in_scope(&path).await?;
                out.done::<Nothing>(&client.post(&path, &Rejection { reason }).await?)?;
            }
            Self::Withdraw { approval } => {
                let path = format!("approvals/{approval}/withdraw");
                let path = session.in_scope(&path).await?;
                out.done::<Nothing>(&client.post(&path, &Nothing {}).await?)?;
            }
        }
        Ok(())
    }
}

const COLUMNS: &[Column<Approval>] = &[
    ("id", |one| cell(&one.id)),
    ("state", |one| cell(&one.state)),
    ("proposed by", |one| cell(&one.proposed_by_name)),
    ("proposed", |one| cell(&one.proposed_at)),
    ("reason", |one| cell(&one.reason)),
];
