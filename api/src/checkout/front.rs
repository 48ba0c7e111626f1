//! Pages for people at addresses that belong to no payment: the front page, and what an unknown address shows.

use askama::Template;
use axum::extract::Request;
use axum::http::header::{ACCEPT, ACCEPT_LANGUAGE};
use axum::http::{Method, StatusCode};
use axum::response::Response;

use super::desk::Desk;
use super::scene::Frame;
use super::trouble::{self, Trouble};
use super::visit::visitor;
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
    let accept = request.headers().get(ACCEPT);
    let accepts = accept.and_then(|accept| accept.to_str().ok());
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    is_read && accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

/// The page at an address that no route has.
pub fn page(state: &ApiState, request: &Request) -> Response {
    let desk = Desk::new(state.clone(), Draining::default());
    let language = request.headers().get(ACCEPT_LANGUAGE);
    let visitor = visitor(&desk, request.uri(), language, None);
    if request.uri().path() != "/" {
        return trouble::page(&visitor, Trouble::Nowhere, None);
    }
    let page = Page {
        frame: visitor.frame("front-title"),
        docs: format!("{}/docs", visitor.prefix),
    };
    visitor.show(StatusCode::OK, &page)
}
