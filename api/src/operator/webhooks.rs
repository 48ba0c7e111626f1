//! Webhooks of an app.

use std::sync::Arc;

use axum::extract::State;
use switchyard_core::ids::{AppId, WebhookId};
use switchyard_engine::access::{self, EventFilter, WebhookOptions};
use switchyard_system::egress::read_url;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::Nothing;
use super::contract::webhooks::{NewWebhook, Webhook, WebhookChange, WebhookSecret};
use super::error::{Answer, Refused, invalid, not_found};
use super::input::{Body, Id, created, done, ok};
use crate::openapi::Success;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show, update, remove))
        .routes(routes!(secret))
}

/// List the webhooks of an app
#[utoipa::path(
    get,
    path = "/apps/{app}/webhooks",
    operation_id = "listWebhooks",
    tag = "Webhooks",
    responses((status = 200, description = "Webhooks.", body = Success<Vec<Webhook>>)),
)]
async fn list(State(state): State<ApiState>, Id(app): Id<AppId>) -> Answer {
    let webhooks = state.engine().access().webhooks(app)?;
    let views: Vec<_> = webhooks
        .iter()
        .map(|webhook| Webhook::from(&**webhook))
        .collect();
    ok("Webhooks fetched successfully", &views)
}

/// Create a webhook
///
/// A URL that cannot be called is refused at once; a name is checked at each attempt.
#[utoipa::path(
    post,
    path = "/apps/{app}/webhooks",
    operation_id = "createWebhook",
    tag = "Webhooks",
    request_body = NewWebhook,
    responses((status = 201, description = "The webhook.", body = Success<Webhook>)),
)]
async fn create(
    State(state): State<ApiState>,
    Id(app): Id<AppId>,
    Body(new): Body<NewWebhook>,
) -> Answer {
    let webhook = make(&state, app, new).await?;
    created("Webhook created successfully", &Webhook::from(&*webhook))
}

/// Creates a webhook of an app.
pub async fn make(
    state: &ApiState,
    app: AppId,
    new: NewWebhook,
) -> Result<Arc<access::Webhook>, Refused> {
    check_target(state, &new.url)?;
    let new = access::NewWebhook {
        app,
        url: new.url,
        secret: new.secret,
        options: WebhookOptions {
            events: filter(new.events)?.unwrap_or_default(),
            retry: new.retry.into(),
            per_second: new.per_second,
            concurrency: new.concurrency,
        },
    };
    Ok(state.engine().access().create_webhook(new).await?)
}

/// Retrieve a webhook
#[utoipa::path(
    get,
    path = "/webhooks/{webhook}",
    operation_id = "retrieveWebhook",
    tag = "Webhooks",
    responses((status = 200, description = "The webhook.", body = Success<Webhook>)),
)]
async fn show(State(state): State<ApiState>, Id(id): Id<WebhookId>) -> Answer {
    let webhook = state
        .engine()
        .access()
        .webhook(id)
        .ok_or_else(|| not_found("webhook"))?;
    ok("Webhook fetched successfully", &Webhook::from(&*webhook))
}

/// Change a webhook
#[utoipa::path(
    patch,
    path = "/webhooks/{webhook}",
    operation_id = "updateWebhook",
    tag = "Webhooks",
    request_body = WebhookChange,
    responses((status = 200, description = "The webhook.", body = Success<Webhook>)),
)]
async fn update(
    State(state): State<ApiState>,
    Id(id): Id<WebhookId>,
    Body(change): Body<WebhookChange>,
) -> Answer {
    let webhook = self::change(&state, id, change).await?;
    ok("Webhook changed successfully", &Webhook::from(&*webhook))
}

/// Changes a webhook.
pub async fn change(
    state: &ApiState,
    id: WebhookId,
    change: WebhookChange,
) -> Result<Arc<access::Webhook>, Refused> {
    if let Some(url) = &change.url {
        check_target(state, url)?;
    }
    let change = access::WebhookChange {
        url: change.url,
        secret: change.secret,
        is_enabled: change.is_enabled,
        events: filter(change.events)?,
        retry: change.retry.map(Into::into),
        per_second: change.per_second,
        concurrency: change.concurrency,
    };
    Ok(state.engine().access().update_webhook(id, change).await?)
}

/// Delete a webhook
#[utoipa::path(
    delete,
    path = "/webhooks/{webhook}",
    operation_id = "deleteWebhook",
    tag = "Webhooks",
    responses((status = 200, description = "The webhook is deleted.", body = Success<Nothing>)),
)]
async fn remove(State(state): State<ApiState>, Id(id): Id<WebhookId>) -> Answer {
    state.engine().access().delete_webhook(id).await?;
    done("Webhook deleted successfully")
}

/// Retrieve the signing secret of a webhook
///
/// The audit log has a line for each reading.
#[utoipa::path(
    get,
    path = "/webhooks/{webhook}/secret",
    operation_id = "retrieveWebhookSecret",
    tag = "Webhooks",
    responses((status = 200, description = "The secret.", body = Success<WebhookSecret>)),
)]
async fn secret(State(state): State<ApiState>, Id(id): Id<WebhookId>) -> Answer {
    let access = state.engine().access();
    let webhook = access.webhook(id).ok_or_else(|| not_found("webhook"))?;
    let secret = access.webhook_secret(&webhook)?;
    let view = WebhookSecret {
        id,
        secret: secret.expose().clone(),
    };
    ok("Webhook secret fetched successfully", &view)
}

/// Refuses a URL that cannot be called, as far as this is known without a name resolution.
fn check_target(state: &ApiState, url: &str) -> Result<(), Refused> {
    let policy = state.engine().settings().webhook.egress();
    let allowed = read_url(url).and_then(|url| policy.check_url(&url));
    Ok(allowed.map_err(|why| invalid("url", format!("url is refused: {why}")))?)
}

fn filter(patterns: Option<Vec<String>>) -> Result<Option<EventFilter>, Refused> {
    Ok(patterns.map(EventFilter::new).transpose()?)
}
