//! Callbacks of a connection: list, show, reprocess.

use axum::extract::{Path, State};
use switchyard_core::ids::{CallbackId, ConnectionId};
use switchyard_engine::callback::{CallbackQuery, CallbackState};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::callbacks::{Callback, CallbackFilter, Callbacks};
use super::error::{Answer, invalid, not_found};
use super::input::{Id, QueryParams, ok};
use crate::error::ApiError;
use crate::openapi::Success;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(retry))
}

/// List the callbacks of a provider
///
/// Newest first. `more` is the start of the next page: `?before=`.
#[utoipa::path(
    get,
    path = "/connections/{connection}/callbacks",
    operation_id = "listCallbacks",
    tag = "Callbacks",
    params(CallbackFilter),
    responses((status = 200, description = "A page of callbacks.", body = Success<Callbacks>)),
)]
async fn list(
    State(state): State<ApiState>,
    Id(connection): Id<ConnectionId>,
    QueryParams(filter): QueryParams<CallbackFilter>,
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
    let callbacks = state.engine().list_callbacks(&query).await?;
    let is_full = callbacks.len() == query.limit;
    let more = callbacks.last().filter(|_| is_full).map(|last| last.id);
    let page = Callbacks {
        callbacks: callbacks.iter().map(Callback::from).collect(),
        more,
    };
    ok("Callbacks fetched successfully", &page)
}

/// Retrieve a callback with its redacted request
#[utoipa::path(
    get,
    path = "/connections/{connection}/callbacks/{callback}",
    operation_id = "retrieveCallback",
    tag = "Callbacks",
    responses((status = 200, description = "The callback.", body = Success<Callback>)),
)]
async fn show(
    State(state): State<ApiState>,
    Path((connection, callback)): Path<(String, String)>,
) -> Answer {
    let (connection, callback) = ids(&connection, &callback)?;
    let found = state.engine().callback(connection, callback).await?;
    let found = found.ok_or_else(|| not_found("callback"))?;
    ok("Callback fetched successfully", &Callback::from(&found))
}

/// Process a callback again
///
/// Each later version of a gateway automatically processes callbacks once that failed at all tries.
#[utoipa::path(
    post,
    path = "/connections/{connection}/callbacks/{callback}/retry",
    operation_id = "retryCallback",
    tag = "Callbacks",
    responses((status = 200, description = "The callback.", body = Success<Callback>)),
)]
async fn retry(
    State(state): State<ApiState>,
    Path((connection, callback)): Path<(String, String)>,
) -> Answer {
    let (connection, callback) = ids(&connection, &callback)?;
    let found = state.engine().retry_callback(connection, callback).await?;
    let found = found.ok_or_else(|| not_found("callback"))?;
    ok("Callback is processed again", &Callback::from(&found))
}

fn ids(connection: &str, callback: &str) -> Result<(ConnectionId, CallbackId), ApiError> {
    let connection = connection.parse().map_err(|_| not_found("connection"))?;
    let callback = callback.parse().map_err(|_| not_found("callback"))?;
    Ok((connection, callback))
}

const PER_PAGE: usize = 20;
