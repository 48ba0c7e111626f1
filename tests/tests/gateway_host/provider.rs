//! A provider on a local port, in the moods that providers have.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::sync::Barrier;

/// Serves until it is dropped. The first part of a path is the mood.
pub struct Provider {
    pub url: String,
    requests: Arc<AtomicUsize>,
    server: tokio::task::JoinHandle<()>,
}

impl Provider {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let meeting = Arc::new(Barrier::new(2));
        let count = Arc::clone(&requests);
        let router = Router::new().fallback(move |uri: Uri, headers: HeaderMap, body: String| {
            count.fetch_add(1, Ordering::SeqCst);
            answer(uri, headers, body, Arc::clone(&meeting))
        });
        let server = tokio::spawn(async move {
            axum::serve(listener, router).await.unwrap();
        });
        Self {
            url,
            requests,
            server,
        }
    }

    /// Requests that arrived.
    pub fn count(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Returns when a request has arrived.
    pub async fn asked(&self) {
        switchyard_tests::eventually("a request", Duration::from_secs(20), || async {
            Ok((self.count() > 0).then_some(()))
        })
        .await
        .unwrap();
    }

    pub fn in_mood(&self, mood: &str) -> String {
        format!("{}/{mood}", self.url)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(uri: Uri, headers: HeaderMap, body: String, meeting: Arc<Barrier>) -> Response {
    let mood = uri.path().split('/').nth(1).unwrap_or_default().to_owned();
    match mood.as_str() {
        "silent" => {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            StatusCode::OK.into_response()
        }
        // Both callers must be in before either is answered.
        "together" => {
            meeting.wait().await;
            "{}".into_response()
        }
        "huge" => Body::from(vec![b'x'; 2 * 1024 * 1024]).into_response(),
        "elsewhere" => Redirect::temporary("/ok").into_response(),
        "sick" => (StatusCode::BAD_GATEWAY, "<html>Bad gateway</html>").into_response(),
        // For the gateway in C: one word.
        "paid" | "waiting" | "refused" | "riddle" => mood.into_response(),
        _ => {
            let told = headers
                .get("authorization")
                .map(|value| value.to_str().unwrap().to_owned());
            let answer = serde_json::json!({ "status": "paid", "access_token": "t0ken-of-the-provider", "told": told, "body": body });
            (
                [("x-secret", "s"), ("x-request-id", "r-1")],
                answer.to_string(),
            )
                .into_response()
        }
    }
}

/// A local address without a listener.
pub async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// A provider that reads a request and closes the connection without a word.
pub async fn hangs_up() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut some = [0; 512];
            let _ = connection.read(&mut some).await; // whatever came, the answer is silence
        }
    });
    url
}
