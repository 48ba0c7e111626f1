//! `POST /v1/payments/initialize`, durable on the default store, beside a bare axum handler that parses the same body and answers the
//! same JSON. Both run in this process, in turns.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use switchyard_engine::testing::Bench;

use crate::load::{self, Load};
use crate::subject;

const CONNECTIONS: u64 = 64;
const ROUNDS: u32 = 3;
const ROUND: Duration = Duration::from_secs(5);

pub async fn measure() -> Result<()> {
    let dir = tempfile::tempdir_in(".")?;
    let bench = subject::start(dir.path()).await?;
    let ours = serve(subject::router(&bench)).await?;
    let bare = serve(Router::new().route("/v1/payments/initialize", post(bare_handler))).await?;
    let (mut of_ours, mut of_bare) = (Load::default(), Load::default());
    // The first round of each only warms up.
    for round in 0..=ROUNDS {
        let one = drive(bare, &bench, ROUND).await?;
        let other = drive(ours, &bench, ROUND).await?;
        if round > 0 {
            of_bare = of_bare.join(one);
            of_ours = of_ours.join(other);
        }
    }
    println!("initialize, {CONNECTIONS} connections, durable on the default store");
    print("bare axum handler", &of_bare);
    print("POST /v1/payments/initialize", &of_ours);
    let stats = bench.engine.store.stats();
    println!(
        "  commits that shared a flush       {:>10.1}",
        stats.commits as f64 / stats.batches.max(1) as f64
    );
    println!(
        "  ratio                             {:>9.0} %  (bar: at least 25 %)",
        100.0 * of_ours.per_second() / of_bare.per_second()
    );
    Ok(())
}

pub async fn serve(router: Router) -> Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

pub async fn drive(address: SocketAddr, bench: &Bench, time: Duration) -> Result<Load> {
    let key = bench.keys.sandbox_secret_key.expose().clone();
    load::drive(address, CONNECTIONS, time, 201, move |number| {
        request(&key, number)
    })
    .await
}

fn print(name: &str, load: &Load) {
    println!(
        "  {name:<30} {:>8.0} /s   p50 {:>6.2} ms   p99 {:>6.2} ms   p99.9 {:>6.2} ms",
        load.per_second(),
        load.percentile_ms(0.5),
        load.percentile_ms(0.99),
        load.percentile_ms(0.999)
    );
}

pub fn request(key: &str, number: u64) -> Vec<u8> {
    let body = format!(
        concat!(
            r#"{{"amount":2500,"currency":"USD","description":"Two coffees and a croissant","return_url":"https://shop.example/return","#,
            r#""customer":{{"email":"awa{number}@example.com","first_name":"Awa","last_name":"Diop","phone":"+22997000001"}},"#,
            r#""metadata":{{"order":"{number}"}}}}"#
        ),
        number = number
    );
    format!(
        "POST /v1/payments/initialize HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Accept: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// What any axum service would do at least: read the body as JSON, answer JSON of the same size.
async fn bare_handler(
    axum::Json(body): axum::Json<serde_json::Value>,
) -> (StatusCode, axum::Json<serde_json::Value>) {
    let known = body["customer"]["email"].is_string();
    let answer = serde_json::json!({
        "message": "Transaction initialized successfully",
        "data": {
            "id": "py_01kajv7y7k3b6t9vq2x5m8n4pd",
            "checkout_url": "http://127.0.0.1:8080/checkout/py_01kajv7y7k3b6t9vq2x5m8n4pd",
        },
        "errors": null,
        "success": known,
    });
    (StatusCode::CREATED, axum::Json(answer))
}
