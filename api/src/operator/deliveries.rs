//! Deliveries of a webhook, their attempts, and replays.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use axum::extract::{Path, State};
use switchyard_core::ids::{DeliveryId, WebhookId};
use switchyard_engine::webhook::{LogError, ReplayError};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::webhooks::{
    AttemptFilter, Delivery, DeliveryAttempt, DeliveryFilter, MissingReplayed, ReplayFailed,
    ReplayMissing, Replayed,
};
use super::error::{Answer, Refused, invalid, not_found};
use super::input::{Body, Id, QueryParams, moment, ok};
use crate::error::{ApiError, ErrorCode, Problem};
use crate::openapi::Success;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(attempts))
        .routes(routes!(replay))
        .routes(routes!(replay_failed))
        .routes(routes!(replay_missing))
}

/// List delivered and failed events
///
/// Newest first.
#[utoipa::path(
    get,
    path = "/webhooks/{webhook}/deliveries",
    operation_id = "listDeliveries",
    tag = "Webhooks",
    params(DeliveryFilter),
    responses((status = 200, description = "Deliveries.", body = Success<Vec<Delivery>>)),
)]
async fn list(
    State(state): State<ApiState>,
    Id(webhook): Id<WebhookId>,
    QueryParams(page): QueryParams<DeliveryFilter>,
) -> Answer {
    known(&state, webhook)?;
    let views = self::page(&state, webhook, &page).await?;
    ok("Deliveries fetched successfully", &views)
}

/// A page of the deliveries of a webhook.
pub async fn page(
    state: &ApiState,
    webhook: WebhookId,
    page: &DeliveryFilter,
) -> Result<Vec<Delivery>, Refused> {
    let before = page
        .before
        .as_deref()
        .map(str::parse::<DeliveryId>)
        .transpose();
    let before = before.map_err(|_| invalid("before", "before is the id of a delivery"))?;
    let deliveries = state
        .engine()
        .webhooks()
        .deliveries(webhook, before, limit(page.limit))
        .await?;
    Ok(deliveries.into_iter().map(Delivery::from).collect())
}

/// List requests with their responses
///
/// Newest first.
#[utoipa::path(
    get,
    path = "/webhooks/{webhook}/attempts",
    operation_id = "listDeliveryAttempts",
    tag = "Webhooks",
    params(AttemptFilter),
    responses((status = 200, description = "Requests.", body = Success<Vec<DeliveryAttempt>>)),
)]
async fn attempts(
    State(state): State<ApiState>,
    Id(webhook): Id<WebhookId>,
    QueryParams(page): QueryParams<AttemptFilter>,
) -> Answer {
    known(&state, webhook)?;
    let views = requests(&state, webhook, &page).await?;
    ok("Attempts fetched successfully", &views)
}

/// A page of the requests of a webhook, with their responses.
pub async fn requests(
    state: &ApiState,
    webhook: WebhookId,
    page: &AttemptFilter,
) -> Result<Vec<DeliveryAttempt>, Refused> {
    let before = moment("before", page.before.as_deref())?;
    let attempts = state
        .engine()
        .webhooks()
        .attempts(webhook, before, limit(page.limit))
        .await?;
    let mut bodies = BTreeMap::new();
    let mut views = Vec::with_capacity(attempts.len());
    for attempt in attempts {
        let id = attempt.delivery;
        // The log keeps the body once, with the delivery.
        if let Entry::Vacant(unknown) = bodies.entry(id) {
            let delivery = state.engine().webhooks().delivery(webhook, id).await?;
            unknown.insert(delivery.map(|delivery| delivery.body));
        }
        let body = bodies.get(&id).cloned().flatten();
        views.push(DeliveryAttempt::new(attempt, body));
    }
    Ok(views)
}

/// Retrieve a delivery with its body
#[utoipa::path(
    get,
    path = "/webhooks/{webhook}/deliveries/{delivery}",
    operation_id = "retrieveDelivery",
    tag = "Webhooks",
    responses((status = 200, description = "The delivery.", body = Success<Delivery>)),
)]
async fn show(
    State(state): State<ApiState>,
    Path((webhook, delivery)): Path<(String, String)>,
) -> Answer {
    let webhook: WebhookId = webhook.parse().map_err(|_| not_found("webhook"))?;
    let delivery: DeliveryId = delivery.parse().map_err(|_| not_found("delivery"))?;
    let found = state
        .engine()
        .webhooks()
        .delivery(webhook, delivery)
        .await?;
    let found = found.ok_or_else(|| not_found("delivery"))?;
    ok("Delivery fetched successfully", &Delivery::from(found))
}

/// Send a delivery again, in any state
#[utoipa::path(
    post,
    path = "/webhooks/{webhook}/deliveries/{delivery}/replay",
    operation_id = "replayDelivery",
    tag = "Webhooks",
    responses((status = 200, description = "The delivery.", body = Success<Delivery>)),
)]
async fn replay(
    State(state): State<ApiState>,
    Path((webhook, delivery)): Path<(String, String)>,
) -> Answer {
    let webhook: WebhookId = webhook.parse().map_err(|_| not_found("webhook"))?;
    let delivery: DeliveryId = delivery.parse().map_err(|_| not_found("delivery"))?;
    let delivery = state.engine().webhooks().replay(webhook, delivery).await?;
    ok("Delivery is sent again", &Delivery::from(delivery))
}

/// Send all failed events again
///
/// At most 30 replays of one webhook per minute.
#[utoipa::path(
    post,
    path = "/webhooks/{webhook}/replay",
    operation_id = "replayFailed",
    tag = "Webhooks",
    request_body = ReplayFailed,
    responses((status = 200, description = "Number of replayed events.", body = Success<Replayed>)),
)]
async fn replay_failed(
    State(state): State<ApiState>,
    Id(webhook): Id<WebhookId>,
    Body(asked): Body<ReplayFailed>,
) -> Answer {
    known(&state, webhook)?;
    let view = send_failed(&state, webhook, &asked).await?;
    ok("Failed deliveries are sent again", &view)
}

/// Sends the failed deliveries of a webhook again.
pub async fn send_failed(
    state: &ApiState,
    webhook: WebhookId,
    asked: &ReplayFailed,
) -> Result<Replayed, Refused> {
    let since = moment("since", asked.since.as_deref())?.unwrap_or_default();
    let done = state
        .engine()
        .webhooks()
        .replay_failed(webhook, since)
        .await?;
    Ok(Replayed {
        replayed: done.replayed,
        has_more: done.has_more,
    })
}

/// Send all events that the receiver has not acknowledged
///
/// Also events from before the webhook was created and while it was disabled.
#[utoipa::path(
    post,
    path = "/webhooks/{webhook}/replay-missing",
    operation_id = "replayMissing",
    tag = "Webhooks",
    request_body = ReplayMissing,
    responses((
        status = 200,
        description = "Number of replayed events, and the cursor of the next request.",
        body = Success<MissingReplayed>,
    )),
)]
async fn replay_missing(
    State(state): State<ApiState>,
    Id(webhook): Id<WebhookId>,
    Body(asked): Body<ReplayMissing>,
) -> Answer {
    known(&state, webhook)?;
    let view = send_missing(&state, webhook, &asked).await?;
    ok("Missing deliveries are sent", &view)
}

/// Sends the events that a webhook's receiver has not acknowledged.
pub async fn send_missing(
    state: &ApiState,
    webhook: WebhookId,
    asked: &ReplayMissing,
) -> Result<MissingReplayed, Refused> {
    let since = moment("since", Some(&asked.since))?.unwrap_or_default();
    let webhooks = state.engine().webhooks();
    let done = webhooks.replay_missing(webhook, since, asked.after).await?;
    Ok(MissingReplayed {
        replayed: done.replayed,
        examined: done.examined,
        has_more: done.after.is_some(),
        after: done.after,
    })
}

fn limit(given: Option<usize>) -> usize {
    given.unwrap_or(PER_PAGE).clamp(1, 100)
}

fn known(state: &ApiState, webhook: WebhookId) -> Result<(), ApiError> {
    state
        .engine()
        .access()
        .webhook(webhook)
        .map(drop)
        .ok_or_else(|| not_found("webhook"))
}

impl From<LogError> for Refused {
    fn from(error: LogError) -> Self {
        Self(match error {
            LogError::Store(_) => ApiError::unavailable(),
            unreadable => {
                tracing::error!(error = %unreadable, "failed to read the delivery log");
                ApiError::internal()
            }
        })
    }
}

impl From<ReplayError> for Refused {
    fn from(error: ReplayError) -> Self {
        let problem = |code| Refused(Problem::new(code, error.to_string()).into());
        match error {
            ReplayError::NotFound => problem(ErrorCode::ResourceNotFound),
            ReplayError::Disabled => problem(ErrorCode::FieldInvalid),
            ReplayError::UnknownTransaction => invalid("after", error.to_string()).into(),
            ReplayError::TooOften(wait) => {
                let problem = Problem::new(ErrorCode::RateLimitExceeded, error.to_string());
                let seconds = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX);
                Self(ApiError::from(problem).retry_after(seconds))
            }
            ReplayError::Moving => problem(ErrorCode::ResourceChanged),
            ReplayError::Log(error) => error.into(),
            ReplayError::Record(error) => {
                tracing::error!(%error, "failed to read transactions for a replay");
                ApiError::unavailable().into()
            }
            ReplayError::Commit(_) => ApiError::unavailable().into(),
        }
    }
}

const PER_PAGE: usize = 20;
