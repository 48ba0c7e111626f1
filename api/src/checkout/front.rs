//! Pages for people at addresses that belong to no payment: the front page, and what an unknown
//! address shows.

use askama::Template;
use axum::extract::Request;
use axum::http::header::{ACCEPT, ACCEPT_LANGUAGE};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use switchyard_core::ids::{PaymentId, TransactionId};

use super::error_page::{self, ErrorPage};
use super::page_context::Frame;
use super::request::visitor;
use super::state::CheckoutState;
use crate::operations::Draining;
use crate::state::ApiState;

#[derive(Template)]
#[template(path = "checkout/front.html")]
struct Page {
    frame: Frame,
    docs: String,
}

/// Whether a browser asks, for a page to show: programs get JSON.
pub fn is_wanted(request: &Request) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD) && accepts_html(request)
}

/// Whether a browser sent the request to show the response: by a link or a form.
pub fn accepts_html(request: &Request) -> bool {
    let accept = request.headers().get(ACCEPT);
    let accepts = accept.and_then(|accept| accept.to_str().ok());
    accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

/// The page for a client whose address has sent too many requests; it may send the next in
/// `seconds`.
pub fn busy(state: &ApiState, request: &Request, seconds: u32) -> Response {
    let state = CheckoutState::new(state.clone(), Draining::default());
    let language = request.headers().get(ACCEPT_LANGUAGE);
    let visitor = visitor(&state, request.uri(), language, None);
    let mut path = request.uri().path().split('/');
    let id = path.nth(2).and_then(|id| id.parse::<PaymentId>().ok());
    let home = id.map(|id| visitor.link(TransactionId::Payment(id), "", &[]));
    error_page::page(&visitor, ErrorPage::Busy(seconds), home)
}

/// The page at an address that no route has.
pub fn page(state: &ApiState, request: &Request) -> Response {
    let state = CheckoutState::new(state.clone(), Draining::default());
    let language = request.headers().get(ACCEPT_LANGUAGE);
    let visitor = visitor(&state, request.uri(), language, None);
    if request.uri().path() != "/" {
        return error_page::page(&visitor, ErrorPage::Nowhere, None);
    }
    let page = Page {
        frame: visitor.frame("front-title"),
        docs: format!("{}/docs", visitor.prefix),
    };
    visitor.show(StatusCode::OK, &page)
}
