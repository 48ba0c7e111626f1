//! Bare axum handlers: what any service on it would do at least. They are the limits of the HTTP
//! measurements.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use axum::extract::{Form, Path};
use axum::http::StatusCode;
use axum::response::Redirect;
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

/// The three requests of a payment: reads its body and its two forms, and leads on as ours does.
pub fn payment() -> Router {
    initialize()
        .route("/checkout/{id}/details", post(detailed))
        .route("/checkout/{id}/confirm", post(confirmed))
}

type Fields = Form<BTreeMap<String, String>>;

async fn detailed(Path(id): Path<String>, Form(fields): Fields) -> Redirect {
    let known = usize::from(fields.contains_key("msisdn"));
    Redirect::to(&format!("/checkout/{id}/confirm?a={known:0>ANSWERS$}"))
}

async fn confirmed(Path(id): Path<String>, Form(fields): Fields) -> Redirect {
    let next = match fields.contains_key("a") {
        true => "result",
        false => "details",
    };
    Redirect::to(&format!("/checkout/{id}/{next}"))
}

/// As long as what our page hands on from one step to the next.
const ANSWERS: usize = 360;

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
