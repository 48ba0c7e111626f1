//! Pages for when there is no payment to show: an unknown link, a store that cannot answer, a request that no form of ours sends.

use askama::Template;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use super::scene::{Frame, Visitor};

#[derive(Template)]
#[template(path = "checkout/trouble.html")]
struct Page {
    frame: Frame,
    title: String,
    text: String,
    advice: String,
    retry: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    Missing,
    Unavailable,
    TooLarge,
    WrongMethod,
    /// An address that belongs to no page.
    Nowhere,
}

impl Trouble {
    const fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Unavailable => "unavailable",
            Self::TooLarge => "large",
            Self::WrongMethod => "method",
            Self::Nowhere => "nowhere",
        }
    }

    const fn status(self) -> StatusCode {
        match self {
            Self::Missing | Self::Nowhere => StatusCode::NOT_FOUND,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
        }
    }
}

/// `home`: where it can be tried again.
pub fn page(visitor: &Visitor, trouble: Trouble, home: Option<String>) -> Response {
    let word = trouble.word();
    let title = format!("{word}-title");
    let page = Page {
        frame: visitor.frame(&title),
        title: visitor.say(&title),
        text: visitor.say(&format!("{word}-text")),
        advice: visitor.say(&format!("{word}-advice")),
        retry: home,
    };
    let mut response = visitor.show(trouble.status(), &page);
    if trouble == Trouble::Unavailable {
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from_static("30"));
    }
    response
}
