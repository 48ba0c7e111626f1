//! Commands about webhooks and their deliveries.

use clap::Subcommand;
use switchyard_core::ids::TransactionId;

use super::Session;
use crate::cli::client::query;
use crate::cli::output::{Column, cell};
use crate::cli::webhooks::COLUMNS;
use crate::operator::contract::Nothing;
use crate::operator::contract::transactions::{Trigger, Triggered};
use crate::operator::contract::webhooks::{
    Delivery, DeliveryFilter, MissingReplayed, NewWebhook, ReplayFailed, ReplayMissing, Replayed,
    RetryProfile, Webhook, WebhookChange, WebhookSecret,
};

#[derive(Subcommand)]
pub enum Webhooks {
    /// List webhooks
    List,
    /// Create a webhook
    Create {
        #[arg(value_name = "URL")]
        target: String,
        /// Events, with commas between [default: all]
        #[arg(long, value_delimiter = ',')]
        events: Option<Vec<String>>,
    },
    /// Change a webhook
    Update {
        webhook: String,
        /// New URL
        #[arg(long)]
        to: Option<String>,
        /// Events, with commas between
        #[arg(long, value_delimiter = ',')]
        events: Option<Vec<String>>,
        /// Whether it receives events
        #[arg(long)]
        enabled: Option<bool>,
    },
    /// Show a webhook
    Show { webhook: String },
    /// Show the signing secret of a webhook
    Secret { webhook: String },
    /// Delete a webhook
    Delete { webhook: String },
    /// Make a sandbox transaction that ends with an event
    Test {
        /// Name of the event, such as payment.success
        event: String,
    },
    /// List delivered and failed events, newest first
    Deliveries {
        webhook: String,
        /// Continue where the last page ended
        #[arg(long)]
        before: Option<String>,
        #[arg(long, default_value_t = 20)]
        limit: usize,
    },
    /// Send one delivery again
    Resend { webhook: String, delivery: String },
    /// Send all failed deliveries again
    ResendFailed {
        webhook: String,
        /// Failures since this day (2026-11-20) or time [default: all]
        #[arg(long)]
        since: Option<String>,
    },
    /// Send all events that the receiver has not acknowledged
    ResendMissing {
        webhook: String,
        /// Events since this day (2026-11-20) or time
        #[arg(long)]
        since: String,
        /// Continue where the last request ended
        #[arg(long)]
        after: Option<TransactionId>,
    },
}

impl Webhooks {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let (client, out) = (&session.client, session.client.output);
        let all = session.in_app("/webhooks").await?;
        match self {
            Self::List => out.table(&client.get(&all).await?, COLUMNS)?,
            Self::Create { target, events } => {
                let new = NewWebhook {
                    url: target,
                    secret: None,
                    events,
                    retry: RetryProfile::default(),
                    per_second: None,
                    concurrency: None,
                };
                out.fields::<Webhook>(&client.post(&all, &new).await?)?;
            }
            Self::Update {
                webhook,
                to,
                events,
                enabled,
            } => {
                let change = WebhookChange {
                    url: to,
                    events,
                    is_enabled: enabled,
                    ..WebhookChange::default()
                };
                let path = format!("{all}/{webhook}");
                out.fields::<Webhook>(&client.patch(&path, &change).await?)?;
            }
            Self::Show { webhook } => {
                out.fields::<Webhook>(&client.get(&format!("{all}/{webhook}")).await?)?;
            }
            Self::Secret { webhook } => {
                let path = format!("{all}/{webhook}/secret");
                out.fields::<WebhookSecret>(&client.get(&path).await?)?;
            }
            Self::Delete { webhook } => {
                out.done(&client.delete(&format!("{all}/{webhook}")).await?)?;
            }
            Self::Test { event } => {
                let path = session.in_app("/test-events").await?;
                let answer = client.post::<Triggered>(&path, &Trigger { event }).await?;
                out.done(&answer)?;
            }
            resending => resending.resend(session, &all).await?,
        }
        Ok(())
    }

    /// Lists deliveries, and sends them again.
    async fn resend(self, session: &Session, all: &str) -> anyhow::Result<()> {
        let (client, out) = (&session.client, session.client.output);
        match self {
            Self::Deliveries {
                webhook,
                before,
                limit,
            } => {
                let limit = Some(limit);
                let filter = query(&DeliveryFilter { before, limit });
                let path = format!("{all}/{webhook}/deliveries?{filter}");
                out.table(&client.get(&path).await?, DELIVERIES)?;
            }
            Self::Resend { webhook, delivery } => {
                let path = format!("{all}/{webhook}/deliveries/{delivery}/resend");
                out.done::<Delivery>(&client.post(&path, &Nothing {}).await?)?;
            }
            Self::ResendFailed { webhook, since } => {
                let path = format!("{all}/{webhook}/resend-failed");
                out.fields::<Replayed>(&client.post(&path, &ReplayFailed { since }).await?)?;
            }
            Self::ResendMissing {
                webhook,
                since,
                after,
            } => {
                let path = format!("{all}/{webhook}/resend-missing");
                let asked = ReplayMissing { since, after };
                out.fields::<MissingReplayed>(&client.post(&path, &asked).await?)?;
            }
            _ => {}
        }
        Ok(())
    }
}

const DELIVERIES: &[Column<Delivery>] = &[
    ("id", |one| cell(&one.id)),
    ("event", |one| cell(&one.name)),
    ("transaction", |one| cell(&one.transaction)),
    ("status", |one| cell(&one.status)),
    ("attempts", |one| cell(&one.attempts)),
    ("last attempt", |one| cell(&one.last_attempt_at)),
];
