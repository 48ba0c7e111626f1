//! Pages for when there is no payment to show: an unknown link, a store that cannot answer, a
//! request that no form of ours sends.

use askama::Template;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use super::page_context::{Frame, PageContext, Visitor};
use crate::pages::messages;

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
pub enum ErrorPage {
    Missing,
    Unavailable,
    TooLarge,
    WrongMethod,
    /// An address that belongs to no page.
    Nowhere,
    /// Too many confirmations or codes in a short time; seconds until the next is taken.
    TooMany(u64),
    /// Too many requests from one address; seconds until the next is taken.
    Busy(u32),
    /// The operator disabled the app.
    Closed,
    /// No attempt starts until an operator releases the app after a restore.
    Paused,
}

impl ErrorPage {
    const fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Unavailable => "unavailable",
            Self::TooLarge => "large",
            Self::WrongMethod => "method",
            Self::Nowhere => "nowhere",
            Self::TooMany(_) => "too-many",
            Self::Busy(_) => "busy",
            Self::Closed => "closed",
            Self::Paused => "paused",
        }
    }

    fn title(self) -> String {
        format!("{}-title", self.word())
    }

    const fn status(self) -> StatusCode {
        match self {
            Self::Missing | Self::Nowhere => StatusCode::NOT_FOUND,
            Self::Unavailable | Self::Paused => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooMany(_) | Self::Busy(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Closed => StatusCode::FORBIDDEN,
        }
    }
}

/// The page of a payment for which no attempt may start now: its frame, and the sentence about
/// money if there was an attempt. `knows_all_attempts`: otherwise providers are still asked for
/// attempts that were made after a backup, and it is not certain that no money moved.
pub fn paused(context: &PageContext, knows_all_attempts: bool) -> Response {
    let text = match (knows_all_attempts, context.tx.attempts.is_empty()) {
        (true, true) => context.say("paused-text"),
        (true, false) => format!("{} {}", context.say("paused-text"), context.about_money()),
        (false, _) => format!("{} {}", context.say("paused-text"), context.money_unknown()),
    };
    let mut frame = context.frame("paused-title");
    frame.time_left = None;
    let page = Page {
        frame,
        title: context.say("paused-title"),
        text,
        advice: context.say("paused-advice"),
        retry: Some(context.link("", &[])),
    };
    let mut response = context.visitor.show(ErrorPage::Paused.status(), &page);
    let headers = response.headers_mut();
    headers.insert(RETRY_AFTER, HeaderValue::from(PAUSED_RETRY_S));
    response
}

/// Words of an error page.
pub struct Words {
    pub title: String,
    pub text: String,
    pub advice: String,
}

/// A page about a payment link that takes no payment. `retry`: where it can be tried again.
pub fn of_link(
    visitor: &Visitor,
    frame: Frame,
    status: StatusCode,
    words: Words,
    retry: Option<String>,
) -> Response {
    let page = Page {
        frame,
        title: words.title,
        text: words.text,
        advice: words.advice,
        retry,
    };
    visitor.show(status, &page)
}

/// Seconds after which a paused payment is tried again.
const PAUSED_RETRY_S: u64 = 60;

/// A page about no payment, or about one that could not be read. `home`: where it can be tried
/// again.
pub fn page(visitor: &Visitor, error_page: ErrorPage, home: Option<String>) -> Response {
    let frame = visitor.frame(&error_page.title());
    framed(visitor, frame, error_page, home)
}

/// A page about a payment, with its merchant and amount. It can be tried again from its start.
pub fn about(context: &PageContext, error_page: ErrorPage) -> Response {
    let mut frame = context.frame(&error_page.title());
    // A payment that waits for a release shows no time that runs.
    frame.time_left = frame.time_left.filter(|_| error_page != ErrorPage::Paused);
    let home = Some(context.link("", &[]));
    framed(&context.visitor, frame, error_page, home)
}

fn framed(
    visitor: &Visitor,
    frame: Frame,
    error_page: ErrorPage,
    home: Option<String>,
) -> Response {
    let word = error_page.word();
    let advice = format!("{word}-advice");
    let advice = match error_page {
        ErrorPage::TooMany(seconds) => {
            let minutes = seconds.div_ceil(60).max(1);
            messages::say_count(visitor.language, &advice, "minutes", minutes)
        }
        _ => visitor.say(&advice),
    };
    let page = Page {
        frame,
        title: visitor.say(&error_page.title()),
        text: visitor.say(&format!("{word}-text")),
        advice,
        retry: home,
    };
    let mut response = visitor.show(error_page.status(), &page);
    let retry_after = match error_page {
        ErrorPage::Unavailable => Some(30),
        ErrorPage::Paused => Some(PAUSED_RETRY_S),
        ErrorPage::TooMany(seconds) => Some(seconds),
        ErrorPage::Busy(seconds) => Some(u64::from(seconds)),
        _ => None,
    };
    if let Some(seconds) = retry_after {
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
