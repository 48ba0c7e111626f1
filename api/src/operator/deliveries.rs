//! Deliveries of a webhook, their attempts, and replays.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Value, json};
use switchyard_engine::ids::{DeliveryId, TransactionId, WebhookId};
use switchyard_engine::webhook::{LogError, ReplayError};

use super::error::{Answer, Refused, invalid, not_found};
use super::input::{Asked, Body, Id, moment, ok};
use super::view::shown;
use crate::error::{ApiError, ErrorCode, Problem};
use crate::state::ApiState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Older ones than this: a delivery's id, or an attempt's time.
    before: Option<String>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Since {
    /// Failures since this time. Default: all.
    since: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Missing {
    /// Events since this time.
    since: String,
    /// Cursor of the last response.
    after: Option<TransactionId>,
}

impl Page {
    fn limit(&self) -> usize {
        self.limit.unwrap_or(PER_PAGE).clamp(1, 100)
    }
}

/// Tried and failed deliveries, newest first.
pub async fn list(
    State(state): State<ApiState>,
    Id(webhook): Id<WebhookId>,
    Asked(page): Asked<Page>,
) -> Answer {
    known(&state, webhook)?;
    let before = page
        .before
        .as_deref()
        .map(str::parse::<DeliveryId>)
        .transpose();
    let before = before.map_err(|_| invalid("before", "before is the id of a delivery"))?;
    let deliveries = state
        .engine
        .webhooks
        .deliveries(webhook, before, page.limit())
        .await?;
    let views: Vec<Value> = deliveries.iter().map(shown).collect();
    ok("Deliveries fetched successfully", &views)
}

/// Every request that was sent or could not be, newest first.
pub async fn attempts(
    State(state): State<ApiState>,
    Id(webhook): Id<WebhookId>,
    Asked(page): Asked<Page>,
) -> Answer {
    known(&state, webhook)?;
    let before = moment("before", page.before.as_deref())?;
    let attempts = state
        .engine
        .webhooks
        .attempts(webhook, before, page.limit())
        .await?;
    let mut bodies = BTreeMap::new();
    let mut views = Vec::with_capacity(attempts.len());
    for attempt in &attempts {
        let id = attempt.delivery;
        if let std::collections::btree_map::Entry::Vacant(unknown) = bodies.entry(id) {
            let delivery = state.engine.webhooks.delivery(webhook, id).await?;
            unknown.insert(delivery.map(|delivery| delivery.body));
        }
        let mut view = shown(attempt);
        // The same on every attempt, so the log keeps it once, with the delivery.
        view["request_body"] = json!(bodies[&id]);
        views.push(view);
    }
    ok("Attempts fetched successfully", &views)
}

/// One delivery, with its body.
pub async fn show(
    State(state): State<ApiState>,
    Path((webhook, delivery)): Path<(String, String)>,
) -> Answer {
    let webhook: WebhookId = webhook.parse().map_err(|_| not_found("webhook"))?;
    let delivery: DeliveryId = delivery.parse().map_err(|_| not_found("delivery"))?;
    let found = state.engine.webhooks.delivery(webhook, delivery).await?;
    let found = found.ok_or_else(|| not_found("delivery"))?;
    ok("Delivery fetched successfully", &shown(&found))
}

/// Sends a delivery again, in any state.
pub async fn replay(
    State(state): State<ApiState>,
    Path((webhook, delivery)): Path<(String, String)>,
) -> Answer {
    let webhook: WebhookId = webhook.parse().map_err(|_| not_found("webhook"))?;
    let delivery: DeliveryId = delivery.parse().map_err(|_| not_found("delivery"))?;
    let delivery = state.engine.webhooks.replay(webhook, delivery).await?;
    ok("Delivery is sent again", &shown(&delivery))
}

/// Sends all failed deliveries again.
pub async fn replay_failed(
    State(state): State<ApiState>,
    Id(webhook): Id<WebhookId>,
    Body(asked): Body<Since>,
) -> Answer {
    known(&state, webhook)?;
    let since = moment("since", asked.since.as_deref())?.unwrap_or_default();
    let done = state.engine.webhooks.replay_failed(webhook, since).await?;
    let view = json!({ "replayed": done.replayed, "has_more": done.has_more });
    ok("Failed deliveries are sent again", &view)
}

/// Sends what happened since a time and was never acknowledged, deliveries that there never were among it.
pub async fn replay_missing(
    State(state): State<ApiState>,
    Id(webhook): Id<WebhookId>,
    Body(asked): Body<Missing>,
) -> Answer {
    known(&state, webhook)?;
    let since = moment("since", Some(&asked.since))?.unwrap_or_default();
    let webhooks = &state.engine.webhooks;
    let done = webhooks.replay_missing(webhook, since, asked.after).await?;
    let view = json!({
        "replayed": done.replayed,
        "examined": done.examined,
        "has_more": done.after.is_some(),
        "after": done.after,
    });
    ok("Missing deliveries are sent", &view)
}

fn known(state: &ApiState, webhook: WebhookId) -> Result<(), ApiError> {
    state
        .engine
        .access
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
