//! Deliveries of a webhook, and their resending.

use axum::extract::State;
use switchyard_core::ids::DeliveryId;
use switchyard_users::Action;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::place::InApp;
use super::webhooks::one_of_app;
use crate::openapi::Success;
use crate::operator::contract::webhooks::{
    AttemptFilter, Delivery, DeliveryAttempt, DeliveryFilter, MissingReplayed, ReplayFailed,
    ReplayMissing, Replayed,
};
use crate::operator::deliveries;
use crate::operator::error::{Answer, not_found};
use crate::operator::input::{Body, QueryParams, ok};
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(attempts))
        .routes(routes!(resend))
        .routes(routes!(resend_failed))
        .routes(routes!(resend_missing))
}

/// List delivered and failed events
///
/// Newest first. Without the action `view_personal_data` bodies are empty. Action: `view_webhooks`.
#[utoipa::path(
    get,
    path = "/apps/{app}/webhooks/{webhook}/deliveries",
    operation_id = "listDeliveries",
    tag = "Webhooks",
    params(DeliveryFilter),
    responses((status = 200, description = "Deliveries.", body = Success<Vec<Delivery>>)),
)]
async fn list(
    State(state): State<ApiState>,
    app: InApp,
    QueryParams(page): QueryParams<DeliveryFilter>,
) -> Answer {
    app.place.permit(Action::ViewWebhooks)?;
    let webhook = one_of_app(&state, &app)?.id;
    let mut views = deliveries::page(&state, webhook, &page).await?;
    views.iter_mut().for_each(|one| hide_body(&app, one));
    ok("Deliveries fetched successfully", &views)
}

/// Retrieve a delivery
///
/// Without the action `view_personal_data` its body is empty. Action: `view_webhooks`.
#[utoipa::path(
    get,
    path = "/apps/{app}/webhooks/{webhook}/deliveries/{delivery}",
    operation_id = "retrieveDelivery",
    tag = "Webhooks",
    responses((status = 200, description = "The delivery.", body = Success<Delivery>)),
)]
async fn show(State(state): State<ApiState>, app: InApp) -> Answer {
    app.place.permit(Action::ViewWebhooks)?;
    let webhook = one_of_app(&state, &app)?.id;
    let id: DeliveryId = app.place.sender.id("delivery")?;
    let found = state.engine().webhooks().delivery(webhook, id).await?;
    let mut view = Delivery::from(found.ok_or_else(|| not_found("delivery"))?);
    hide_body(&app, &mut view);
    ok("Delivery fetched successfully", &view)
}

/// List requests with their responses
///
/// Newest first. Without the action `view_personal_data` requests and responses have no bodies.
/// Action: `view_webhooks`.
#[utoipa::path(
    get,
    path = "/apps/{app}/webhooks/{webhook}/attempts",
    operation_id = "listDeliveryAttempts",
    tag = "Webhooks",
    params(AttemptFilter),
    responses((status = 200, description = "Requests.", body = Success<Vec<DeliveryAttempt>>)),
)]
async fn attempts(
    State(state): State<ApiState>,
    app: InApp,
    QueryParams(page): QueryParams<AttemptFilter>,
) -> Answer {
    app.place.permit(Action::ViewWebhooks)?;
    let webhook = one_of_app(&state, &app)?.id;
    let mut views = deliveries::requests(&state, webhook, &page).await?;
    if !app.place.may(Action::ViewPersonalData) {
        views.iter_mut().for_each(hide_bodies);
    }
    ok("Attempts fetched successfully", &views)
}

/// Send a delivery again, in any state
///
/// Action: `resend_webhook`.
#[utoipa::path(
    post,
    path = "/apps/{app}/webhooks/{webhook}/deliveries/{delivery}/resend",
    operation_id = "resendDelivery",
    tag = "Webhooks",
    responses((status = 200, description = "The delivery.", body = Success<Delivery>)),
)]
async fn resend(State(state): State<ApiState>, app: InApp) -> Answer {
    let permit = app.place.permit(Action::ResendWebhook)?;
    let webhook = one_of_app(&state, &app)?.id;
    let id: DeliveryId = app.place.sender.id("delivery")?;
    let sent = state.engine().webhooks().replay(webhook, id).await?;
    app.place.audit(permit.entry(id)).await?;
    let mut view = Delivery::from(sent);
    hide_body(&app, &mut view);
    ok("Delivery is sent again", &view)
}

/// Send all failed events again
///
/// At most 30 replays of one webhook per minute. Action: `resend_webhook`.
#[utoipa::path(
    post,
    path = "/apps/{app}/webhooks/{webhook}/resend-failed",
    operation_id = "resendFailed",
    tag = "Webhooks",
    request_body = ReplayFailed,
    responses((status = 200, description = "Number of sent events.", body = Success<Replayed>)),
)]
async fn resend_failed(
    State(state): State<ApiState>,
    app: InApp,
    Body(asked): Body<ReplayFailed>,
) -> Answer {
    let permit = app.place.permit(Action::ResendWebhook)?;
    let webhook = one_of_app(&state, &app)?.id;
    let view = deliveries::send_failed(&state, webhook, &asked).await?;
    app.place.audit(permit.entry(webhook)).await?;
    ok("Failed deliveries are sent again", &view)
}

/// Send all events that the receiver has not acknowledged
///
/// Also events from before the webhook was created and while it was disabled. Action:
/// `resend_webhook`.
#[utoipa::path(
    post,
    path = "/apps/{app}/webhooks/{webhook}/resend-missing",
    operation_id = "resendMissing",
    tag = "Webhooks",
    request_body = ReplayMissing,
    responses((
        status = 200,
        description = "Number of sent events, and the cursor of the next request.",
        body = Success<MissingReplayed>,
    )),
)]
async fn resend_missing(
    State(state): State<ApiState>,
    app: InApp,
    Body(asked): Body<ReplayMissing>,
) -> Answer {
    let permit = app.place.permit(Action::ResendWebhook)?;
    let webhook = one_of_app(&state, &app)?.id;
    let view = deliveries::send_missing(&state, webhook, &asked).await?;
    app.place.audit(permit.entry(webhook)).await?;
    ok("Missing deliveries are sent", &view)
}

/// Receivers may repeat in their responses what was sent.
fn hide_bodies(attempt: &mut DeliveryAttempt) {
    attempt.request_body = None;
    if let Some(response) = &mut attempt.response {
        response.body.clear();
    }
}

/// Bodies of events name customers.
fn hide_body(app: &InApp, delivery: &mut Delivery) {
    if !app.place.may(Action::ViewPersonalData) {
        delivery.body.clear();
    }
}
