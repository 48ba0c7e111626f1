//! An HTTP client that speaks to a server as a merchant, an operator or a stranger does.

use anyhow::Context;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

/// Error of [`Client`] when the request got no response: it shows whether there was a connection.
pub use reqwest::Error as HttpError;

/// One server, and one key or none.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base_url: String,
    key: Option<String>,
    /// Headers of every request.
    headers: HeaderMap,
}

/// Status, headers and the JSON of the body (`null` when it is not JSON).
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Client {
    pub fn new(base_url: &str, key: Option<&str>) -> Self {
        Self {
            http: plain_http(),
            base_url: base_url.to_owned(),
            key: key.map(str::to_owned),
            headers: HeaderMap::new(),
        }
    }

    /// The same server, with another key.
    pub fn with_key(&self, key: &str) -> Self {
        Self {
            key: Some(key.to_owned()),
            ..self.clone()
        }
    }

    /// The same server, with one more header in every request.
    ///
    /// # Panics
    /// When it is no header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers
            .insert(name, value.parse().expect("a header's value"));
        self
    }

    pub async fn get(&self, path: &str) -> anyhow::Result<Answer> {
        self.send(self.http.get(self.url(path))).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        self.send(self.http.post(self.url(path)).json(body)).await
    }

    /// With an idempotency key.
    pub async fn post_keyed(&self, path: &str, body: &Value, key: &str) -> anyhow::Result<Answer> {
        let request = self.http.post(self.url(path)).json(body);
        self.send(request.header("Idempotency-Key", key)).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        self.send(self.http.patch(self.url(path)).json(body)).await
    }

    pub async fn delete(&self, path: &str) -> anyhow::Result<Answer> {
        self.send(self.http.delete(self.url(path))).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        self.send(self.http.put(self.url(path)).json(body)).await
    }

    /// A file as it is.
    pub async fn upload(&self, path: &str, file: Vec<u8>) -> anyhow::Result<Answer> {
        self.send(self.http.post(self.url(path)).body(file)).await
    }

    /// Bytes as a provider sends them, with their signature or none.
    pub async fn post_signed(
        &self,
        path: &str,
        body: Vec<u8>,
        signature: Option<String>,
    ) -> anyhow::Result<Answer> {
        let request = self.http.post(self.url(path)).body(body);
        let signed = signature.into_iter();
        self.send(signed.fold(request, |request, signature| {
            request.header("x-signature", signature)
        }))
        .await
    }

    /// A form, as a browser without script sends it; redirects are not followed.
    pub async fn post_form(
        &self,
        path: &str,
        fields: &[(&str, &str)],
    ) -> anyhow::Result<reqwest::Response> {
        let request = self.http.post(self.url(path)).form(fields);
        Ok(request.headers(self.headers.clone()).send().await?)
    }

    /// A page, as text.
    pub async fn page(&self, path: &str) -> anyhow::Result<String> {
        let request = self.http.get(self.url(path));
        let request = match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        };
        let request = request.headers(self.headers.clone());
        Ok(request.send().await?.error_for_status()?.text().await?)
    }

    /// A page with any status.
    pub async fn raw_page(&self, path: &str) -> anyhow::Result<reqwest::Response> {
        let request = self.http.get(self.url(path));
        Ok(request.headers(self.headers.clone()).send().await?)
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> anyhow::Result<Answer> {
        let request = request.header("Accept", "application/json");
        let request = match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        };
        let response = request.headers(self.headers.clone()).send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = serde_json::from_slice(&response.bytes().await?).unwrap_or(Value::Null);
        Ok(Answer {
            status,
            headers,
            body,
        })
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }
}

impl Answer {
    /// The answer, if it has this status; else an error that shows what came.
    pub fn expect(self, status: u16) -> anyhow::Result<Self> {
        anyhow::ensure!(
            self.status == status,
            "expected {status}, got {}: {}",
            self.status,
            self.body
        );
        Ok(self)
    }

    /// `data.<name>`, a text.
    pub fn data(&self, name: &str) -> anyhow::Result<&str> {
        self.body["data"][name]
            .as_str()
            .with_context(|| format!("no data.{name} in {}", self.body))
    }
}

/// The smallest payment that every installation accepts.
pub fn payment(description: &str) -> Value {
    json!({
        "amount": 25, "currency": "USD", "description": description, "return_url": "https://shop.example/thanks?order=7",
        "customer": { "email": "ada@example.com", "first_name": "Ada", "last_name": "Lovelace" },
        "methods": ["switchyard_payment_demo"],
    })
}

/// A payout over the test gateway to this account number.
pub fn payout(description: &str, account_number: &str) -> Value {
    json!({
        "amount": 25, "currency": "USD", "description": description, "method": "switchyard_payout_demo",
        "customer": { "email": "ada@example.com", "first_name": "Ada", "last_name": "Lovelace" },
        "recipient": { "account_number": account_number },
    })
}

/// The two forms of the page, as a browser without script sends them: true when they lead to the
/// result. Sent again they do no harm, and where the page no longer asks they lead to where the
/// payment stands.
///
/// # Errors
/// When the server is gone.
///
/// # Panics
/// When the server answers with another status than 303 or 503.
pub async fn pays(payer: &Client, id: &str, number: &str) -> anyhow::Result<bool> {
    let details = [
        ("country", "US"),
        ("method", "switchyard_payment_demo"),
        ("msisdn", number),
    ];
    let Some(mut place) = leads_to(payer, &format!("/checkout/{id}/details"), &details).await?
    else {
        return Ok(false);
    };
    if let Some((_, answers)) = place.split_once("/confirm?a=") {
        let form = [("a", answers)];
        match leads_to(payer, &format!("/checkout/{id}/confirm"), &form).await? {
            Some(then) => place = then,
            None => return Ok(false),
        }
    }
    Ok(place.ends_with("/result"))
}

/// Destination of a form; `None` while the server answers that it cannot.
async fn leads_to(
    payer: &Client,
    path: &str,
    form: &[(&str, &str)],
) -> anyhow::Result<Option<String>> {
    let answer = payer.post_form(path, form).await?;
    match answer.status().as_u16() {
        303 => {
            let place = answer.headers().get("location").context("a location")?;
            Ok(Some(place.to_str()?.to_owned()))
        }
        503 => Ok(None),
        other => panic!("{path}: {other}"),
    }
}

/// Short time-outs, no redirects: a test that waits forever tells nothing.
fn plain_http() -> reqwest::Client {
    // Another test of this process may have chosen the provider already: it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    builder
        .timeout(std::time::Duration::from_secs(20))
        .build()
        .expect("a client without special settings")
}
