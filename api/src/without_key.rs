//! Limit on requests without a key from one client address: pages, status polls, event streams,
//! method lists, unknown paths, and requests with a key that opens nothing.
//!
//! Keys, connections of providers, operators and health checks have limits of their own or none.

use std::net::IpAddr;

use axum::RequestExt as _;
use axum::extract::{MatchedPath, Path, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use switchyard_core::ids::{PaymentId, TransactionId};

use crate::checkout::front;
use crate::client;
use crate::error::ApiError;
use crate::state::ApiState;

/// Answers a request that is over the limit: a page for a browser, JSON for a program.
pub async fn limit(State(state): State<ApiState>, mut request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("", MatchedPath::as_str);
    if NOT_COUNTED.iter().any(|start| route.starts_with(start)) {
        return next.run(request).await;
    }
    let address = client::address(state.settings(), request.headers(), request.extensions());
    let refusal = match refusal(&state, address) {
        Some(refusal) => match of_payer(&state, address, &mut request).await {
            Some(of_payer) => of_payer,
            None => Some(refusal),
        },
        None => None,
    };
    match refusal {
        None => next.run(request).await,
        Some(refusal) if front::accepts_html(&request) => {
            front::busy(&state, &request, refusal.retry_after.unwrap_or(1))
        }
        Some(refusal) => refusal.into_response(),
    }
}

/// Counts a request for the pages of a payment. Payers behind one address, of a mobile network,
/// still reach them when others have used up what the address may ask. `None`: the request is for
/// no page of a payment.
async fn of_payer(
    state: &ApiState,
    address: Option<IpAddr>,
    request: &mut Request,
) -> Option<Option<ApiError>> {
    let route = request.extensions().get::<MatchedPath>();
    if !route.is_some_and(|route| route.as_str().starts_with("/checkout/{id}")) {
        return None;
    }
    let path = request.extract_parts::<Path<Vec<(String, String)>>>().await;
    let (_, id) = path.ok()?.0.into_iter().next()?;
    let id = id.parse::<PaymentId>().ok()?;
    let access = state.engine().access();
    if !access.allow_payers(address?).allowed {
        return None;
    }
    let tx = state.engine().transaction(TransactionId::Payment(id)).await;
    tx.ok().flatten()?;
    let rate = access.allow_payer(id);
    Some((!rate.allowed).then(|| ApiError::too_many_requests(rate)))
}

/// Counts a request without a key. `None`: it is within the limit, or its address is not known, as
/// inside a test.
pub fn refusal(state: &ApiState, address: Option<IpAddr>) -> Option<ApiError> {
    let rate = state.engine().access().allow_without_key(address?);
    (!rate.allowed).then(|| ApiError::too_many_requests(rate))
}

/// Beginnings of routes whose requests are not counted here. Those of merchants are counted by key,
/// those of users by token, and here when their key or token opens nothing.
const NOT_COUNTED: [&str; 8] = [
    "/v1/payments",
    "/v1/payouts",
    "/callbacks/",
    "/operator/",
    "/account/v1/",
    "/healthz",
    "/readyz",
    "/metrics",
];
