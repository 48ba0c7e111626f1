//! HTTP as a gateway sees it: say what to send, await what came back. The engine does the sending,
//! by its own rules: hosts of the manifest only, no redirects, at most 1 MiB an answer, at most 16
//! effects and 60 s a call.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
//! # fn main() {
//! # let end = call!(cx, answers(201, r#"{"id":"ch_1"}"#), {
//! use serde_json::{Value, json};
//! use switchyard_gateway::Fault;
//!
//! let body = json!({ "amount": "1000", "currency": "XOF" });
//! let request = cx.post("https://api.acme.example/charges").bearer("sk_test_7").json(&body);
//! let answer = request.send().await?;
//! if !answer.is_success() {
//!     return Err(Fault::provider(format!("Acme answered {}", answer.status)));
//! }
//! let charge: Value = answer.json()?;
//! assert_eq!(charge["id"], "ch_1");
//! # });
//! # }
//! ```

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::fault::Fault;
use crate::wire::{
    Body, Effect, EffectError, EffectErrorKind, EffectResult, HttpRequest, HttpResponse, Sent,
};

/// A request that is being built. Nothing leaves before [`RequestBuilder::send`] is awaited.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
/// # fn main() {
/// # let end = call!(cx, answers(201, "{}"), {
/// use std::time::Duration;
///
/// let request = cx.post("https://api.acme.example/charges").bearer("sk_test_7");
/// let request = request.header("x-version", "2").timeout(Duration::from_secs(20));
/// let answer = request.form(&[("amount", "1000"), ("currency", "XOF")]).send().await?;
/// assert_eq!(answer.status, 201);
/// # });
/// # assert_eq!(end.requests[0].timeout_ms, Some(20_000));
/// # }
/// ```
#[must_use = "a request leaves when `send().await` is called"]
pub struct RequestBuilder<'c> {
    context: &'c Context,
    request: HttpRequest,
    broken: Option<String>,
}

impl<'c> RequestBuilder<'c> {
    pub(crate) fn new(context: &'c Context, method: &str, url: String) -> Self {
        Self {
            context,
            request: HttpRequest {
                method: method.to_ascii_uppercase(),
                url,
                headers: Vec::new(),
                body: None,
                timeout_ms: None,
                mutates: None,
            },
            broken: None,
        }
    }

    /// Adds a header.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(201, "{}"), {
    /// // A repeated request with the same key charges once, by the promise of this provider.
    /// let request = cx.post("https://api.acme.example/charges");
    /// let answer = request.header("idempotency-key", "7d3f0c9e").send().await?;
    /// # });
    /// # let headers = [("idempotency-key", "7d3f0c9e")];
    /// # let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    /// # assert_eq!(end.requests[0].headers, headers);
    /// # }
    /// ```
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.request.headers.push((name.into(), value.into()));
        self
    }

    /// Adds `Authorization: Bearer <token>`.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(200, "{}"), {
    /// #[derive(serde::Deserialize)]
    /// struct Config {
    ///     api_key: String,
    /// }
    /// let config: Config = cx.config()?;
    /// let request = cx.get("https://api.acme.example/account").bearer(&config.api_key);
    /// let answer = request.send().await?;
    /// # });
    /// # let headers = [("authorization", "Bearer sk_test_7")];
    /// # let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    /// # assert_eq!(end.requests[0].headers, headers);
    /// # }
    /// ```
    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", format!("Bearer {token}"))
    }

    /// Adds `Authorization: Basic` with a name and a password.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(200, "{}"), {
    /// let request = cx.get("https://api.acme.example/account").basic("shop_7", "secret");
    /// let account = request.send().await?;
    /// # });
    /// # let headers = [("authorization", "Basic c2hvcF83OnNlY3JldA==")];
    /// # let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    /// # assert_eq!(end.requests[0].headers, headers);
    /// # }
    /// ```
    pub fn basic(self, user: &str, password: &str) -> Self {
        let pair = BASE64.encode(format!("{user}:{password}"));
        self.header("authorization", format!("Basic {pair}"))
    }

    /// A JSON body, with its content type.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(201, "{}"), {
    /// let body = serde_json::json!({ "amount": "25.00", "currency": "USD" });
    /// let answer = cx.post("https://api.acme.example/charges").json(&body).send().await?;
    /// # });
    /// # let body = r#"{"amount":"25.00","currency":"USD"}"#.to_owned();
    /// # assert_eq!(end.requests[0].body, Some(switchyard_gateway::wire::Body::Text(body)));
    /// # }
    /// ```
    pub fn json(mut self, body: &impl Serialize) -> Self {
        match serde_json::to_string(body) {
            Ok(text) => self.text("application/json", text),
            Err(error) => {
                self.broken = Some(format!(
                    "the request body cannot be written as JSON: {error}"
                ));
                self
            }
        }
    }

    /// A body of text, with its content type.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(201, "<ok/>"), {
    /// let order = "<order><amount>25.00</amount></order>";
    /// let request = cx.post("https://api.acme.example/charges").text("application/xml", order);
    /// let answer = request.send().await?;
    /// # });
    /// # let headers = [("content-type", "application/xml")];
    /// # let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    /// # assert_eq!(end.requests[0].headers, headers);
    /// # }
    /// ```
    pub fn text(mut self, content_type: &str, body: impl Into<String>) -> Self {
        self.request.body = Some(Body::Text(body.into()));
        self.header("content-type", content_type)
    }

    /// A body of any bytes, with its content type.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(201, ""), {
    /// let message = [0x08, 0x96, 0x01];
    /// let request = cx.post("https://api.acme.example/charges");
    /// let answer = request.bytes("application/protobuf", &message).send().await?;
    /// # });
    /// # let headers = [("content-type", "application/protobuf")];
    /// # let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    /// # assert_eq!(end.requests[0].headers, headers);
    /// # }
    /// ```
    pub fn bytes(mut self, content_type: &str, body: &[u8]) -> Self {
        self.request.body = Some(Body::Base64(BASE64.encode(body)));
        self.header("content-type", content_type)
    }

    /// A form; the engine encodes it and sets the content type.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(200, "{}"), {
    /// // The engine sends `grant_type=client_credentials&scope=payments+payouts`.
    /// let grant = [("grant_type", "client_credentials"), ("scope", "payments payouts")];
    /// let request = cx.post("https://api.acme.example/oauth/token").form(&grant).reads_only();
    /// let token = request.send().await?;
    /// # });
    /// # assert!(matches!(&end.requests[0].body, Some(switchyard_gateway::wire::Body::Form(_))));
    /// # }
    /// ```
    pub fn form(mut self, fields: &[(&str, &str)]) -> Self {
        self.request.body = Some(Body::Form(
            fields
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        ));
        self
    }

    /// Time after which the request ends without an answer. The call itself ends it earlier.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, |_| switchyard_gateway::testing::timeout(), {
    /// use std::time::Duration;
    ///
    /// let account = cx.get("https://api.acme.example/account").timeout(Duration::from_secs(5));
    /// let slow = account.send().await.is_err_and(|error| error.is_timeout());
    /// assert!(slow);
    /// # });
    /// # assert_eq!(end.requests[0].timeout_ms, Some(5_000));
    /// # }
    /// ```
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.request.timeout_ms = Some(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// This request moves no money although its method could: a token, a look-up by POST. Getting
    /// this wrong turns a fault that must be "unknown" into "not sent", so say it only of requests
    /// that may be repeated for ever.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(200, "{}"), {
    /// let token = cx.post("https://api.acme.example/oauth/token").basic("id", "secret").reads_only();
    /// let answer = token.send().await?;
    /// # });
    /// # assert!(!end.requests[0].can_mutate());
    /// # }
    /// ```
    pub fn reads_only(mut self) -> Self {
        self.request.mutates = Some(false);
        self
    }

    /// This request moves money although its method is GET.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(200, "{}"), {
    /// // This provider charges by GET.
    /// let charge = cx.get("https://api.acme.example/charge?id=7d3f0c9e").mutates();
    /// let answer = charge.send().await?;
    /// # });
    /// # assert!(end.requests[0].can_mutate());
    /// # }
    /// ```
    pub fn mutates(mut self) -> Self {
        self.request.mutates = Some(true);
        self
    }

    /// Sends it. Any status is an answer; an error is an answer that never came.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(200, "{}"), {
    /// use switchyard_gateway::Fault;
    ///
    /// let answer = cx.post("https://api.acme.example/charges").send().await?;
    /// match answer.status {
    ///     200..300 => {}
    ///     // Any status may follow a charge: an unexpected one is a fault, never a decline.
    ///     other => return Err(Fault::provider(format!("Acme answered {other}"))),
    /// }
    /// # });
    /// # }
    /// ```
    pub async fn send(self) -> Result<Response, SendError> {
        if let Some(message) = self.broken {
            return Err(SendError(EffectError {
                sent: Sent::No,
                kind: EffectErrorKind::Other,
                message,
            }));
        }
        match self.context.perform(Effect::Http(self.request)).await {
            EffectResult::Http(answer) => Response::read(answer),
            EffectResult::Error(error) => Err(SendError(error)),
            EffectResult::Slept {} | EffectResult::Cache { .. } | EffectResult::Counter { .. } => {
                Err(SendError(EffectError {
                    sent: Sent::Maybe,
                    kind: EffectErrorKind::Other,
                    message: "the engine answered a request with something else".into(),
                }))
            }
        }
    }
}

/// Response of a provider, with any status.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
/// # fn main() {
/// # let end = call!(cx, answers(200, r#"{"name":"Ada's shop"}"#), {
/// use switchyard_gateway::Fault;
///
/// #[derive(serde::Deserialize)]
/// struct Account {
///     name: String,
/// }
/// let answer = cx.get("https://api.acme.example/account").send().await?;
/// if !answer.is_success() {
///     return Err(Fault::provider(format!("Acme answered {}", answer.status)));
/// }
/// let account: Account = answer.json()?;
/// assert_eq!(account.name, "Ada's shop");
/// # });
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Response {
    fn read(answer: HttpResponse) -> Result<Self, SendError> {
        let body = answer.body.bytes().map_err(|fault| {
            SendError(EffectError {
                sent: Sent::Maybe,
                kind: EffectErrorKind::Broken,
                message: fault.message,
            })
        })?;
        Ok(Self {
            status: answer.status,
            body: body.into_owned(),
            headers: answer.headers,
        })
    }

    /// Whether the status is 2xx.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(402, "no funds"), {
    /// use switchyard_gateway::{DeclineReason, Outcome};
    ///
    /// let answer = cx.post("https://api.acme.example/charges").send().await?;
    /// let outcome = match answer.status {
    ///     _ if answer.is_success() => Outcome::pending(),
    ///     402 => Outcome::declined(DeclineReason::InsufficientFunds, answer.text()?),
    ///     other => Outcome::unknown(format!("Acme answered {other}")),
    /// };
    /// assert!(matches!(outcome, Outcome::Declined { .. }));
    /// # });
    /// # }
    /// ```
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The first header of this name; case does not matter.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(429, ""), {
    /// let answer = cx.get("https://api.acme.example/account").send().await?;
    /// let wait = answer.header("retry-after").and_then(|text| text.parse::<u32>().ok());
    /// assert_eq!(wait, Some(30));
    /// # });
    /// # }
    /// ```
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The body.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(200, "-----BEGIN"), {
    /// let answer = cx.get("https://api.acme.example/certificate").send().await?;
    /// assert!(answer.bytes().starts_with(b"-----BEGIN"));
    /// # });
    /// # }
    /// ```
    pub fn bytes(&self) -> &[u8] {
        &self.body
    }

    /// The body as text.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(200, "PAID\n"), {
    /// let answer = cx.get("https://api.acme.example/state?id=7d3f0c9e").send().await?;
    /// let is_paid = answer.text()?.trim() == "PAID";
    /// assert!(is_paid);
    /// # });
    /// # }
    /// ```
    pub fn text(&self) -> Result<&str, Fault> {
        std::str::from_utf8(&self.body).map_err(|_| {
            Fault::provider(format!(
                "the provider answered {} with bytes that are no text",
                self.status
            ))
        })
    }

    /// The body as JSON of this shape. Anything else (an HTML page, half an answer) is a fault,
    /// which is never a decline.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(200, r#"{"status":"paid"}"#), {
    /// #[derive(serde::Deserialize)]
    /// struct Charge {
    ///     status: String,
    /// }
    /// let charge: Charge = cx.get("https://api.acme.example/charges/7").send().await?.json()?;
    /// assert_eq!(charge.status, "paid");
    /// # });
    /// # }
    /// ```
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        serde_json::from_slice(&self.body).map_err(|error| {
            Fault::provider(format!(
                "the provider answered {} with a body that is not the expected JSON: {error}",
                self.status
            ))
        })
    }
}

/// A request that was not answered.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
/// # fn main() {
/// # let end = call!(cx, answers(200, "{}"), {
/// use switchyard_gateway::Fault;
///
/// let account = match cx.get("https://api.acme.example/account").send().await {
///     Ok(answer) => answer.text()?.to_owned(),
///     Err(error) if error.is_timeout() => return Err(Fault::provider("Acme is slow")),
///     Err(error) => return Err(error.into()),
/// };
/// assert_eq!(account, "{}");
/// # });
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendError(pub EffectError);

impl SendError {
    /// Can it have reached the provider?
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, |_| switchyard_gateway::testing::unreachable(), {
    /// let charge = cx.post("https://api.acme.example/charges").send().await;
    /// // No connection, so not one byte left: another host of this provider may be tried.
    /// let charge = match charge {
    ///     Err(error) if !error.maybe_sent() => {
    ///         cx.post("https://api2.acme.example/charges").send().await
    ///     }
    ///     other => other,
    /// };
    /// # });
    /// # assert_eq!(end.requests.len(), 2);
    /// # }
    /// ```
    pub fn maybe_sent(&self) -> bool {
        self.0.sent == Sent::Maybe
    }

    /// Whether no answer came in time.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, |_| switchyard_gateway::testing::timeout(), {
    /// use switchyard_gateway::LogLevel;
    ///
    /// let answer = cx.get("https://api.acme.example/account").send().await;
    /// if answer.is_err_and(|error| error.is_timeout()) {
    ///     cx.log(LogLevel::Warn, "Acme is slow");
    /// }
    /// # });
    /// # assert_eq!(end.log.len(), 1);
    /// # }
    /// ```
    pub fn is_timeout(&self) -> bool {
        self.0.kind == EffectErrorKind::Timeout
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for SendError {}

impl From<SendError> for Fault {
    fn from(error: SendError) -> Self {
        Self::provider(error.0.message)
    }
}

pub(crate) fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers
        .iter()
        .find(|(header, _)| header.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}
