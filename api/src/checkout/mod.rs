//! The hosted checkout: the pages on which a person pays.
//!
//! ```text
//! GET  /checkout/{id}   choose    country and method            POST …/details → 303
//! GET  …/details        details   what is still missing         POST …/confirm → 303
//! GET  …/confirm        confirm   everything once more          POST …/cancel  → 303
//! GET  …/wait           wait      what to do, until it ends     POST …/code, …/give-up → 303
//! GET  …/events, …/status         changes of the status page
//! GET  …/result         result    the outcome, and back to the merchant
//! GET  …/receipt        receipt   a success, for printing: mails link to it
//!
//! GET  /l/{code}        payment link: amount and payer          POST → 303 to a new payment
//! GET  …/done           the end of a payment, without a page of the merchant
//! ```
//!
//! Promises: every page works without script, as plain forms and links; every page asks where the
//! payment stands and leads to the one that fits, so that no button pressed twice, no old page and
//! no second tab can do harm; what merchants and payers wrote is text and never markup; nothing is
//! kept in the browser but the address. Left out: any decision about a payment, which is the
//! engine's.

mod action;
mod again;
mod answers;
mod assets;
mod brand;
mod cancel;
mod choose;
mod code;
mod confirm;
mod crypto;
mod details;
mod error_page;
mod form;
mod form_fields;
pub mod front;
mod leave;
mod link;
mod link_form;
mod live;
mod lost;
mod menu;
mod money;
mod offer;
mod page_context;
mod receipt;
mod request;
mod result;
mod state;
mod step;
mod streams;
#[cfg(test)]
pub(crate) mod tests;
mod wait;
mod wait_progress;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::ACCEPT_LANGUAGE;
use axum::http::{HeaderMap, Method, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{MethodRouter, get, post};
use futures_util::FutureExt;
use tower_http::compression::CompressionLayer;

use crate::operations::Draining;
use crate::pages::messages;
use crate::state::ApiState;
use error_page::ErrorPage;
use page_context::Visitor;
use state::CheckoutState;

/// How long one page may take. The longest step, a confirmation, waits 1.5 s for its gateway.
const DEADLINE: Duration = Duration::from_secs(15);

/// The routes of the checkout. Open streams of events end when the server begins to.
pub fn router(state: ApiState, draining: Draining) -> Router {
    messages::warm_up();
    let state = CheckoutState::new(state, draining);
    let pages = Router::new()
        .route("/checkout/{id}", page(get(choose::get)))
        // Whoever copies a link may add a slash, and payers read no JSON.
        .route("/checkout/{id}/", page(get(choose::get)))
        .route(
            "/checkout/{id}/details",
            page(get(details::get).post(details::post)),
        )
        .route(
            "/checkout/{id}/confirm",
            page(get(confirm::get).post(confirm::post)),
        )
        .route(
            "/checkout/{id}/cancel",
            page(get(cancel::get).post(cancel::post)),
        )
        .route("/checkout/{id}/wait", page(get(wait::get)))
        .route("/checkout/{id}/code", page(post(code::post)))
        .route("/checkout/{id}/give-up", page(post(wait_progress::post)))
        .route("/checkout/{id}/result", page(get(result::get)))
        .route("/checkout/{id}/receipt", page(get(receipt::get)))
        .route("/checkout/{id}/status", page(get(live::status)))
        .route("/l/{code}", page(get(link::get).post(link::post)))
        .route("/l/{code}/", page(get(link::get)))
        .route("/l/{code}/done", page(get(link::done)))
        .route("/checkout", page(get(missing)))
        .route("/checkout/", page(get(missing)))
        .route("/checkout/{id}/{nothing}", page(get(nowhere)))
        .route("/checkout/{id}/{nothing}/{*rest}", page(get(nowhere)))
        .layer(CompressionLayer::new())
        .layer(DefaultBodyLimit::max(form::FORM_BYTES));
    // Events are no page: compressing would hold them back.
    let events = Router::new().route("/checkout/{id}/events", page(get(live::events)));
    pages
        .merge(events)
        .layer(middleware::from_fn_with_state(
            state.clone(),
            only_own_forms,
        ))
        .layer(middleware::from_fn_with_state(state.clone(), in_time))
        .with_state(state)
}

/// Leads a form that another site sent to the payment's page, and does nothing else with it.
/// Browsers name the site of a form in `Sec-Fetch-Site`; a client without the header is none.
async fn only_own_forms(
    State(state): State<CheckoutState>,
    request: Request,
    next: Next,
) -> Response {
    let site = request.headers().get("sec-fetch-site");
    let is_foreign = site.is_some_and(|site| site == "cross-site" || site == "same-site");
    if request.method() != Method::POST || !is_foreign {
        return next.run(request).await;
    }
    let accept = request.headers().get(ACCEPT_LANGUAGE);
    let visitor = request::visitor(&state, request.uri(), accept, None);
    Redirect::to(&home(&visitor, request.uri())).into_response()
}

/// Ends a page at its timeout, with an error page. A confirmed payment continues.
async fn in_time(State(state): State<CheckoutState>, request: Request, next: Next) -> Response {
    let uri = request.uri().clone();
    let accept = request.headers().get(ACCEPT_LANGUAGE).cloned();
    // Pages share nothing but what is guarded by locks or by the store, which a panic leaves whole.
    let page = AssertUnwindSafe(next.run(request)).catch_unwind();
    match tokio::time::timeout(DEADLINE, page).await {
        Ok(Ok(response)) => response,
        failed => {
            let why = if failed.is_err() {
                "took too long"
            } else {
                "panicked"
            };
            tracing::error!(path = uri.path(), why, "checkout page timed out");
            let visitor = request::visitor(&state, &uri, accept.as_ref(), None);
            let home = home(&visitor, &uri);
            error_page::page(&visitor, ErrorPage::Unavailable, Some(home))
        }
    }
}

/// A route that also has a page for methods which no link or form of ours uses.
fn page(route: MethodRouter<CheckoutState>) -> MethodRouter<CheckoutState> {
    route.fallback(wrong_method)
}

async fn missing(State(state): State<CheckoutState>, uri: Uri, headers: HeaderMap) -> Response {
    let visitor = request::visitor(&state, &uri, headers.get(ACCEPT_LANGUAGE), None);
    error_page::page(&visitor, ErrorPage::Missing, None)
}

/// An address below that of a payment that belongs to no page. The payment may exist.
async fn nowhere(State(state): State<CheckoutState>, uri: Uri, headers: HeaderMap) -> Response {
    let visitor = request::visitor(&state, &uri, headers.get(ACCEPT_LANGUAGE), None);
    error_page::page(&visitor, ErrorPage::Nowhere, None)
}

async fn wrong_method(
    State(state): State<CheckoutState>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let visitor = request::visitor(&state, &uri, headers.get(ACCEPT_LANGUAGE), None);
    let home = home(&visitor, &uri);
    error_page::page(&visitor, ErrorPage::WrongMethod, Some(home))
}

/// The payment's first page, whatever step the address names.
fn home(visitor: &Visitor, uri: &Uri) -> String {
    let path: Vec<_> = uri.path().split('/').take(3).collect();
    format!("{}{}", visitor.prefix, path.join("/"))
}
