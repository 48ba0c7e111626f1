//! `switchyard webhooks`.

use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::client::Client;
use super::output::Column;

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
    after: Option<String>,
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
    fn write(self, body: &mut Value) -> anyhow::Result<()> {
        if let Some(events) = self.events {
            body["events"] = json!(events);
        }
        if let Some(retry) = self.retry {
            body["retry"] = match retry.as_str() {
                profile @ ("spec" | "standard") => json!({ "profile": profile }),
                pauses => {
                    let delays: Result<Vec<u32>, _> =
                        pauses.split(',').map(str::trim).map(str::parse).collect();
                    let delays = delays.map_err(|_| {
                        anyhow!("--retry is spec, standard or seconds such as 60,600, not {pauses}")
                    })?;
                    json!({ "profile": "custom", "delays": delays })
                }
            };
        }
        if let Some(most) = self.per_second {
            body["per_second"] = json!(Some(most).filter(|most| *most > 0));
        }
        if let Some(most) = self.concurrency {
            body["concurrency"] = json!(Some(most).filter(|most| *most > 0));
        }
        Ok(())
    }
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
                out.fields(&client.get(&one(&webhook)).await?)?;
            }
            Self::Create {
                app,
                target,
                secret,
                options,
            } => {
                let app = client.app(app.as_deref())?;
                let mut body = json!({ "url": target, "secret": secret });
                options.write(&mut body)?;
                let made = client.post(&format!("/apps/{app}/webhooks"), &body).await?;
                out.fields(&made)?;
                let id = made["data"]["id"].as_str().unwrap_or_default();
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
                out.fields(&client.get(&format!("/webhooks/{webhook}/secret")).await?)?
            }
            Self::Deliveries { webhook, before } => {
                let path = format!("/webhooks/{webhook}/deliveries{}", older(before.as_deref()));
                out.table(&client.get(&path).await?, DELIVERIES)?;
            }
            Self::Delivery { webhook, delivery } => {
                let path = format!("/webhooks/{webhook}/deliveries/{delivery}");
                out.fields(&client.get(&path).await?)?;
            }
            Self::Attempts {
                webhook,
                full,
                before,
            } => attempts(client, &webhook, full, before.as_deref()).await?,
            Self::Replay(replay) => replay.run(client).await?,
        }
        Ok(())
    }
}

impl Update {
    async fn run(self, client: &Client) -> anyhow::Result<()> {
        let mut body = json!({});
        for (name, value) in [("url", self.to), ("secret", self.secret)] {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
        self.options.write(&mut body)?;
        let changed = client.patch(&one(&self.webhook), &body).await?;
        Ok(client.output.fields(&changed)?)
    }
}

impl Replay {
    async fn run(self, client: &Client) -> anyhow::Result<()> {
        let (path, body) = match (self.delivery, self.missing_since) {
            (Some(delivery), _) => (format!("deliveries/{delivery}/replay"), json!({})),
            (None, Some(since)) => (
                "replay-missing".to_owned(),
                json!({ "since": since, "after": self.after }),
            ),
            (None, None) => ("replay".to_owned(), json!({ "since": self.failed_since })),
        };
        let path = format!("{}/{path}", one(&self.webhook));
        Ok(client.output.fields(&client.post(&path, &body).await?)?)
    }
}

fn one(webhook: &str) -> String {
    format!("/webhooks/{webhook}")
}

async fn attempts(
    client: &Client,
    webhook: &str,
    full: bool,
    before: Option<&str>,
) -> anyhow::Result<()> {
    let out = client.output;
    let path = format!("/webhooks/{webhook}/attempts{}", older(before));
    let attempts = client.get(&path).await?;
    match attempts["data"].as_array().filter(|_| full && !out.json) {
        Some(attempts) => {
            for attempt in attempts {
                out.fields(&json!({ "data": attempt }))?;
            }
        }
        None => out.table(&attempts, ATTEMPTS)?,
    }
    Ok(())
}

fn older(before: Option<&str>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::from("?"));
    query.extend_pairs(before.map(|before| ("before", before)));
    query.finish()
}

async fn switch(client: &Client, webhook: &str, on: bool) -> anyhow::Result<Value> {
    client
        .patch(
            &format!("/webhooks/{webhook}"),
            &json!({ "is_enabled": on }),
        )
        .await
}

const COLUMNS: &[Column] = &[
    ("id", "id"),
    ("url", "url"),
    ("enabled", "is_enabled"),
    ("events", "events"),
    ("retry", "retry.profile"),
    ("why off", "disabled.why"),
    ("created", "created_at"),
];
const DELIVERIES: &[Column] = &[
    ("id", "id"),
    ("event", "name"),
    ("transaction", "transaction"),
    ("status", "status"),
    ("attempts", "attempts"),
    ("next", "next_attempt_at"),
    ("ended", "ended_at"),
    ("why", "why"),
];
const ATTEMPTS: &[Column] = &[
    ("at", "at"),
    ("delivery", "delivery"),
    ("event", "name"),
    ("no", "number"),
    ("ok", "acknowledged"),
    ("status", "response.status"),
    ("dns us", "timing.dns"),
    ("connect us", "timing.connect"),
    ("tls us", "timing.tls"),
    ("answer us", "timing.answer"),
    ("address", "addresses"),
    ("failure", "failure"),
    ("detail", "detail"),
];
