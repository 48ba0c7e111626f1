//! A merchant before the API, without a network between them: a whole engine in memory with the
//! test gateway, and its router.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request};
use serde_json::{Value, json};
use switchyard::routes;
use switchyard::state::{ApiState, HttpSettings};
use switchyard_core::transaction::ClientContext;
use switchyard_engine::engine::ConfirmRequest;
use switchyard_engine::testing::{TestEngine, TestEngineBuilder};
use switchyard_gateway_host::{GatewaySettings, Gateways};
use switchyard_records::NewCustomer;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use tempfile::TempDir;
use tower::ServiceExt;

use crate::demo_gateway;
use crate::gateways::workers;

/// An app of a merchant, with its keys, and the router that answers it.
pub struct Merchant {
    pub bench: TestEngine,
    pub router: Router,
    pub state: ApiState,
    /// Folder of the engine's copy of the gateway.
    _folder: TempDir,
}

/// An answer, with its body read.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
    /// Null when the body is not JSON.
    pub body: Value,
}

impl Merchant {
    /// On the machine's clock, without a rate limit.
    pub async fn open() -> anyhow::Result<Self> {
        Self::with(|wanted| wanted.clock = Clock::wall()).await
    }

    /// With what `change` wants otherwise.
    pub async fn with(change: impl FnOnce(&mut TestEngineBuilder)) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let settings = GatewaySettings {
            dir: folder.path().to_owned(),
            development: true,
            worker: workers(),
            ..GatewaySettings::default()
        };
        let gateways = Gateways::new(settings, Clock::wall(), Ids::system())?;
        gateways.add(&demo_gateway()).await?;
        let mut wanted = TestEngineBuilder::with(gateways);
        change(&mut wanted);
        let bench = wanted.start().await;
        let state = ApiState::new(bench.engine.clone(), HttpSettings::default());
        Ok(Self {
            router: routes::router(state.clone()),
            state,
            bench,
            _folder: folder,
        })
    }

    pub fn secret(&self) -> &str {
        self.bench.keys.sandbox_secret_key.expose()
    }

    pub fn live(&self) -> &str {
        self.bench.keys.live_secret_key.expose()
    }

    pub fn public(&self) -> &str {
        self.bench.keys.sandbox_public_key.expose()
    }

    /// Any request at all.
    pub async fn ask(&self, request: Request<Body>) -> anyhow::Result<Reply> {
        let response = self.router.clone().oneshot(request).await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = to_bytes(response.into_body(), 16 << 20).await?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Ok(Reply {
            status,
            headers,
            text,
            body,
        })
    }

    /// With the sandbox secret key.
    pub async fn get(&self, path: &str) -> anyhow::Result<Reply> {
        self.get_with(self.secret(), path).await
    }

    pub async fn get_with(&self, key: &str, path: &str) -> anyhow::Result<Reply> {
        let request = Request::get(path).header("authorization", format!("Bearer {key}"));
        self.ask(request.body(Body::empty())?).await
    }

    /// With the sandbox secret key.
    pub async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Reply> {
        self.post_with(path, body, &[]).await
    }

    pub async fn post_with(
        &self,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> anyhow::Result<Reply> {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header("content-type", "application/json");
        if !headers.iter().any(|(name, _)| *name == "authorization") {
            request = request.header("authorization", format!("Bearer {}", self.secret()));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.ask(request.body(Body::from(body.to_string()))?).await
    }

    /// A payment of 25 USD; its id.
    pub async fn payment(&self) -> anyhow::Result<String> {
        made(self.post("/v1/payments/initialize", &payment()).await?)
    }

    /// A payout of 25 USD to a number of the test gateway; its id.
    pub async fn payout(&self, number: &str) -> anyhow::Result<String> {
        let body = payout(number);
        made(self.post("/v1/payouts/initialize", &body).await?)
    }

    /// Pays on the hosted page by the test method from `number`.
    pub async fn pay(&self, id: &str, number: &str) -> anyhow::Result<()> {
        let choice = ConfirmRequest {
            method: "switchyard_payment_demo".to_owned(),
            country: Some("US".to_owned()),
            phone: Some(number.to_owned()),
            fields: BTreeMap::from([("msisdn".to_owned(), number.to_owned())]),
            missing: NewCustomer::default(),
            context: ClientContext {
                ip: Some("203.0.113.9".to_owned()),
                user_agent: Some(PHONE.to_owned()),
                country: Some("US".to_owned()),
                locale: Some("en-US".to_owned()),
            },
            agreed: None,
        };
        self.bench.engine.confirm(id.parse()?, choice).await?;
        Ok(())
    }
}

impl Reply {
    /// `status`, and of each error its code and field.
    pub fn refusal(&self) -> (u16, Vec<String>) {
        let errors = self.body["errors"].as_array().cloned().unwrap_or_default();
        let problem = |error: &Value| {
            let word = |name: &str| error[name].as_str().unwrap_or("-").to_owned();
            format!("{} {}", word("code"), word("field"))
        };
        (self.status, errors.iter().map(problem).collect())
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A request for a payment that nothing is wrong with.
pub fn payment() -> Value {
    json!({
        "amount": 25, "currency": "USD", "description": "A teapot", "return_url": "https://shop.example/done?order=1",
        "customer": {"email": unique_email(), "first_name": "Ada", "last_name": "Lovelace"},
        "metadata": {"order": "1"},
    })
}

/// A request for a payout that nothing is wrong with.
pub fn payout(number: &str) -> Value {
    json!({
        "amount": 25, "currency": "USD", "description": "Salary", "method": "switchyard_payout_demo",
        "customer": {"email": unique_email(), "first_name": "Ada", "last_name": "Lovelace"},
        "recipient": {"account_number": number},
    })
}

fn made(reply: Reply) -> anyhow::Result<String> {
    anyhow::ensure!(reply.status == 201, "{}", reply.text);
    let id = reply.body["data"]["id"].as_str();
    Ok(id.context("the answer has an id")?.to_owned())
}

fn unique_email() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("ada{}@shop.example", COUNT.fetch_add(1, Ordering::Relaxed))
}

const PHONE: &str = "Mozilla/5.0 (Linux; Android 14; SM-A155F) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile \
    Safari/537.36";
