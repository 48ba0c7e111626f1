//! `/docs`: the OpenAPI document as a page to read; `/docs/errors`: all error codes, and `/docs/errors/<code>`: what each means.
//!
//! All of its assets are part of the program; it asks no other host for anything.

use axum::Router;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::error::ErrorCode;
use crate::frame;
use crate::state::ApiState;

pub fn routes() -> Router<ApiState> {
    Router::new()
        .route("/docs", get(page))
        .route("/docs/page.css", get(style))
        .route("/docs/page.js", get(script))
        .route("/docs/redoc.standalone.js", get(redoc))
        .route("/docs/redoc.standalone.js.LICENSE.txt", get(licences))
        .route("/docs/errors", get(error_list))
        .route("/docs/errors/{code}", get(error_page))
}

async fn page() -> Response {
    let headers = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (
        headers,
        asset("text/html; charset=utf-8", include_str!("page.html")),
    )
        .into_response()
}

async fn style() -> Response {
    asset("text/css; charset=utf-8", include_str!("page.css"))
}

async fn script() -> Response {
    asset(JAVASCRIPT, include_str!("page.js"))
}

async fn redoc() -> Response {
    asset(JAVASCRIPT, include_str!("vendor/redoc.standalone.js"))
}

/// The licences of Redoc and of what its bundle contains; the bundle's first line points here.
async fn licences() -> Response {
    let text = concat!(
        include_str!("vendor/redoc.LICENSE.txt"),
        "\n",
        include_str!("vendor/redoc.standalone.js.LICENSE.txt")
    );
    asset("text/plain; charset=utf-8", text)
}

/// Every code with its status and type.
async fn error_list() -> Response {
    asset(
        "text/plain; charset=utf-8",
        include_str!("../../../docs/errors/README.md"),
    )
}

/// What happened and what to do, for one code.
async fn error_page(code: Result<Path<String>, PathRejection>, uri: Uri) -> Response {
    let code = code.ok().and_then(|Path(word)| {
        let mut codes = ErrorCode::ALL.iter();
        codes.find(|code| code.as_str() == word)
    });
    match code {
        Some(code) => asset("text/plain; charset=utf-8", code.page()),
        None => frame::nothing_at(&uri).into_response(),
    }
}

fn asset(content_type: &'static str, body: &'static str) -> Response {
    let headers: [(HeaderName, &str); 3] = [
        (CONTENT_TYPE, content_type),
        (CACHE_CONTROL, "public, max-age=3600"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, body).into_response()
}

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
/// The reference is drawn with styles that its script makes; nothing comes from elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
