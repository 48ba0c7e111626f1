//! Callbacks of a connection: list, show, reprocess.

use axum::extract::{Path, State};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};
use switchyard_engine::callback::{Callback, CallbackQuery, CallbackState};
use switchyard_engine::ids::{CallbackId, ConnectionId};

use super::error::{Answer, invalid, not_found};
use super::input::{Asked, Id, ok};
use super::view::{iso, shown};
use crate::error::ApiError;
use crate::state::ApiState;

pub fn routes() -> axum::Router<ApiState> {
    axum::Router::new()
        .route("/connections/{connection}/callbacks", get(list))
        .route("/connections/{connection}/callbacks/{callback}", get(show))
        .route(
            "/connections/{connection}/callbacks/{callback}/retry",
            post(retry),
        )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    state: Option<String>,
    /// Older ones than this: the `more` of the last page.
    before: Option<String>,
    limit: Option<usize>,
}

/// Newest first. `more` is where the next page begins: `?before=`.
pub async fn list(
    State(state): State<ApiState>,
    Id(connection): Id<ConnectionId>,
    Asked(filter): Asked<Filter>,
) -> Answer {
    let wanted = filter.state.as_deref().map(|text| {
        CallbackState::parse(text).ok_or_else(|| {
            let known = CallbackState::ALL.map(CallbackState::as_str);
            invalid("state", format!("state is one of {}", known.join(", ")))
        })
    });
    let before = filter.before.as_deref().map(str::parse::<CallbackId>);
    let query = CallbackQuery {
        connection,
        state: wanted.transpose()?,
        before: before
            .transpose()
            .map_err(|_| invalid("before", "before is the id of a callback"))?,
        limit: filter.limit.unwrap_or(PER_PAGE).clamp(1, 100),
    };
    let callbacks = state.engine.list_callbacks(&query).await?;
    let is_full = callbacks.len() == query.limit;
    let more = callbacks.last().filter(|_| is_full).map(|last| last.id);
    let callbacks: Vec<Value> = callbacks.iter().map(view).collect();
    ok(
        "Callbacks fetched successfully",
        &json!({ "callbacks": callbacks, "more": more }),
    )
}

pub async fn show(
    State(state): State<ApiState>,
    Path((connection, callback)): Path<(String, String)>,
) -> Answer {
    let (connection, callback) = ids(&connection, &callback)?;
    let found = state.engine.callback(connection, callback).await?;
    let found = found.ok_or_else(|| not_found("callback"))?;
    ok("Callback fetched successfully", &view(&found))
}

pub async fn retry(
    State(state): State<ApiState>,
    Path((connection, callback)): Path<(String, String)>,
) -> Answer {
    let (connection, callback) = ids(&connection, &callback)?;
    let found = state.engine.retry_callback(connection, callback).await?;
    let found = found.ok_or_else(|| not_found("callback"))?;
    ok("Callback is processed again", &view(&found))
}

/// Without what came: of that, only what the gateway's redactor left.
pub fn view(callback: &Callback) -> Value {
    json!({
        "id": callback.id,
        "connection": callback.connection,
        "app": callback.app,
        "environment": callback.environment,
        "gateway": callback.gateway,
        "state": callback.state,
        "received_at": iso(callback.received_at),
        "from": callback.from,
        "bytes": callback.bytes,
        "trusted": callback.trusted,
        "reference": callback.reference,
        "provider_id": callback.provider_id,
        "transaction": callback.transaction,
        "attempt": callback.attempt,
        "note": callback.note,
        "tries": callback.tries,
        "next_try_at": callback.next_try_at.map(iso),
        "dealt_with_at": callback.dealt_with_at.map(iso),
        "awaits_its_transaction": callback.awaits,
        "request": shown(&callback.request),
    })
}

fn ids(connection: &str, callback: &str) -> Result<(ConnectionId, CallbackId), ApiError> {
    let connection = connection.parse().map_err(|_| not_found("connection"))?;
    let callback = callback.parse().map_err(|_| not_found("callback"))?;
    Ok((connection, callback))
}

const PER_PAGE: usize = 20;
