//! `switchyard webhooks`.

use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::client::Client;
use super::output::Column;

#[derive(Subcommand)]
pub enum Webhooks {
    /// Show an app's webhooks
    List {
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
    },
    /// Show one webhook
    Show { webhook: String },
    /// Send an app's events to a URL
    Create {
        /// The app's id [default: of the development server]
        #[arg(long)]
        app: Option<String>,
        /// Where to, such as `https://shop.example/hooks`
        #[arg(value_name = "URL")]
        target: String,
        /// Signing secret; without it, one is made
        #[arg(long, env = "SWITCHYARD_WEBHOOK_SECRET", hide_env_values = true)]
        secret: Option<String>,
        #[command(flatten)]
        options: Options,
    },
    /// Change where events go, which, and how
    Update(Update),
    /// Send events there again
    Enable { webhook: String },
    /// Send no more events there
    Disable { webhook: String },
    /// Delete a webhook
    Delete { webhook: String },
    /// Show the signing secret
    Secret { webhook: String },
    /// Show what was delivered, or was not
    Deliveries {
        webhook: String,
        /// Older ones than this delivery
        #[arg(long)]
        before: Option<String>,
    },
    /// Show one delivery with its body
    Delivery {
        webhook: String,
        /// As `deliveries` shows it
        delivery: String,
    },
    /// Show every request that was sent, and what came back
    Attempts {
        webhook: String,
        /// Everything: headers, bodies, times
        #[arg(long)]
        full: bool,
        /// Older ones than this time
        #[arg(long)]
        before: Option<String>,
    },
    /// Send one delivery again, all that failed, or all that is missing
    Replay(Replay),
}

#[derive(Args)]
pub struct Update {
    webhook: String,
    /// Where they go from now on
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// Signing secret from now on
    #[arg(long)]
    secret: Option<String>,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub struct Replay {
    webhook: String,
    /// As `deliveries` shows it; without it: say since when with --failed-since or --missing-since
    #[arg(required_unless_present_any = ["failed_since", "missing_since"])]
    delivery: Option<String>,
    /// All that failed on this day (2026-11-20), at this time (2026-11-20T10:00:00Z), or later
    #[arg(long, conflicts_with = "delivery", value_name = "TIME")]
    failed_since: Option<String>,
    /// All that happened then or later and was not acknowledged, also while the webhook was off or not there yet
    #[arg(long, conflicts_with_all = ["delivery", "failed_since"], value_name = "TIME")]
    missing_since: Option<String>,
    /// Go on where the last answer says
    #[arg(long, requires = "missing_since", value_name = "TRANSACTION")]
    after: Option<String>,
}

/// How a webhook is served. What is not given stays as it is.
#[derive(Args)]
pub struct Options {
    /// Events to send: payment.success,payout.* or * for all
    #[arg(long, value_delimiter = ',')]
    events: Option<Vec<String>>,
    /// When to try again: spec, standard, or pauses in seconds (60,600,3600)
    #[arg(long)]
    retry: Option<String>,
    /// At most so many requests in a second; 0 for no limit
    #[arg(long)]
    per_second: Option<u32>,
    /// At most so many requests at a time; 0 for the installation's own number
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
