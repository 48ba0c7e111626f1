//! Bare axum handlers: what any service on it would do at least. They are the limits of the HTTP measurements.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

pub const NAME: &str = "bare axum";

/// Serves on a port of its own.
pub async fn serve(router: Router) -> Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

/// Reads the body of `initialize` as JSON, and answers JSON of the same size as ours.
pub fn initialize() -> Router {
    Router::new().route("/v1/payments/initialize", post(initialized))
}

async fn initialized(Json(body): Json<Value>) -> (StatusCode, Json<Value>) {
    let known = body["customer"]["email"].is_string();
    let answer = json!({
        "message": "Transaction initialized successfully",
        "data": {
            "id": "py_01kajv7y7k3b6t9vq2x5m8n4pd",
            "checkout_url": "http://127.0.0.1:8080/checkout/py_01kajv7y7k3b6t9vq2x5m8n4pd",
        },
        "errors": null,
        "success": known,
    });
    (StatusCode::CREATED, Json(answer))
}

/// Prints the same JSON value for each `GET`, at a path with and without an id.
pub fn answering(value: Value) -> Router {
    let value = Arc::new(value);
    let of_one = value.clone();
    let one = move |Path(_): Path<String>| {
        let value = of_one.clone();
        async move { Json(value) }
    };
    let all = move || {
        let value = value.clone();
        async move { Json(value) }
    };
    Router::new()
        .route("/v1/payments/{id}", get(one.clone()))
        .route("/v1/payments/{id}/verify", get(one))
        .route("/v1/payments", get(all))
}
