//! Webhooks of an app, which belong to both of its environments.

use std::sync::Arc;

use axum::extract::State;
use serde_json::{Value, json};
use switchyard_core::ids::WebhookId;
use switchyard_core::transaction::EventName;
use switchyard_engine::access::Webhook as Stored;
use switchyard_users::Action;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::place::InApp;
use crate::openapi::Success;
use crate::operator::contract::Nothing;
use crate::operator::contract::transactions::{Trigger, Triggered};
use crate::operator::contract::webhooks::{NewWebhook, Webhook, WebhookChange, WebhookSecret};
use crate::operator::error::{Answer, Refused, not_found};
use crate::operator::input::{Body, created, done, ok};
use crate::operator::{trigger, webhooks};
use crate::privacy;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show, update, delete))
        .routes(routes!(secret))
        .routes(routes!(test))
}

/// List webhooks
///
/// Action: `view_webhooks`.
#[utoipa::path(
    get,
    path = "/apps/{app}/webhooks",
    operation_id = "listWebhooks",
    tag = "Webhooks",
    responses((status = 200, description = "Webhooks.", body = Success<Vec<Webhook>>)),
)]
async fn list(State(state): State<ApiState>, app: InApp) -> Answer {
    app.place.permit(Action::ViewWebhooks)?;
    let webhooks = state.engine().access().webhooks(app.app.id)?;
    let views: Vec<_> = webhooks.iter().map(|one| Webhook::from(&**one)).collect();
    ok("Webhooks fetched successfully", &views)
}

/// Create a webhook
///
/// A URL that cannot be called is refused at once; a name is checked at each attempt. Action:
/// `manage_webhooks`.
#[utoipa::path(
    post,
    path = "/apps/{app}/webhooks",
    operation_id = "createWebhook",
    tag = "Webhooks",
    request_body = NewWebhook,
    responses((status = 201, description = "The webhook.", body = Success<Webhook>)),
)]
async fn create(State(state): State<ApiState>, app: InApp, Body(new): Body<NewWebhook>) -> Answer {
    let permit = app.place.permit(Action::ManageWebhooks)?;
    let made = webhooks::make(&state, app.app.id, new).await?;
    let entry = permit.entry(made.id).changing(Value::Null, facts(&made));
    app.place.audit(entry).await?;
    created("Webhook created successfully", &Webhook::from(&*made))
}

/// Retrieve a webhook
///
/// Action: `view_webhooks`.
#[utoipa::path(
    get,
    path = "/apps/{app}/webhooks/{webhook}",
    operation_id = "retrieveWebhook",
    tag = "Webhooks",
    responses((status = 200, description = "The webhook.", body = Success<Webhook>)),
)]
async fn show(State(state): State<ApiState>, app: InApp) -> Answer {
    app.place.permit(Action::ViewWebhooks)?;
    let webhook = one_of_app(&state, &app)?;
    ok("Webhook fetched successfully", &Webhook::from(&*webhook))
}

/// Change a webhook
///
/// Action: `manage_webhooks`.
#[utoipa::path(
    patch,
    path = "/apps/{app}/webhooks/{webhook}",
    operation_id = "updateWebhook",
    tag = "Webhooks",
    request_body = WebhookChange,
    responses((status = 200, description = "The webhook.", body = Success<Webhook>)),
)]
async fn update(
    State(state): State<ApiState>,
    app: InApp,
    Body(change): Body<WebhookChange>,
) -> Answer {
    let permit = app.place.permit(Action::ManageWebhooks)?;
    let before = one_of_app(&state, &app)?;
    let after = webhooks::change(&state, before.id, change).await?;
    let entry = permit.entry(before.id);
    let entry = entry.changing(facts(&before), facts(&after));
    app.place.audit(entry).await?;
    ok("Webhook changed successfully", &Webhook::from(&*after))
}

/// Delete a webhook
///
/// Action: `manage_webhooks`.
#[utoipa::path(
    delete,
    path = "/apps/{app}/webhooks/{webhook}",
    operation_id = "deleteWebhook",
    tag = "Webhooks",
    responses((status = 200, description = "The webhook is deleted.", body = Success<Nothing>)),
)]
async fn delete(State(state): State<ApiState>, app: InApp) -> Answer {
    let permit = app.place.permit(Action::ManageWebhooks)?;
    let webhook = one_of_app(&state, &app)?;
    state.engine().access().delete_webhook(webhook.id).await?;
    let entry = permit.entry(webhook.id);
    let entry = entry.changing(facts(&webhook), Value::Null);
    app.place.audit(entry).await?;
    done("Webhook deleted successfully")
}

/// Retrieve the signing secret of a webhook
///
/// The audit log has an entry for each reading. Action: `reveal_secret`.
#[utoipa::path(
    get,
    path = "/apps/{app}/webhooks/{webhook}/secret",
    operation_id = "retrieveWebhookSecret",
    tag = "Webhooks",
    responses((status = 200, description = "The secret.", body = Success<WebhookSecret>)),
)]
async fn secret(State(state): State<ApiState>, app: InApp) -> Answer {
    let permit = app.place.permit(Action::RevealSecret)?;
    let webhook = one_of_app(&state, &app)?;
    app.place.audit(permit.entry(webhook.id)).await?;
    let secret = state.engine().access().webhook_secret(&webhook)?;
    let view = WebhookSecret {
        id: webhook.id,
        secret: secret.expose().clone(),
    };
    ok("Webhook secret fetched successfully", &view)
}

/// Send a test event
///
/// Creates a sandbox transaction that ends with the event; all webhooks that subscribe to it
/// receive it. `reached` is `false` if the transaction has not come to that end within 10 seconds.
/// Action: `trigger_test_events`.
#[utoipa::path(
    post,
    path = "/apps/{app}/test-events",
    operation_id = "sendTestEvent",
    tag = "Webhooks",
    request_body = Trigger,
    responses((status = 201, description = "The transaction.", body = Success<Triggered>)),
)]
async fn test(State(state): State<ApiState>, app: InApp, Body(wanted): Body<Trigger>) -> Answer {
    let permit = app.place.permit(Action::TriggerTestEvents)?;
    let event: EventName = trigger::event_of(&wanted.event)?;
    let (mut view, message) = trigger::triggered(&state, app.app.id, event).await?;
    let entry = permit.entry(view.transaction.facts.id);
    app.place.audit(entry).await?;
    if !app.place.may(Action::ViewPersonalData) {
        privacy::mask_summary(&mut view.transaction);
    }
    created(&message, &view)
}

/// The webhook of the path, if it is one of the app.
pub fn one_of_app(state: &ApiState, app: &InApp) -> Result<Arc<Stored>, Refused> {
    let id: WebhookId = app.place.sender.id("webhook")?;
    let found = state.engine().access().webhook(id);
    let found = found.filter(|webhook| webhook.app == app.app.id);
    found.ok_or_else(|| not_found("webhook").into())
}

/// Settings of a webhook for the audit log.
fn facts(webhook: &Stored) -> Value {
    let events = webhook.options.events.patterns();
    json!({ "url": webhook.url, "enabled": webhook.is_enabled, "events": events })
}
