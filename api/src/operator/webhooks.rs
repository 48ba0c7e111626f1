//! Webhooks of an app: where its events go.

use axum::extract::State;
use serde::Deserialize;
use serde_json::json;
use switchyard_engine::access::{
    EventFilter, NewWebhook, RetryProfile, WebhookChange, WebhookOptions,
};
use switchyard_engine::egress::read_url;
use switchyard_engine::ids::{AppId, WebhookId};
use switchyard_engine::secret::Secret;

use super::error::{Answer, Refused, invalid, not_found};
use super::input::{Body, Id, created, done, nullable, ok};
use super::view::WebhookView;
use crate::state::ApiState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct New {
    url: String,
    /// Without it, one is made.
    secret: Option<Secret<String>>,
    /// Without it, all.
    events: Option<Vec<String>>,
    #[serde(default)]
    retry: RetryProfile,
    per_second: Option<u32>,
    concurrency: Option<u16>,
}

/// What is left out stays.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    url: Option<String>,
    secret: Option<Secret<String>>,
    is_enabled: Option<bool>,
    events: Option<Vec<String>>,
    retry: Option<RetryProfile>,
    #[serde(default, deserialize_with = "nullable")]
    per_second: Option<Option<u32>>,
    #[serde(default, deserialize_with = "nullable")]
    concurrency: Option<Option<u16>>,
}

pub async fn list(State(state): State<ApiState>, Id(app): Id<AppId>) -> Answer {
    let webhooks = state.engine.access.webhooks(app)?;
    let views: Vec<_> = webhooks
        .iter()
        .map(|webhook| WebhookView::from(&**webhook))
        .collect();
    ok("Webhooks fetched successfully", &views)
}

pub async fn create(
    State(state): State<ApiState>,
    Id(app): Id<AppId>,
    Body(new): Body<New>,
) -> Answer {
    check_target(&state, &new.url)?;
    let new = NewWebhook {
        app,
        url: new.url,
        secret: new.secret,
        options: WebhookOptions {
            events: filter(new.events)?.unwrap_or_default(),
            retry: new.retry,
            per_second: new.per_second,
            concurrency: new.concurrency,
        },
    };
    let webhook = state.engine.access.create_webhook(new).await?;
    created(
        "Webhook created successfully",
        &WebhookView::from(&*webhook),
    )
}

pub async fn show(State(state): State<ApiState>, Id(id): Id<WebhookId>) -> Answer {
    let webhook = state
        .engine
        .access
        .webhook(id)
        .ok_or_else(|| not_found("webhook"))?;
    ok(
        "Webhook fetched successfully",
        &WebhookView::from(&*webhook),
    )
}

pub async fn update(
    State(state): State<ApiState>,
    Id(id): Id<WebhookId>,
    Body(change): Body<Change>,
) -> Answer {
    if let Some(url) = &change.url {
        check_target(&state, url)?;
    }
    let change = WebhookChange {
        url: change.url,
        secret: change.secret,
        is_enabled: change.is_enabled,
        events: filter(change.events)?,
        retry: change.retry,
        per_second: change.per_second,
        concurrency: change.concurrency,
    };
    let webhook = state.engine.access.update_webhook(id, change).await?;
    ok(
        "Webhook changed successfully",
        &WebhookView::from(&*webhook),
    )
}

pub async fn remove(State(state): State<ApiState>, Id(id): Id<WebhookId>) -> Answer {
    state.engine.access.delete_webhook(id).await?;
    done("Webhook deleted successfully")
}

/// The signing secret, on request only (decisions 6).
pub async fn secret(State(state): State<ApiState>, Id(id): Id<WebhookId>) -> Answer {
    let access = &state.engine.access;
    let webhook = access.webhook(id).ok_or_else(|| not_found("webhook"))?;
    let secret = access.webhook_secret(&webhook)?;
    ok(
        "Webhook secret fetched successfully",
        &json!({ "id": id, "secret": secret.expose() }),
    )
}

/// What would never be sent to is refused at once, as far as it can be told without its name being resolved.
fn check_target(state: &ApiState, url: &str) -> Result<(), Refused> {
    let policy = state.engine.settings.webhook.egress();
    let allowed = read_url(url).and_then(|url| policy.check_url(&url));
    Ok(allowed.map_err(|why| invalid("url", format!("url is refused: {why}")))?)
}

fn filter(patterns: Option<Vec<String>>) -> Result<Option<EventFilter>, Refused> {
    Ok(patterns.map(EventFilter::new).transpose()?)
}
