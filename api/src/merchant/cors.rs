//! CORS: a public key may be used from a browser, so the headers allow pages of all hosts to
//! initialize a payment, and nothing else.
//!
//! This API uses no cookies, so `*` grants no access without a key.

use axum::extract::Request;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ALLOW,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::frame;

/// Answers a browser that asks whether a page may send a call. Anybody else who sends `OPTIONS`
/// uses a method that is not there.
pub async fn preflight(request: Request) -> Response {
    if !request
        .headers()
        .contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    {
        let refused = frame::no_method(request).await;
        return ([(ALLOW, "POST")], refused).into_response();
    }
    let headers = [
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (ACCESS_CONTROL_ALLOW_METHODS, "POST"),
        (
            ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, idempotency-key",
        ),
        (ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// The route that pages of other hosts may call.
pub const ROUTE: &str = "/v1/payments/initialize";

/// Adds the headers by which a page may read the response, errors and time-outs included.
pub fn open(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static(READABLE),
    );
}

const READABLE: &str = "x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, retry-after, idempotent-replayed";
