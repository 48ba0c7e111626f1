//! A shop that sells one teapot through Switchyard, in one file.
//!
//! Shows the four parts of every integration, in the order in which they run: [`buy`] initializes a
//! payment and sends the customer to the checkout page; [`thanks`] is the page to which the
//! customer returns; [`webhook`] receives events; and [`settle`], called by both, verifies the
//! payment with the engine before anything is delivered. `docs/for-merchants.md` explains each
//! part.
//!
//! Everything else is left out: orders are in memory, and there is one product.

#![expect(clippy::print_stdout, reason = "output of a command")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

/// The product. The amount is in major units: 25 dollars.
const PRODUCT: &str = "A blue teapot";
const AMOUNT: u64 = 25;
const CURRENCY: &str = "USD";

struct Shop {
    settings: Settings,
    http: reqwest::Client,
    orders: Mutex<BTreeMap<String, Order>>,
}

/// An order, by its own number; the payment gets that number as metadata.
struct Order {
    payment_id: String,
    is_delivered: bool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::read()?;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", settings.port)).await?;
    println!("The shop is open at {}", settings.public_url);

    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| "TLS is set up twice")?;
    let http = reqwest::Client::builder()
        .timeout(std::time::Duration::from_secs(10))
        .build()?;
    let shop = Shop {
        settings,
        http,
        orders: Mutex::default(),
    };
    let pages = Router::new()
        .route("/", get(front))
        .route("/buy", post(buy))
        .route("/thanks", get(thanks));
    let app = pages
        .route("/webhooks", post(webhook))
        .with_state(Arc::new(shop));
    Ok(axum::serve(listener, app).await?)
}

async fn front() -> Html<String> {
    page(&format!(
        "<p>{PRODUCT}, {AMOUNT} {CURRENCY}.</p><form method=post action=/buy><button>Buy it</button></form>"
    ))
}

/// 1. Initialize a payment, store its id with the order, and send the customer to its checkout.
async fn buy(State(shop): State<Arc<Shop>>) -> Result<Redirect, ErrorPage> {
    let number = order_number();
    let payment = json!({
        "amount": AMOUNT,
        "currency": CURRENCY,
        "description": PRODUCT,
        "return_url": format!("{}/thanks", shop.settings.public_url),
        "customer": { "email": "ada@example.com", "first_name": "Ada", "last_name": "Lovelace" },
        "metadata": { "order": number },
    });
    // The order's number is the idempotency key: a request that is repeated after a lost response
    // still creates only one payment.
    let request = shop
        .http
        .post(shop.settings.api("/v1/payments/initialize"))
        .header("Idempotency-Key", &number);
    let made = shop.answer(request.json(&payment)).await?;
    let (Some(id), Some(checkout_url)) = (made["id"].as_str(), made["checkout_url"].as_str())
    else {
        return Err(ErrorPage(format!(
            "an answer without id or checkout_url: {made}"
        )));
    };
    shop.orders().insert(
        number,
        Order {
            payment_id: id.to_owned(),
            is_delivered: false,
        },
    );
    Ok(Redirect::to(checkout_url))
}

/// 2. The customer returns. The parameters of the URL are only a hint: anyone can type them.
async fn thanks(
    State(shop): State<Arc<Shop>>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Result<Html<String>, ErrorPage> {
    let Some(id) = query.get("paymentId").filter(|id| is_id(id)) else {
        return Ok(page("<p>There is nothing to show here.</p>"));
    };
    Ok(page(match settle(&shop, id).await? {
        Settled::Delivered => "<h2>Thank you!</h2><p>Your teapot is on its way.</p>",
        Settled::Waiting => {
            "<h2>Almost there</h2><p>We wait for your payment to be confirmed. Reload this page in a moment.</p>"
        }
        Settled::NotPaid => "<h2>Nothing was paid</h2><p><a href=/>Try again</a></p>",
    }))
}

/// 3. The engine sends an event. Check the signature, then verify the payment.
async fn webhook(State(shop): State<Arc<Shop>>, headers: HeaderMap, body: Bytes) -> Response {
    let given = headers
        .get("x-service-signature")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if !is_signed(shop.settings.webhook_secret.as_bytes(), given, &body) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let event: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (kind, id) = (
        event["event"].as_str().unwrap_or_default(),
        event["data"]["id"].as_str().unwrap_or_default(),
    );
    // Only 200 is an acknowledgment. Events about anything other than our payments are acknowledged
    // too; otherwise the engine would retry them.
    if !kind.starts_with("payment.") || !is_id(id) {
        return StatusCode::OK.into_response();
    }
    match settle(&shop, id).await {
        Ok(_) => StatusCode::OK.into_response(),
        Err(trouble) => trouble.into_response(),
    }
}

/// State of an order.
enum Settled {
    Delivered,
    Waiting,
    NotPaid,
}

/// 4. Verify before delivering, and deliver only once, whatever the number of calls.
async fn settle(shop: &Shop, id: &str) -> Result<Settled, ErrorPage> {
    let payment = shop
        .answer(
            shop.http
                .get(shop.settings.api(&format!("/v1/payments/{id}/verify"))),
        )
        .await?;
    match payment["status"].as_str() {
        Some("success") => {}
        Some("initiated" | "pending") => return Ok(Settled::Waiting),
        _ => return Ok(Settled::NotPaid),
    }
    let is_price = payment["currency"]["code"] == CURRENCY
        && payment["amount"].as_f64() >= Some(AMOUNT as f64);
    let number = payment["metadata"]["order"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    {
        let mut orders = shop.orders();
        let Some(order) = orders
            .get_mut(&number)
            .filter(|order| order.payment_id == id && is_price)
        else {
            return Err(ErrorPage(format!(
                "{id} is paid, and is not what order `{number}` asked for"
            )));
        };
        if order.is_delivered {
            return Ok(Settled::Delivered);
        }
        order.is_delivered = true;
    }
    println!("Delivered order {number}, paid by {id}");
    // Mark the payment as processed. The call may be repeated.
    shop.answer(
        shop.http
            .post(shop.settings.api(&format!("/v1/payments/{id}/process"))),
    )
    .await?;
    Ok(Settled::Delivered)
}

/// Checks the signature: lower-case hexadecimal HMAC-SHA256 of the raw body. Compares in constant
/// time, so that the response time does not reveal how much of it is correct.
fn is_signed(secret: &[u8], given: &str, body: &[u8]) -> bool {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length will do");
    mac.update(body);
    let signature = base16ct::mixed::decode_vec(given);
    !secret.is_empty() && signature.is_ok_and(|signature| mac.verify_slice(&signature).is_ok())
}

/// Whether the text has the form of a payment id. Ids become part of URLs.
fn is_id(id: &str) -> bool {
    id.starts_with("py_") && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[expect(
    clippy::disallowed_methods,
    reason = "a shop's own order numbers: no engine, no simulation"
)]
fn order_number() -> String {
    uuid::Uuid::new_v4().to_string()
}

impl Shop {
    /// Sends a request with our key, and returns `data` of a successful response.
    async fn answer(&self, request: reqwest::RequestBuilder) -> Result<Value, ErrorPage> {
        let response = request
            .bearer_auth(&self.settings.secret_key)
            .header("Accept", "application/json")
            .send()
            .await?;
        let (status, mut envelope) = (response.status(), response.json::<Value>().await?);
        if !status.is_success() {
            return Err(ErrorPage(format!("{status}: {}", envelope["message"])));
        }
        Ok(envelope["data"].take())
    }

    fn orders(&self) -> MutexGuard<'_, BTreeMap<String, Order>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Settings of the shop: environment variables, and for the missing ones the file that a
/// development server writes.
struct Settings {
    base_url: String,
    secret_key: String,
    webhook_secret: String,
    public_url: String,
    port: u16,
}

impl Settings {
    fn read() -> Result<Self, String> {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let file = set("SHOP_DEV_FILE").unwrap_or_else(|| "data/dev.json".to_owned());
        let told: Value = std::fs::read(&file)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        let either = |name: &str, field: &str| {
            let value = set(name).or_else(|| told[field].as_str().map(str::to_owned));
            value.ok_or(format!(
                "set {name}, or start `cargo xtask serve` first, which writes {file}"
            ))
        };
        let port = set("SHOP_PORT").map_or(Ok(9000), |port| {
            port.parse()
                .map_err(|_| "SHOP_PORT is not a port".to_owned())
        })?;
        Ok(Self {
            base_url: either("SHOP_SWITCHYARD_URL", "base_url")?,
            secret_key: either("SHOP_SECRET_KEY", "sandbox_secret_key")?,
            // Without a secret every webhook is rejected. The return page still verifies.
            webhook_secret: set("SHOP_WEBHOOK_SECRET").unwrap_or_default(),
            public_url: set("SHOP_PUBLIC_URL")
                .unwrap_or_else(|| format!("http://127.0.0.1:{port}")),
            port,
        })
    }

    fn api(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }
}

/// Error with the reason for the log. The customer gets a general message.
struct ErrorPage(String);

impl From<reqwest::Error> for ErrorPage {
    fn from(error: reqwest::Error) -> Self {
        Self(error.to_string())
    }
}

impl IntoResponse for ErrorPage {
    fn into_response(self) -> Response {
        eprintln!("Error: {}", self.0);
        (
            StatusCode::BAD_GATEWAY,
            page("<p>Something went wrong on our side. Nothing is lost: reload in a moment.</p>"),
        )
            .into_response()
    }
}

fn page(body: &str) -> Html<String> {
    Html(format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Teapots</title><h1>Teapots</h1>{body}</html>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_signature_of_the_very_body_is_taken() {
        // RFC 4231, test case 2.
        let right = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        let body = b"what do ya want for nothing?";
        assert!(is_signed(b"Jefe", right, body));
        assert!(!is_signed(b"Jefe", right, b"what do ya want for nothing!"));
        assert!(!is_signed(b"jefe", right, body));
        assert!(
            !is_signed(b"", right, body),
            "no secret is set: nobody can sign"
        );
        for wrong in [
            "",
            "5b",
            &right[..62],
            &right.replace('5', "é"),
            &format!("{right}00"),
        ] {
            assert!(!is_signed(b"Jefe", wrong, body), "{wrong}");
        }
    }

    #[test]
    fn what_is_not_an_id_never_reaches_an_address() {
        assert!(is_id("py_01jd5v8k3q2w4x6y8z0a1b2c3d"));
        for wrong in ["", "po_1", "py_../../operator", "py_1?x=1", "py_é"] {
            assert!(!is_id(wrong), "{wrong}");
        }
    }
}
