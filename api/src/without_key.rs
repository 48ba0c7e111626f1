//! Limit on requests without a key from one client address: pages, status polls, event streams,
//! method lists, unknown paths, and requests with a key that opens nothing.
//!
//! Keys, connections of providers, operators and health checks have limits of their own or none.

use std::net::IpAddr;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::checkout::front;
use crate::client;
use crate::error::ApiError;
use crate::state::ApiState;

/// Answers a request that is over the limit: a page for a browser, JSON for a program.
pub async fn limit(State(state): State<ApiState>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("", MatchedPath::as_str);
    if NOT_COUNTED.iter().any(|start| route.starts_with(start)) {
        return next.run(request).await;
    }
    let address = client::address(&state.settings, request.headers(), request.extensions());
    match refusal(&state, address) {
        None => next.run(request).await,
        Some(refusal) if front::accepts_html(&request) => {
            front::busy(&state, &request, refusal.retry_after.unwrap_or(1))
        }
        Some(refusal) => refusal.into_response(),
    }
}

/// Counts a request without a key. `None`: it is within the limit, or its address is not known, as
/// inside a test.
pub fn refusal(state: &ApiState, address: Option<IpAddr>) -> Option<ApiError> {
    let rate = state.engine.access.allow_without_key(address?);
    (!rate.allowed).then(|| ApiError::too_many_requests(rate))
}

/// Beginnings of routes whose requests are not counted here. Those of merchants are counted by key,
/// and here when their key opens nothing.
const NOT_COUNTED: [&str; 7] = [
    "/v1/payments",
    "/v1/payouts",
    "/callbacks/",
    "/operator/",
    "/healthz",
    "/readyz",
    "/metrics",
];
