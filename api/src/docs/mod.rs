//! `/docs`, `/operator/docs` and `/account/docs`: the OpenAPI documents as pages to read; below them `/errors`: all
//! error codes, and `/errors/<code>`: what each means.
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
use crate::state::ApiState;
use crate::{account, frame, openapi, operator};

/// The page of the merchant API's document.
pub fn routes() -> Router<ApiState> {
    let (html, script) = placed("");
    Router::new()
        .route("/docs", get(async move || page(html)))
        .route("/docs/page.css", get(style))
        .route(
            "/docs/page.js",
            get(async move || asset(JAVASCRIPT, script)),
        )
        .route("/docs/redoc.standalone.js", get(redoc))
        .route("/docs/redoc.standalone.js.LICENSE.txt", get(licences))
        .route("/docs/errors", get(error_list))
        .route("/docs/errors/{code}", get(error_page))
}

/// The operator API's document and its page. They take no token, like those of the merchant API:
/// they contain no data of the installation, and a browser that opens a page sends no token. The
/// assets are served here, too: the operators' listener of a production server has no `/docs`.
pub fn operator_routes() -> Router<ApiState> {
    let (html, script) = placed("/operator");
    // The document is made once and kept for as long as the program runs.
    let document: &'static str = operator::document().to_json().unwrap_or_default().leak();
    Router::new()
        .route(
            "/operator/openapi.json",
            get(async move || openapi::serve(document)),
        )
        .route("/operator/docs", get(async move || page(html)))
        .route("/operator/docs/page.css", get(style))
        .route(
            "/operator/docs/page.js",
            get(async move || asset(JAVASCRIPT, script)),
        )
        .route("/operator/docs/redoc.standalone.js", get(redoc))
        .route(
            "/operator/docs/redoc.standalone.js.LICENSE.txt",
            get(licences),
        )
        .route("/operator/docs/errors", get(error_list))
        .route("/operator/docs/errors/{code}", get(error_page))
}

/// The account API's document and its page, without a token either. The assets are served here,
/// too: the console's listener of a production server has no `/docs`.
pub fn account_routes() -> Router<ApiState> {
    let (html, script) = placed("/account");
    // The document is made once and kept for as long as the program runs.
    let document: &'static str = account::document().to_json().unwrap_or_default().leak();
    Router::new()
        .route(
            "/account/openapi.json",
            get(async move || openapi::serve(document)),
        )
        .route("/account/docs", get(async move || page(html)))
        .route("/account/docs/page.css", get(style))
        .route(
            "/account/docs/page.js",
            get(async move || asset(JAVASCRIPT, script)),
        )
        .route("/account/docs/redoc.standalone.js", get(redoc))
        .route(
            "/account/docs/redoc.standalone.js.LICENSE.txt",
            get(licences),
        )
        .route("/account/docs/errors", get(error_list))
        .route("/account/docs/errors/{code}", get(error_page))
}

/// The page and its script, with addresses below `path`. They are made once and kept
/// for as long as the program runs.
fn placed(path: &str) -> (&'static str, &'static str) {
    let placed = |text: &str| -> &'static str { text.replace("{path}", path).leak() };
    let script = placed(include_str!("page.js"));
    (placed(include_str!("page.html")), script)
}

fn page(html: &'static str) -> Response {
    let headers = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (headers, asset("text/html; charset=utf-8", html)).into_response()
}

async fn style() -> Response {
    asset("text/css; charset=utf-8", include_str!("page.css"))
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

/// Page of one error code: its cause and its remedy.
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
