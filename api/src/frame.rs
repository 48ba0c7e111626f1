//! The one layer around every route: an id for the request, its metrics, its line in the log, and
//! an answer even when a handler panics.

use std::panic::AssertUnwindSafe;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use switchyard_system::trace::{Span, SpanKind, TraceContext};
use tokio::time::Instant;
use tracing::{Instrument as _, field};

use crate::checkout::front;
use crate::error::{ApiError, ErrorCode, Problem};
use crate::merchant::cors;
use crate::operations::logging::REQUESTS;
use crate::pages::headers::{HSTS, NO_PAGE};
use crate::state::ApiState;

/// The id of a request, as its answer and the log give it. Handlers find it in the request's
/// extensions.
#[derive(Clone, Debug)]
pub struct RequestId(pub HeaderValue);

/// Answers every request under an id.
pub async fn frame(State(state): State<ApiState>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(&state);
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    request.extensions_mut().insert(RequestId(id.clone()));
    // Handlers share nothing but what is guarded by locks or by the store, which a panic leaves
    // whole.
    let span = tracing::info_span!(
        "request",
        request.id = id.to_str().unwrap_or_default(),
        transaction.id = field::Empty,
        trace.id = field::Empty
    );
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    let trace = trace(&request, &id, route);
    if let Some(trace_id) = trace.trace_id() {
        span.record("trace.id", trace_id);
    }
    let handled = trace.scope(next.run(request)).instrument(span.clone());
    let answer = AssertUnwindSafe(handled).catch_unwind().await;
    let mut response = answer.unwrap_or_else(|_| ApiError::internal().into_response());
    answered(trace, response.status());
    span.in_scope(|| record(&state, &method, route, response.status(), started));
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if state.engine().settings().public_url.starts_with("https:") {
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(HSTS));
    }
    cautious(headers);
    if method == Method::POST && route == cors::ROUTE {
        cors::open(headers);
    }
    response
}

/// The span of a request, in the trace of its client. Requests that machines repeat every few
/// seconds have none.
fn trace(request: &Request, id: &HeaderValue, route: &str) -> Span {
    if LOOKS.contains(&route) {
        return Span::none();
    }
    let client = TraceContext::of_request(request.headers());
    let span = Span::begin_at(&client, "request", SpanKind::Server);
    span.rename(|| format!("{} {route}", method_label(request.method())));
    span.set("http.request.method", || method_label(request.method()));
    span.set("http.route", || route.to_owned());
    span.set("request.id", || id.to_str().unwrap_or_default().to_owned());
    span
}

/// Ends the span of a request.
fn answered(span: Span, status: StatusCode) {
    span.set("http.response.status_code", || i64::from(status.as_u16()));
    if status.is_server_error() {
        span.fail("server error");
    }
}

/// Sets the default security headers of a response that is no page: it holds personal data.
fn cautious(headers: &mut HeaderMap) {
    for (name, value) in CAUTIOUS {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
}

/// The response to an unknown route: a page for a browser, JSON for a program.
pub async fn no_route(State(state): State<ApiState>, request: Request) -> Response {
    if front::is_wanted(&request) {
        return front::page(&state, &request);
    }
    nothing_at(request.uri()).into_response()
}

pub fn nothing_at(uri: &Uri) -> ApiError {
    let path: String = uri.path().chars().take(100).collect();
    let problem = Problem::new(
        ErrorCode::RouteNotFound,
        format!("There is nothing at {path}"),
    );
    let hint = match uri.path().starts_with("/operator") {
        true => "The listener for operators describes the operator API at /operator/docs.",
        false => "The API is described at /docs.",
    };
    problem.hint(hint).into()
}

/// Response of a known route to a method that it does not have. The header `Allow` lists its
/// methods.
pub async fn no_method(request: Request) -> ApiError {
    let (method, path) = (request.method().as_str(), request.uri().path());
    let path: String = path.chars().take(100).collect();
    let method: String = method.chars().take(20).collect();
    let message = format!("{method} is not allowed at {path}");
    Problem::new(ErrorCode::MethodNotAllowed, message)
        .hint("The header Allow names the methods that are.")
        .into()
}

fn request_id(state: &ApiState) -> HeaderValue {
    let engine = state.engine();
    let mut buffer = [0; ulid_text::LENGTH];
    let text = ulid_text::write(engine.ids().ulid(engine.clock().now()).0, &mut buffer);
    // Letters and digits are always a header value.
    HeaderValue::from_bytes(text).unwrap_or_else(|_| HeaderValue::from_static("req_unknown"))
}

fn record(state: &ApiState, method: &Method, route: &str, status: StatusCode, started: Instant) {
    let elapsed = started.elapsed();
    let verb = method_label(method);
    state.meters().answered(verb, route, status, elapsed);
    let duration_ms = elapsed.as_secs_f64() * 1_000.0;
    if status == StatusCode::SERVICE_UNAVAILABLE {
        tracing::warn!(http.method = %method, http.route = route, http.status = status.as_u16(), duration_ms,
            "request refused as unavailable");
    } else if status.is_server_error() {
        tracing::error!(http.method = %method, http.route = route, http.status = status.as_u16(), duration_ms,
            "request failed with a server error");
    } else if LOOKS.contains(&route) {
        tracing::debug!(target: REQUESTS, { http.method = %method, http.route = route, http.status = status.as_u16(), duration_ms },
            "request completed");
    } else {
        tracing::info!(target: REQUESTS, { http.method = %method, http.route = route, http.status = status.as_u16(), duration_ms },
            "request completed");
    }
}

/// Routes that machines poll every few seconds, logged at a lower level.
const LOOKS: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// Methods that anybody may make up do not make new time series.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::HEAD => "HEAD",
        Method::PATCH => "PATCH",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

/// `req_` and a lower-case ULID, written without an allocation.
mod ulid_text {
    pub const LENGTH: usize = PREFIX.len() + 26;
    const PREFIX: &[u8] = b"req_";
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

    pub fn write(ulid: u128, buffer: &mut [u8; LENGTH]) -> &[u8] {
        buffer[..PREFIX.len()].copy_from_slice(PREFIX);
        for (place, letter) in buffer[PREFIX.len()..].iter_mut().rev().enumerate() {
            *letter = ALPHABET[(ulid >> (5 * place)) as usize & 31];
        }
        buffer
    }
}

const CAUTIOUS: [(HeaderName, &str); 3] = [
    (CACHE_CONTROL, "no-store"),
    (REFERRER_POLICY, "no-referrer"),
    (CONTENT_SECURITY_POLICY, NO_PAGE),
];
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

#[cfg(test)]
mod tests {
    use switchyard_core::ids::PaymentId;
    use switchyard_core::time::Timestamp;
    use switchyard_gateway_host::Gateways;
    use switchyard_system::ids::Ids;

    use super::*;

    #[test]
    fn a_request_id_is_spelt_like_every_other_id() {
        let ulid = Ids::seeded(4).ulid(Timestamp::from_seconds(1_700_000_000));
        let mut buffer = [0; ulid_text::LENGTH];
        let text = ulid_text::write(ulid.0, &mut buffer);
        let same = PaymentId::new(ulid).to_string().replace("py_", "req_");
        assert_eq!(text, same.as_bytes());
    }

    #[tokio::test]
    async fn a_panic_is_answered_with_the_envelope() {
        use axum::body::Body;
        use tower::ServiceExt as _;

        let test = switchyard_engine::testing::TestEngineBuilder::with(Gateways::default())
            .start()
            .await;
        let state = ApiState::new(test.engine.clone(), crate::state::HttpSettings::default());
        let panics = axum::Router::new()
            .route("/", axum::routing::post(panics))
            .route(cors::ROUTE, axum::routing::post(panics));
        let router = crate::routes::framed(panics, state);
        for (path, may_be_read) in [("/", false), (cors::ROUTE, true)] {
            let request = Request::post(path).body(Body::empty()).unwrap();
            let answer = router.clone().oneshot(request).await.unwrap();
            assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
            assert!(answer.headers().contains_key(REQUEST_ID));
            let origin = answer.headers().get("access-control-allow-origin");
            assert_eq!(origin.is_some(), may_be_read, "{path}");
            let body = axum::body::to_bytes(answer.into_body(), 10_000)
                .await
                .unwrap();
            assert!(String::from_utf8_lossy(&body).contains("\"code\":\"internal_error\""));
        }
    }

    async fn panics() {
        panic!("on purpose");
    }
}
