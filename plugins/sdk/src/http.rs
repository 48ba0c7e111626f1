//! HTTP as a gateway sees it: say what to send, await what came back. The engine does the sending,
//! by its own rules: hosts of the manifest only, no redirects, at most 1 MiB an answer, at most 16
//! effects and 60 s a call.

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
/// # use switchyard_gateway::{Context, Fault};
/// # async fn example(cx: &Context) -> Result<(), Fault> {
/// use std::time::Duration;
/// let request = cx.post("https://api.acme.example/charges").bearer("key").header("x-version", "2");
/// let request = request.form(&[("amount", "10"), ("currency", "XOF")]);
/// let answer = request.timeout(Duration::from_secs(20)).send().await?;
/// # let _ = answer;
/// # Ok(())
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
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let request = cx.post("https://api.acme.example/charges");
    /// let answer = request.header("idempotency-key", "7d3f0c9e").send().await?;
    /// # let _ = answer;
    /// # Ok(())
    /// # }
    /// ```
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.request.headers.push((name.into(), value.into()));
        self
    }

    /// Adds `Authorization: Bearer <token>`.
    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", format!("Bearer {token}"))
    }

    /// Adds `Authorization: Basic` with a name and a password.
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let account = cx.get("https://api.acme.example/account").basic("shop_7", "secret");
    /// # let _ = account.send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn basic(self, user: &str, password: &str) -> Self {
        let pair = BASE64.encode(format!("{user}:{password}"));
        self.header("authorization", format!("Basic {pair}"))
    }

    /// A JSON body, with its content type.
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let body = serde_json::json!({ "amount": "25.00", "currency": "USD" });
    /// let answer = cx.post("https://api.acme.example/charges").json(&body).send().await?;
    /// # let _ = answer;
    /// # Ok(())
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
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let order = "<order><amount>25.00</amount></order>";
    /// let answer = cx.post("https://api.acme.example/charges").text("application/xml", order).send().await?;
    /// # let _ = answer;
    /// # Ok(())
    /// # }
    /// ```
    pub fn text(mut self, content_type: &str, body: impl Into<String>) -> Self {
        self.request.body = Some(Body::Text(body.into()));
        self.header("content-type", content_type)
    }

    /// A body of any bytes, with its content type.
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let message = [0x08, 0x96, 0x01];
    /// let answer = cx.post("https://api.acme.example/charges").bytes("application/protobuf", &message).send().await?;
    /// # let _ = answer;
    /// # Ok(())
    /// # }
    /// ```
    pub fn bytes(mut self, content_type: &str, body: &[u8]) -> Self {
        self.request.body = Some(Body::Base64(BASE64.encode(body)));
        self.header("content-type", content_type)
    }

    /// A form; the engine encodes it and sets the content type.
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
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.request.timeout_ms = Some(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// This request moves no money although its method could: a token, a look-up by POST. Getting
    /// this wrong turns a fault that must be "unknown" into "not sent", so say it only of requests
    /// that may be repeated for ever.
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let token = cx.post("https://api.acme.example/oauth/token").basic("id", "secret").reads_only();
    /// let answer = token.send().await?;
    /// # let _ = answer;
    /// # Ok(())
    /// # }
    /// ```
    pub fn reads_only(mut self) -> Self {
        self.request.mutates = Some(false);
        self
    }

    /// This request moves money although its method is GET.
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// // This provider charges by GET.
    /// let charge = cx.get("https://api.acme.example/charge?id=7d3f0c9e").mutates();
    /// # let _ = charge.send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn mutates(mut self) -> Self {
        self.request.mutates = Some(true);
        self
    }

    /// Sends it. Any status is an answer; an error is an answer that never came.
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let answer = cx.post("https://api.acme.example/charges").send().await?;
    /// match answer.status {
    ///     200..300 => {}
    ///     // Any status may follow a charge: an unexpected one is a fault, never a decline.
    ///     other => return Err(Fault::provider(format!("Acme answered {other}"))),
    /// }
    /// # Ok(())
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
/// # use switchyard_gateway::{Context, Fault};
/// # async fn example(cx: &Context) -> Result<(), Fault> {
/// #[derive(serde::Deserialize)]
/// struct Account {
///     name: String,
/// }
/// let answer = cx.get("https://api.acme.example/account").send().await?;
/// if !answer.is_success() {
///     return Err(Fault::provider(format!("Acme answered {}", answer.status)));
/// }
/// let account: Account = answer.json()?;
/// # let _ = account.name;
/// # Ok(())
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
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The first header of this name; case does not matter.
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let answer = cx.get("https://api.acme.example/account").send().await?;
    /// let wait = answer.header("retry-after").and_then(|text| text.parse::<u32>().ok());
    /// # let _ = wait;
    /// # Ok(())
    /// # }
    /// ```
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The body.
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let answer = cx.get("https://api.acme.example/certificate").send().await?;
    /// let first = answer.bytes().first();
    /// # let _ = first;
    /// # Ok(())
    /// # }
    /// ```
    pub fn bytes(&self) -> &[u8] {
        &self.body
    }

    /// The body as text.
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let answer = cx.get("https://api.acme.example/state?id=7d3f0c9e").send().await?;
    /// let is_paid = answer.text()?.trim() == "PAID";
    /// # let _ = is_paid;
    /// # Ok(())
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
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// #[derive(serde::Deserialize)]
    /// struct Charge {
    ///     status: String,
    /// }
    /// let charge: Charge = cx.get("https://api.acme.example/charges/7").send().await?.json()?;
    /// # let _ = charge.status;
    /// # Ok(())
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
/// # use switchyard_gateway::{Context, Fault};
/// # async fn example(cx: &Context) -> Result<(), Fault> {
/// match cx.get("https://api.acme.example/account").send().await {
///     Ok(answer) => assert!(answer.status < 1_000),
///     Err(error) if error.is_timeout() => return Err(Fault::provider("Acme is slow")),
///     Err(error) => return Err(error.into()),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendError(pub EffectError);

impl SendError {
    /// Can it have reached the provider?
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// if let Err(error) = cx.post("https://api.acme.example/charges").send().await {
    ///     // Not one byte left: another provider may be tried.
    ///     let is_safe = !error.maybe_sent();
    ///     # let _ = is_safe;
    ///     return Err(error.into());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn maybe_sent(&self) -> bool {
        self.0.sent == Sent::Maybe
    }

    /// Whether no answer came in time.
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
