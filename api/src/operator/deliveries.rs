//! What was sent to a webhook: deliveries, their attempts, and sending them anew.

use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Value, json};
use switchyard_engine::ids::{DeliveryId, WebhookId};
use switchyard_engine::webhook::{LogError, ReplayError};

use super::error::{Answer, Refused, invalid, not_found};
use super::input::{Asked, Body, Id, moment, ok};
use super::view::shown;
use crate::error::{ApiError, ErrorCode, Problem};
use crate::state::ApiState;

#[derive(Deserialize)]
pub struct Page {
    /// Older ones than this: a delivery's id, or an attempt's time.
    before: Option<String>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Since {
    /// What failed then or later. Without it: all that failed.
    since: Option<String>,
}

impl Page {
    fn limit(&self) -> usize {
        self.limit.unwrap_or(PER_PAGE).clamp(1, 100)
    }
}

/// Deliveries that were tried or given up, newest first.
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
    let views: Vec<Value> = attempts.iter().map(shown).collect();
    ok("Attempts fetched successfully", &views)
}

/// Sends one delivery anew, whatever became of it.
pub async fn replay(
    State(state): State<ApiState>,
    Path((webhook, delivery)): Path<(String, String)>,
) -> Answer {
    let webhook: WebhookId = webhook.parse().map_err(|_| not_found("webhook"))?;
    let delivery: DeliveryId = delivery.parse().map_err(|_| not_found("delivery"))?;
    let delivery = state.engine.webhooks.replay(webhook, delivery).await?;
    ok("Delivery is sent again", &shown(&delivery))
}

/// Sends anew all that failed.
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
                tracing::error!(error = %unreadable, "The delivery log could not be read.");
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
            ReplayError::Moving => problem(ErrorCode::ResourceChanged),
            ReplayError::Log(error) => error.into(),
            ReplayError::Commit(_) => ApiError::unavailable().into(),
        }
    }
}

const PER_PAGE: usize = 20;
