//! A provider with books, which does what the request says.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// What one request for a charge came to, whatever was answered.
#[derive(Clone, Debug)]
pub struct Entry {
    pub transaction: String,
    /// How often the same reference was submitted.
    pub requests: u32,
    /// How often money moved under it.
    pub charges: u32,
}

/// By reference.
pub type Books = BTreeMap<String, Entry>;

/// An address on which nobody listens.
pub const NOWHERE: &str = "http://127.0.0.1:1";

/// Serves until it is dropped.
pub struct Provider {
    pub url: String,
    books: Arc<Mutex<Books>>,
    server: tokio::task::JoinHandle<()>,
}

impl Provider {
    pub async fn start() -> Self {
        let books = Arc::new(Mutex::new(Books::new()));
        let router = Router::new()
            .route("/charges", post(charge))
            .route("/charges/{reference}", get(look_up))
            .with_state(books.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            axum::serve(listener, router).await.unwrap();
        });
        Self { url, books, server }
    }

    pub fn books(&self) -> Books {
        self.books.lock().unwrap().clone()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn charge(State(books): State<Arc<Mutex<Books>>>, Json(request): Json<Value>) -> Response {
    let text = |name: &str| request[name].as_str().unwrap().to_owned();
    let word = text("word");
    let moves = matches!(
        word.as_str(),
        "ok" | "broken_done" | "lost_done" | "silent_done"
    );
    {
        let mut books = books.lock().unwrap();
        let entry = books.entry(text("reference")).or_insert_with(|| Entry {
            transaction: text("transaction"),
            requests: 0,
            charges: 0,
        });
        entry.requests += 1;
        entry.charges += u32::from(moves);
    }
    match word.as_str() {
        "ok" => said("paid"),
        "busy" | "sick" | "no" => said(&word),
        "broken_done" | "broken" => StatusCode::BAD_GATEWAY.into_response(),
        "silent_done" => {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            said("too late")
        }
        // Ends the task of the connection, and the connection with it, without a word.
        _ => std::panic::resume_unwind(Box::new("an answer that is lost on purpose")),
    }
}

fn said(status: &str) -> Response {
    Json(json!({ "status": status })).into_response()
}

async fn look_up(
    State(books): State<Arc<Mutex<Books>>>,
    Path(reference): Path<String>,
) -> StatusCode {
    let books = books.lock().unwrap();
    match books.get(&reference) {
        Some(entry) if entry.charges > 0 => StatusCode::OK,
        _ => StatusCode::NOT_FOUND,
    }
}
