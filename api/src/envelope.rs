//! The envelope that every JSON answer travels in: `{message, data, errors}`, and `success: true`
//! when it went well.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::{ApiError, Problem};

/// A successful answer around its data.
#[derive(Serialize)]
struct Success<'a, T, M = Page> {
    message: &'a str,
    data: T,
    errors: (),
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    meta: Option<M>,
}

/// Position of a page in the whole list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Page {
    /// How many transactions match, on all pages together.
    pub total: u64,
    pub per_page: u64,
    pub current_page: u64,
    /// At least 1, even when nothing matches.
    pub last_page: u64,
    /// Place of the first of this page's transactions in the whole list, from 1; null when the page
    /// is empty.
    pub from: Option<u64>,
    /// Place of the last of this page's transactions in the whole list; null when the page is
    /// empty.
    pub to: Option<u64>,
}

impl Page {
    /// Page `current_page` (from 1) with `shown` rows, of a list of `total` in pages of `per_page`.
    pub fn new(total: u64, per_page: u64, current_page: u64, shown: u64) -> Self {
        let before = (current_page - 1).saturating_mul(per_page);
        Self {
            total,
            per_page,
            current_page,
            last_page: total.div_ceil(per_page).max(1),
            from: (shown > 0).then_some(before.saturating_add(1)),
            to: (shown > 0).then_some(before.saturating_add(shown)),
        }
    }
}

#[derive(Serialize)]
struct Failure<'a> {
    message: &'a str,
    data: Empty,
    errors: &'a [Problem],
}

/// `{}`
struct Empty;

impl Serialize for Empty {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_map(Some(0))?.end()
    }
}

/// An answer that went well.
pub fn success<T: Serialize>(status: StatusCode, message: &str, data: &T) -> Response {
    json(status, success_body(message, data))
}

/// A page of a list. `page`: a [`Page`], or one with more about the list.
pub fn page<T: Serialize, M: Serialize>(message: &str, data: &[T], page: M) -> Response {
    let body = Success {
        message,
        data,
        errors: (),
        success: true,
        meta: Some(page),
    };
    json(StatusCode::OK, bytes(&body))
}

/// The body of an answer that went well, for who stores it.
pub fn success_body<T: Serialize>(message: &str, data: &T) -> Vec<u8> {
    bytes(&Success {
        message,
        data,
        errors: (),
        success: true,
        meta: None::<Page>,
    })
}

/// A JSON answer around a body that is already serialised.
pub fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    // Preallocate: middleware adds this many headers. A map that grows moves all of them each time.
    headers.reserve(USUAL_HEADERS);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn bytes<T: Serialize>(body: &T) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(TYPICAL_BODY);
    // Only a map with keys other than strings can fail here, and no response has one.
    serde_json::to_writer(&mut bytes, body).expect("an answer can be serialised");
    bytes
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let problems = self.problems();
        let body = Failure {
            message: problems.first().map_or("", |problem| &problem.message),
            data: Empty,
            errors: problems,
        };
        let mut response = json(self.status(), bytes(&body));
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}

const TYPICAL_BODY: usize = 512;
const USUAL_HEADERS: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    async fn text(response: Response) -> String {
        let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await;
        String::from_utf8(bytes.unwrap().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn success_has_null_errors_and_says_so() {
        let answer = success(StatusCode::CREATED, "Done", &[1, 2]);
        assert_eq!(answer.status(), StatusCode::CREATED);
        assert_eq!(answer.headers()[CONTENT_TYPE], "application/json");
        let expected = r#"{"message":"Done","data":[1,2],"errors":null,"success":true}"#;
        assert_eq!(text(answer).await, expected);
    }

    #[tokio::test]
    async fn failure_has_an_empty_object_for_data_and_repeats_its_first_message() {
        let error = ApiError::new(Problem::new(ErrorCode::RateLimitExceeded, "Slow down"));
        let answer = error.retry_after(60).into_response();
        assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(answer.headers()[RETRY_AFTER], "60");
        let expected = concat!(
            r#"{"message":"Slow down","data":{},"errors":"#,
            r#"[{"type":"rate_limited","code":"rate_limit_exceeded","message":"Slow down"}]}"#
        );
        assert_eq!(text(answer).await, expected);
    }

    #[test]
    fn a_page_says_where_it_stands() {
        let numbers = |page: Page| (page.last_page, page.from, page.to);
        assert_eq!(numbers(Page::new(0, 20, 1, 0)), (1, None, None));
        assert_eq!(numbers(Page::new(41, 20, 3, 1)), (3, Some(41), Some(41)));
        assert_eq!(numbers(Page::new(40, 20, 2, 20)), (2, Some(21), Some(40)));
        assert_eq!(numbers(Page::new(40, 20, 9, 0)), (2, None, None));
    }
}
