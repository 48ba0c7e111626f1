//! All routes of the server, and what surrounds them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::HeaderName;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use switchyard_engine::limits::BODY_BYTES;

use crate::config::{Settings, TrustedProxies};
use crate::error::ApiError;
use crate::operations::{Draining, Operations, Trust, identify};
use crate::state::ApiState;
use crate::{callbacks, checkout, operator, routes};

/// Outermost first: the frame (id, log, metrics, panics), the client's address, the time limit, the size limit, the routes.
pub fn all(
    state: ApiState,
    operations: &Operations,
    draining: &Draining,
    settings: &Settings,
) -> anyhow::Result<Router> {
    let proxies = TrustedProxies::parse(&settings.server.trusted_proxies);
    let country_header = settings.server.country_header.as_ref();
    let trust = Trust {
        proxies: Arc::new(
            proxies.map_err(|text| anyhow!("server.trusted_proxies holds `{text}`"))?,
        ),
        country_header: country_header.map(HeaderName::try_from).transpose()?,
    };
    let checkout = checkout::router(state.clone(), draining.clone());
    let rooms = routes::routes()
        .nest(
            "/operator/v1",
            operator::routes(state.clone(), draining.clone()),
        )
        .merge(callbacks::routes())
        .merge(operations.router())
        .merge(checkout.with_state(()))
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .layer(from_fn_with_state(
            settings.server.request_timeout.0,
            in_time,
        ))
        .layer(from_fn_with_state(trust, identify));
    Ok(routes::framed(rooms, state))
}

/// Gives up on a request that takes too long. What it stored by then stays stored.
async fn in_time(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::too_slow().into_response(),
    }
}
