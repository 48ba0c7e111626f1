//! `switchyard webhooks`.

use anyhow::anyhow;
use clap::{Args, Subcommand};
use switchyard_core::ids::TransactionId;
use switchyard_core::secret::Secret;

use super::client::{Answer, Client, query};
use super::output::{Column, cell, listed};
use crate::operator::contract::Nothing;
use crate::operator::contract::webhooks::{
    AttemptFilter, Delivery, DeliveryAttempt, DeliveryFilter, MissingReplayed, NewWebhook,
    ReplayFailed, ReplayMissing, Replayed, RetryProfile, Webhook, WebhookChange, WebhookSecret,
};

#[derive(Subcommand)]
pub enum Webhooks {
    /// List an app's webhooks
    List {
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
    },
    /// Show a webhook
    Show { webhook: String },
    /// Create a webhook: a URL that receives an app's events
    Create {
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
        /// URL of the receiver, such as `https://shop.example/hooks`
        #[arg(value_name = "URL")]
        target: String,
        /// Signing secret [default: a generated one]
        #[arg(long, env = "SWITCHYARD_WEBHOOK_SECRET", hide_env_values = true)]
        secret: Option<String>,
        #[command(flatten)]
        options: Options,
    },
    /// Change a webhook
    Update(Update),
    /// Enable a webhook
    Enable { webhook: String },
    /// Disable a webhook
    Disable { webhook: String },
    /// Delete a webhook
    Delete { webhook: String },
    /// Show the signing secret
    Secret { webhook: String },
    /// List deliveries with their states
    Deliveries {
        webhook: String,
        /// Only deliveries older than this id
        #[arg(long)]
        before: Option<String>,
    },
    /// Show a delivery with its body
    Delivery {
        webhook: String,
        /// Id as `deliveries` shows it
        delivery: String,
    },
    /// List requests with their responses
    Attempts {
        webhook: String,
        /// Show headers, bodies and times, too
        #[arg(long)]
        full: bool,
        /// Only requests before this time
        #[arg(long)]
        before: Option<String>,
    },
    /// Send a delivery, all failed ones or all missing ones again
    Replay(Replay),
}

#[derive(Args)]
pub struct Update {
    webhook: String,
    /// New URL of the receiver
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// New signing secret
    #[arg(long)]
    secret: Option<String>,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub struct Replay {
    webhook: String,
    /// Id as `deliveries` shows it; without it, use --failed-since or --missing-since
    #[arg(required_unless_present_any = ["failed_since", "missing_since"])]
    delivery: Option<String>,
    /// Deliveries that failed since this day (2026-11-20) or time (2026-11-20T10:00:00Z)
    #[arg(long, conflicts_with = "delivery", value_name = "TIME")]
    failed_since: Option<String>,
    /// Events since then without an acknowledged delivery, also while the webhook was disabled or
    /// did not exist
    #[arg(long, conflicts_with_all = ["delivery", "failed_since"], value_name = "TIME")]
    missing_since: Option<String>,
    /// Cursor of the last response
    #[arg(long, requires = "missing_since", value_name = "TRANSACTION")]
    after: Option<TransactionId>,
}

/// Delivery options of a webhook. Omitted ones stay unchanged.
#[derive(Args)]
pub struct Options {
    /// Events to send: payment.success,payout.* or * for all
    #[arg(long, value_delimiter = ',')]
    events: Option<Vec<String>>,
    /// Retry schedule: spec, standard, or pauses in seconds (60,600,3600)
    #[arg(long)]
    retry: Option<String>,
    /// Maximum requests per second; 0 for no limit
    #[arg(long)]
    per_second: Option<u32>,
    /// Maximum concurrent requests; 0 for the installation's default
    #[arg(long)]
    concurrency: Option<u16>,
}

impl Options {
    fn retry(&self) -> anyhow::Result<Option<RetryProfile>> {
        let Some(retry) = &self.retry else {
            return Ok(None);
        };
        Ok(Some(match retry.as_str() {
            "spec" => RetryProfile::Spec,
            "standard" => RetryProfile::Standard,
            pauses => {
                let delays: Result<Vec<u32>, _> =
                    pauses.split(',').map(str::trim).map(str::parse).collect();
                let delays = delays.map_err(|_| {
                    anyhow!("--retry is spec, standard or seconds such as 60,600, not {pauses}")
                })?;
                RetryProfile::Custom { delays }
            }
        }))
    }
}

/// A limit, or none for 0.
fn limit<N: Default + PartialOrd>(most: N) -> Option<N> {
    Some(most).filter(|most| *most > N::default())
}

impl Webhooks {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let out = client.output;
        match self {
            Self::List { app } => {
                let app = client.app(app.as_deref())?;
                out.table(
                    &client.get(&format!("/apps/{app}/webhooks")).await?,
                    COLUMNS,
                )?;
            }
            Self::Show { webhook } => {
                out.fields::<Webhook>(&client.get(&one(&webhook)).await?)?;
            }
            Self::Create {
                app,
                target,
                secret,
                options,
            } => {
                let app = client.app(app.as_deref())?;
                let new = NewWebhook {
                    url: target,
                    secret: secret.map(Secret::new),
                    retry: options.retry()?.unwrap_or_default(),
                    events: options.events,
                    per_second: options.per_second.and_then(limit),
                    concurrency: options.concurrency.and_then(limit),
                };
                let path = format!("/apps/{app}/webhooks");
                let made = client.post::<Webhook>(&path, &new).await?;
                out.fields(&made)?;
                let id = made.data.id;
                out.note(&format!(
                    "`switchyard webhooks secret {id}` shows the signing secret."
                ));
            }
            Self::Update(update) => update.run(client).await?,
            Self::Enable { webhook } => out.fields(&switch(client, &webhook, true).await?)?,
            Self::Disable { webhook } => out.fields(&switch(client, &webhook, false).await?)?,
            Self::Delete { webhook } => {
                out.done(&client.delete(&one(&webhook)).await?)?;
            }
            Self::Secret { webhook } => {
                let path = format!("/webhooks/{webhook}/secret");
                out.fields::<WebhookSecret>(&client.get(&path).await?)?;
            }
            Self::Deliveries { webhook, before } => {
                let filter = DeliveryFilter {
                    before,
                    limit: None,
                };
                let path = format!("/webhooks/{webhook}/deliveries?{}", query(&filter));
                out.table(&client.get(&path).await?, DELIVERIES)?;
            }
            Self::Delivery { webhook, delivery } => {
                let path = format!("/webhooks/{webhook}/deliveries/{delivery}");
                out.fields::<Delivery>(&client.get(&path).await?)?;
            }
            Self::Attempts {
                webhook,
                full,
                before,
            } => attempts(client, &webhook, full, before).await?,
            Self::Replay(replay) => replay.run(client).await?,
        }
        Ok(())
    }
}

impl Update {
    async fn run(self, client: &Client) -> anyhow::Result<()> {
        let options = self.options;
        let change = WebhookChange {
            url: self.to,
            secret: self.secret.map(Secret::new),
            is_enabled: None,
            retry: options.retry()?,
            events: options.events,
            per_second: options.per_second.map(limit),
            concurrency: options.concurrency.map(limit),
        };
        let changed = client.patch(&one(&self.webhook), &change).await?;
        Ok(client.output.fields::<Webhook>(&changed)?)
    }
}

impl Replay {
    async fn run(self, client: &Client) -> anyhow::Result<()> {
        let (out, webhook) = (client.output, one(&self.webhook));
        match (self.delivery, self.missing_since) {
            (Some(delivery), _) => {
                let path = format!("{webhook}/deliveries/{delivery}/replay");
                out.fields::<Delivery>(&client.post(&path, &Nothing {}).await?)?;
            }
            (None, Some(since)) => {
                let path = format!("{webhook}/replay-missing");
                let missing = ReplayMissing {
                    since,
                    after: self.after,
                };
                out.fields::<MissingReplayed>(&client.post(&path, &missing).await?)?;
            }
            (None, None) => {
                let path = format!("{webhook}/replay");
                let failed = ReplayFailed {
                    since: self.failed_since,
                };
                out.fields::<Replayed>(&client.post(&path, &failed).await?)?;
            }
        }
        Ok(())
    }
}

fn one(webhook: &str) -> String {
    format!("/webhooks/{webhook}")
}

async fn attempts(
    client: &Client,
    webhook: &str,
    full: bool,
    before: Option<String>,
) -> anyhow::Result<()> {
    let filter = AttemptFilter {
        before,
        limit: None,
    };
    let path = format!("/webhooks/{webhook}/attempts?{}", query(&filter));
    let attempts = client.get(&path).await?;
    match full {
        true => client
            .output
            .text(&attempts, |all: &Vec<DeliveryAttempt>| {
                all.iter().map(listed).collect()
            })?,
        false => client.output.table(&attempts, ATTEMPTS)?,
    }
    Ok(())
}

async fn switch(client: &Client, webhook: &str, on: bool) -> anyhow::Result<Answer<Webhook>> {
    let change = WebhookChange {
        is_enabled: Some(on),
        ..WebhookChange::default()
    };
    client.patch(&one(webhook), &change).await
}

const fn profile(retry: &RetryProfile) -> &'static str {
    match retry {
        RetryProfile::Spec => "spec",
        RetryProfile::Standard => "standard",
        RetryProfile::Custom { .. } => "custom",
    }
}

pub const COLUMNS: &[Column<Webhook>] = &[
    ("id", |one| cell(&one.id)),
    ("url", |one| cell(&one.url)),
    ("enabled", |one| cell(&one.is_enabled)),
    ("events", |one| cell(&one.events)),
    ("retry", |one| profile(&one.retry).to_owned()),
    ("why off", |one| {
        cell(&one.disabled.as_ref().map(|disabled| &disabled.why))
    }),
    ("created", |one| cell(&one.created_at)),
];
const DELIVERIES: &[Column<Delivery>] = &[
    ("id", |one| cell(&one.id)),
    ("event", |one| cell(&one.name)),
    ("transaction", |one| cell(&one.transaction)),
    ("status", |one| cell(&one.status)),
    ("attempts", |one| cell(&one.attempts)),
    ("next", |one| cell(&one.next_attempt_at)),
    ("ended", |one| cell(&one.ended_at)),
    ("why", |one| cell(&one.why)),
];
const ATTEMPTS: &[Column<DeliveryAttempt>] = &[
    ("at", |one| cell(&one.at)),
    ("delivery", |one| cell(&one.delivery)),
    ("event", |one| cell(&one.name)),
    ("no", |one| cell(&one.number)),
    ("ok", |one| cell(&one.acknowledged)),
    ("status", |one| {
        cell(&one.response.as_ref().map(|response| response.status))
    }),
    ("dns us", |one| cell(&one.timing.dns)),
    ("connect us", |one| cell(&one.timing.connect)),
    ("tls us", |one| cell(&one.timing.tls)),
    ("answer us", |one| cell(&one.timing.answer)),
    ("address", |one| cell(&one.addresses)),
    ("failure", |one| cell(&one.failure)),
    ("detail", |one| cell(&one.detail)),
];
