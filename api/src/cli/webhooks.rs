//! `switchyard webhooks`.

use clap::Subcommand;
use serde_json::{Value, json};

use super::client::Client;
use super::output::Column;

#[derive(Subcommand)]
pub enum Webhooks {
    /// Show an app's webhooks
    List {
        #[arg(long)]
        app: Option<String>,
    },
    /// Send an app's events to a URL
    Create {
        #[arg(long)]
        app: Option<String>,
        /// Where to: <https://shop.example/hooks>
        #[arg(value_name = "URL")]
        target: String,
        /// Signing secret; without it, one is made
        #[arg(long, env = "SWITCHYARD_WEBHOOK_SECRET", hide_env_values = true)]
        secret: Option<String>,
    },
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
    /// Show every request that was sent, and what came back
    Attempts {
        webhook: String,
        /// Older ones than this time
        #[arg(long)]
        before: Option<String>,
    },
    /// Send one delivery again, or all that failed
    Replay {
        webhook: String,
        #[arg(required_unless_present = "failed_since")]
        delivery: Option<String>,
        /// All that failed on this day (2026-11-20), at this time (2026-11-20T10:00:00Z), or later
        #[arg(long, conflicts_with = "delivery", value_name = "TIME")]
        failed_since: Option<String>,
    },
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
            Self::Create {
                app,
                target,
                secret,
            } => {
                let app = client.app(app.as_deref())?;
                let body = json!({ "url": target, "secret": secret });
                let made = client.post(&format!("/apps/{app}/webhooks"), &body).await?;
                out.fields(&made)?;
                let id = made["data"]["id"].as_str().unwrap_or_default();
                out.note(&format!(
                    "`switchyard webhooks secret {id}` shows the signing secret."
                ));
            }
            Self::Enable { webhook } => out.fields(&switch(client, &webhook, true).await?)?,
            Self::Disable { webhook } => out.fields(&switch(client, &webhook, false).await?)?,
            Self::Delete { webhook } => {
                out.done(&client.delete(&format!("/webhooks/{webhook}")).await?)?
            }
            Self::Secret { webhook } => {
                out.fields(&client.get(&format!("/webhooks/{webhook}/secret")).await?)?
            }
            Self::Deliveries { webhook, before } => {
                let path = format!("/webhooks/{webhook}/deliveries{}", older(before.as_deref()));
                out.table(&client.get(&path).await?, DELIVERIES)?;
            }
            Self::Attempts { webhook, before } => {
                let path = format!("/webhooks/{webhook}/attempts{}", older(before.as_deref()));
                out.table(&client.get(&path).await?, ATTEMPTS)?;
            }
            Self::Replay {
                webhook,
                delivery: Some(delivery),
                ..
            } => {
                let path = format!("/webhooks/{webhook}/deliveries/{delivery}/replay");
                out.done(&client.post(&path, &json!({})).await?)?;
            }
            Self::Replay {
                webhook,
                delivery: None,
                failed_since,
            } => {
                let path = format!("/webhooks/{webhook}/replay");
                out.fields(
                    &client
                        .post(&path, &json!({ "since": failed_since }))
                        .await?,
                )?;
            }
        }
        Ok(())
    }
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
    ("failure", "failure"),
    ("detail", "detail"),
];
