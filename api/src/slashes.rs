//! Paths with repeated or trailing slashes, such as `/v1//payments/`: clients make them by joining
//! an address that ends in a slash with a path that begins with one.
//!
//! A GET changes nothing: it is answered as if the needless slashes were not there. Anything else
//! is refused with a hint, since it is better to see such a mistake before it is repeated where a
//! signature or a proxy's rule goes by the exact path.

use axum::Router;
use axum::extract::Request;
use axum::http::Method;
use axum::http::uri::{PathAndQuery, Uri};
use axum::response::{IntoResponse, Response};
use tower::ServiceExt as _;

use crate::error::{ApiError, ErrorCode, Problem};
use crate::frame::nothing_at;

/// The response to a request for which there is no route. `exact` has the routes, and a response to
/// paths that none of them has.
pub async fn answer(exact: Router, mut request: Request) -> Response {
    let Some(path) = without_needless(request.uri().path()) else {
        return served(exact, request).await;
    };
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return refusal(request.uri(), &path).into_response();
    }
    let Some(uri) = at(request.uri(), &path) else {
        return nothing_at(request.uri()).into_response();
    };
    *request.uri_mut() = uri;
    served(exact, request).await
}

async fn served(exact: Router, request: Request) -> Response {
    let served = exact.oneshot(request).await;
    served.unwrap_or_else(|never| match never {})
}

fn refusal(uri: &Uri, path: &str) -> ApiError {
    let shown = |path: &str| path.chars().take(100).collect::<String>();
    let message = format!("There is nothing at {}", shown(uri.path()));
    let problem = Problem::new(ErrorCode::RouteNotFound, message);
    let hint = format!(
        "Repeated and trailing slashes are only passed over for GET: send it to {}",
        shown(path)
    );
    problem.hint(hint).into()
}

/// The path without repeated and trailing slashes; `None` when it has none.
fn without_needless(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let plain = format!("/{}", parts.join("/"));
    (plain != path).then_some(plain)
}

/// `uri` with another path.
fn at(uri: &Uri, path: &str) -> Option<Uri> {
    let target: PathAndQuery = match uri.query() {
        Some(query) => format!("{path}?{query}").parse().ok()?,
        None => path.parse().ok()?,
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(target);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needless_slashes_go_and_the_query_stays() {
        for (given, plain) in [
            ("/v1/payments/", Some("/v1/payments")),
            ("//v1///payments", Some("/v1/payments")),
            (
                "/v1/payments//py_1/verify/",
                Some("/v1/payments/py_1/verify"),
            ),
            ("//", Some("/")),
            ("/", None),
            ("/v1/payments", None),
        ] {
            assert_eq!(without_needless(given).as_deref(), plain, "{given}");
        }
        let uri = Uri::from_static("/v1/payments/?limit=2&a=//");
        let moved = at(&uri, "/v1/payments").unwrap();
        assert_eq!(moved, "/v1/payments?limit=2&a=//");
    }
}
