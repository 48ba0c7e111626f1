//! Size of a first view on a slow line: it has to fit the first flight of a connection.

use super::gallery;
use switchyard_core::language::Language;

/// Ten segments of a fresh TCP connection.
const FIRST_FLIGHT: usize = 14 * 1024;
/// The whole first view (design: at most 40 kB in at most 4 requests; ours is one request).
const FIRST_VIEW: usize = 40 * 1024;

async fn gzipped(html: &str) -> usize {
    use axum::Router;
    use axum::http::Request;
    use axum::http::header::ACCEPT_ENCODING;
    use axum::routing::get;
    use tower::ServiceExt;

    let html = html.to_owned();
    let app = Router::new()
        .route("/", get(|| async { axum::response::Html(html) }))
        .layer(tower_http::compression::CompressionLayer::new());
    let request = Request::get("/")
        .header(ACCEPT_ENCODING, "gzip")
        .body(axum::body::Body::empty())
        .unwrap();
    let response = app.oneshot(request).await.unwrap();
    assert_eq!(response.headers()["content-encoding"], "gzip");
    let body = axum::body::to_bytes(response.into_body(), usize::MAX)
        .await
        .unwrap();
    body.len()
}

#[tokio::test]
async fn a_first_view_fits_the_first_flight_and_asks_for_nothing_else() {
    for language in Language::ALL {
        for (name, html) in gallery::pages(language, &|_| {}).await {
            let bytes = gzipped(&html).await;
            println!("{name} ({}): {bytes} bytes", language.code());
            assert!(bytes <= FIRST_VIEW, "{name}: {bytes} bytes");
            if name == "choose" || name == "details" || name.starts_with("wait") {
                assert!(bytes <= FIRST_FLIGHT, "{name}: {bytes} bytes");
            }
            for request in [
                "<link rel=\"stylesheet\"",
                "<script src",
                "<img",
                "url(",
                "@import",
                "<iframe",
            ] {
                assert!(
                    !html.contains(request),
                    "{name} makes a further request: {request}"
                );
            }
        }
    }
}
