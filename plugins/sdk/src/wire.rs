//! The messages between the engine and a gateway: JSON, one object each. Unknown fields are
//! ignored, so both sides may grow.
//!
//! Every message has a golden file in `plugins/sdk/wire/`; a test holds them. Additions only.
//!
//! A call of three messages: the gateway asks for an HTTP request, gets the response, and ends with
//! an outcome.
//!
//! ```
//! use switchyard_gateway::Outcome;
//! use switchyard_gateway::wire::{Begin, Effect, EffectResult, Pending, Ready, Resume};
//!
//! let begin: Begin = serde_json::from_str(
//!     r#"{ "op": "collect", "call": "c_1", "now": "2026-11-20T10:00:00Z", "seed": "5eed" }"#,
//! )?;
//! assert!(begin.op.submits());
//!
//! let pending: Pending = serde_json::from_str(
//!     r#"{ "do": [{ "id": 1, "http": { "method": "POST", "url": "https://api.acme.example/charges" } }] }"#,
//! )?;
//! let Effect::Http(request) = &pending.effects[0].effect else {
//!     unreachable!("it is an HTTP request")
//! };
//! assert!(request.can_mutate(), "a POST can move money unless it says otherwise");
//!
//! let resume: Resume = serde_json::from_str(
//!     r#"{ "id": 1, "http": { "status": 201, "body": { "text": "{}" } } }"#,
//! )?;
//! assert!(matches!(resume.result, EffectResult::Http(response) if response.status == 201));
//!
//! let ready: Ready<Outcome> = serde_json::from_str(r#"{ "outcome": { "pending": {} } }"#)?;
//! assert_eq!(ready.outcome, Outcome::pending());
//! # Ok::<(), serde_json::Error>(())
//! ```

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fault::Fault;
use crate::input::Environment;

/// Operation of a gateway. Its manifest lists the operations that it has.
///
/// ```
/// use switchyard_gateway::Operation;
///
/// let listed: Vec<Operation> = serde_json::from_str(r#"["collect", "query"]"#)?;
/// assert_eq!(listed, [Operation::Collect, Operation::Query]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    CheckConfig,
    Collect,
    Payout,
    Query,
    SubmitInput,
    Cancel,
    Refund,
    Callback,
    Options,
    List,
}

impl Operation {
    /// All operations, in the order of this enum.
    ///
    /// ```
    /// use switchyard_gateway::Operation;
    ///
    /// let submits = Operation::ALL.into_iter().filter(|operation| operation.submits());
    /// let names: Vec<_> = submits.map(Operation::as_str).collect();
    /// assert_eq!(names, ["collect", "payout", "refund"]);
    /// ```
    pub const ALL: [Self; 10] = [
        Self::CheckConfig,
        Self::Collect,
        Self::Payout,
        Self::Query,
        Self::SubmitInput,
        Self::Cancel,
        Self::Refund,
        Self::Callback,
        Self::Options,
        Self::List,
    ];

    /// Its name in messages and manifests.
    ///
    /// ```
    /// use switchyard_gateway::Operation;
    ///
    /// assert_eq!(Operation::SubmitInput.as_str(), "submit_input");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CheckConfig => "check_config",
            Self::Collect => "collect",
            Self::Payout => "payout",
            Self::Query => "query",
            Self::SubmitInput => "submit_input",
            Self::Cancel => "cancel",
            Self::Refund => "refund",
            Self::Callback => "callback",
            Self::Options => "options",
            Self::List => "list",
        }
    }

    /// Does this operation submit something new to the provider? Only then can a call come to "not
    /// sent": the others speak of an attempt that is already out.
    ///
    /// ```
    /// use switchyard_gateway::Operation;
    ///
    /// assert!(Operation::Collect.submits() && !Operation::Query.submits());
    /// ```
    pub const fn submits(self) -> bool {
        matches!(self, Self::Collect | Self::Payout | Self::Refund)
    }
}

/// `begin` ←: start an operation.
///
/// ```
/// use std::borrow::Cow;
/// use switchyard_gateway::wire::Begin;
/// use switchyard_gateway::{Environment, Operation, testing};
///
/// let begin = Begin {
///     op: Operation::Collect,
///     call: "c_1".into(),
///     now: "2026-11-20T10:00:00.000000Z".into(),
///     seed: "5eed".into(),
///     environment: Environment::Live,
///     config: Cow::Owned(serde_json::json!({ "api_key": "sk_live_7" })),
///     state: Cow::default(),
///     input: Cow::Owned(serde_json::to_value(testing::collect("mtn_bj", 1_000, "XOF", 0))?),
/// };
/// let message = serde_json::to_string(&begin)?;
/// assert!(message.starts_with(r#"{"op":"collect","call":"c_1","now":"2026-11-20T"#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Begin<'a> {
    pub op: Operation,
    /// This call, for logs.
    pub call: Cow<'a, str>,
    /// The engine's time, RFC 3339 in UTC.
    pub now: Cow<'a, str>,
    /// 32 random bytes in hexadecimal, other ones in each call.
    pub seed: Cow<'a, str>,
    #[serde(default)]
    pub environment: Environment,
    #[serde(default)]
    pub config: Cow<'a, Value>,
    /// State of the attempt from earlier calls.
    #[serde(default)]
    pub state: Cow<'a, Value>,
    #[serde(default)]
    pub input: Cow<'a, Value>,
}

/// PENDING →: effects that the engine performs before the call continues.
///
/// ```
/// use switchyard_gateway::LogLevel;
/// use switchyard_gateway::wire::Pending;
///
/// let pending: Pending = serde_json::from_str(r#"{
///     "do": [{ "id": 1, "sleep": { "ms": 500 } }, { "id": 2, "cache.get": { "key": "token" } }],
///     "log": [{ "level": "warn", "text": "the provider repeats an order" }]
/// }"#)?;
/// assert_eq!((pending.effects.len(), pending.log[0].level), (2, LogLevel::Warn));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// New effects; those of earlier steps that are not answered yet are not repeated.
    #[serde(rename = "do", default)]
    pub effects: Vec<Request>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<LogLine>,
    /// The attempt's state, when this step changed it: kept before the effects leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
}

/// One effect, with the number under which its result comes back.
///
/// ```
/// use switchyard_gateway::wire::{Effect, EffectResult, Request, Resume};
///
/// let request = Request { id: 3, effect: Effect::Sleep { ms: 500 } };
/// assert_eq!(serde_json::to_string(&request)?, r#"{"id":3,"sleep":{"ms":500}}"#);
/// let resume = Resume { id: request.id, result: EffectResult::Slept {} };
/// assert_eq!(serde_json::to_string(&resume)?, r#"{"id":3,"slept":{}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub id: u32,
    #[serde(flatten)]
    pub effect: Effect,
}

/// Effect that the engine performs for a gateway.
///
/// ```
/// use switchyard_gateway::wire::Effect;
///
/// let name = |effect: &Effect| match effect {
///     Effect::Http(request) => format!("{} {}", request.method, request.url),
///     Effect::Sleep { ms } => format!("sleep {ms} ms"),
///     Effect::CacheGet { key } | Effect::CachePut { key, .. } => format!("cache {key}"),
///     Effect::CounterNext { series, .. } => format!("next number of {series}"),
/// };
/// let effect: Effect = serde_json::from_str(r#"{ "counter.next": { "series": "invoice" } }"#)?;
/// assert_eq!(name(&effect), "next number of invoice");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Effect {
    #[serde(rename = "http")]
    Http(HttpRequest),
    #[serde(rename = "sleep")]
    Sleep { ms: u64 },
    #[serde(rename = "cache.get")]
    CacheGet { key: String },
    #[serde(rename = "cache.put")]
    CachePut {
        key: String,
        value: String,
        ttl_s: u64,
    },
    /// The next number of a series that this gateway names: durable, and never given twice. It is
    /// `from` at least; those below are passed over for good.
    #[serde(rename = "counter.next")]
    CounterNext {
        series: String,
        #[serde(default, skip_serializing_if = "is_zero")]
        from: u64,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// HTTP request that the engine sends. A test's provider answers by it.
///
/// ```
/// use serde_json::json;
/// use switchyard_gateway::testing;
/// use switchyard_gateway::wire::{EffectError, HttpRequest, HttpResponse};
///
/// fn provider(request: &HttpRequest) -> Result<HttpResponse, EffectError> {
///     match (request.method.as_str(), request.url.as_str()) {
///         ("POST", "https://api.acme.example/token") => {
///             testing::answer(200, json!({ "token": "eyJhbGciOi" }))
///         }
///         ("POST", url) if url.ends_with("/charges") => testing::timeout(),
///         _ => testing::text_answer(404, "no such page"),
///     }
/// }
/// # let request = r#"{ "method": "POST", "url": "https://api.acme.example/token" }"#;
/// # assert_eq!(provider(&serde_json::from_str(request)?).unwrap().status, 200);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpRequest {
    pub method: String,
    pub url: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Can this request move money? Absent: every method but GET, HEAD and OPTIONS can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutates: Option<bool>,
}

impl HttpRequest {
    /// Whether the request can move money.
    ///
    /// ```
    /// use switchyard_gateway::wire::HttpRequest;
    ///
    /// let text = r#"{ "method": "POST", "url": "https://api.acme.example/token" }"#;
    /// let mut request: HttpRequest = serde_json::from_str(text)?;
    /// assert!(request.can_mutate());
    /// request.mutates = Some(false);
    /// assert!(!request.can_mutate(), "the gateway called `reads_only`");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn can_mutate(&self) -> bool {
        self.mutates.unwrap_or_else(|| {
            !["GET", "HEAD", "OPTIONS"]
                .iter()
                .any(|safe| self.method.eq_ignore_ascii_case(safe))
        })
    }
}

/// A body: text, or any bytes, or (in requests) the fields of a form.
///
/// ```
/// use switchyard_gateway::wire::Body;
///
/// let grant = ("grant_type".to_owned(), "client_credentials".to_owned());
/// let body = Body::Form(vec![grant]);
/// let text = r#"{"form":[["grant_type","client_credentials"]]}"#;
/// assert_eq!(serde_json::to_string(&body)?, text);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    Text(String),
    Base64(String),
    Form(Vec<(String, String)>),
}

impl Body {
    /// Bytes as text where they are UTF-8.
    ///
    /// ```
    /// use switchyard_gateway::wire::Body;
    ///
    /// assert_eq!(Body::of(b"paid".to_vec()), Body::Text("paid".into()));
    /// assert_eq!(Body::of(vec![0xff]), Body::Base64("/w==".into()));
    /// ```
    pub fn of(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(not_text) => Self::Base64(BASE64.encode(not_text.as_bytes())),
        }
    }

    /// The bytes; a form has none of its own, and base64 that is none is an error.
    ///
    /// ```
    /// use switchyard_gateway::wire::Body;
    ///
    /// assert_eq!(Body::Base64("/w==".into()).bytes()?.as_ref(), [0xff]);
    /// assert!(Body::Form(Vec::new()).bytes().is_err());
    /// # Ok::<(), switchyard_gateway::Fault>(())
    /// ```
    pub fn bytes(&self) -> Result<Cow<'_, [u8]>, Fault> {
        match self {
            Self::Text(text) => Ok(Cow::Borrowed(text.as_bytes())),
            Self::Base64(text) => BASE64
                .decode(text)
                .map(Cow::Owned)
                .map_err(|error| Fault::message(format!("the body is not base64: {error}"))),
            Self::Form(_) => Err(Fault::message(
                "a form has no bytes before it is sent: use `text`",
            )),
        }
    }
}

/// `resume` ←: the result of one effect.
///
/// ```
/// use switchyard_gateway::wire::{EffectResult, Resume};
///
/// let resume: Resume = serde_json::from_str(r#"{ "id": 2, "cache": { "value": null } }"#)?;
/// assert_eq!(resume.result, EffectResult::Cache { value: None }, "the cache has no such key");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resume {
    pub id: u32,
    #[serde(flatten)]
    pub result: EffectResult,
}

/// Result of an effect.
///
/// ```
/// use switchyard_gateway::testing;
/// use switchyard_gateway::wire::EffectResult;
///
/// // A host turns the answer of a provider, or its absence, into the result of the effect.
/// let answer = testing::unreachable();
/// let result = answer.map_or_else(EffectResult::Error, EffectResult::Http);
/// assert!(matches!(result, EffectResult::Error(error) if error.message.contains("reached")));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectResult {
    Http(HttpResponse),
    Slept {},
    /// Value in the cache; after a put, the new value.
    Cache {
        value: Option<String>,
    },
    Counter {
        value: u64,
    },
    Error(EffectError),
}

/// HTTP response of the provider, with any status.
///
/// ```
/// use switchyard_gateway::wire::{Body, HttpResponse};
///
/// // A test's provider that limits the rate. `testing::answer` makes most others.
/// let busy = HttpResponse {
///     status: 429,
///     headers: vec![("retry-after".into(), "30".into())],
///     body: Body::Text("slow down".into()),
/// };
/// assert_eq!(busy.body.bytes()?.as_ref(), b"slow down");
/// # Ok::<(), switchyard_gateway::Fault>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpResponse {
    pub status: u16,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    pub body: Body,
}

/// Failed effect. Only `sent` decides about money.
///
/// ```
/// use switchyard_gateway::wire::{EffectError, EffectErrorKind, Sent};
///
/// // A connection that was reset after the request: the provider may have it.
/// let reset = EffectError {
///     sent: Sent::Maybe,
///     kind: EffectErrorKind::Broken,
///     message: "the connection was reset".into(),
/// };
/// let text = r#"{"sent":"maybe","kind":"broken","message":"the connection was reset"}"#;
/// assert_eq!(serde_json::to_string(&reset)?, text);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectError {
    pub sent: Sent,
    pub kind: EffectErrorKind,
    pub message: String,
}

/// Can the request have reached the provider?
///
/// ```
/// use switchyard_gateway::testing;
/// use switchyard_gateway::wire::Sent;
///
/// let may_try_another = |sent: Sent| sent == Sent::No;
/// assert!(may_try_another(testing::unreachable().unwrap_err().sent));
/// assert!(!may_try_another(testing::timeout().unwrap_err().sent));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sent {
    /// Not one byte of it left.
    No,
    Maybe,
}

/// Kind of a failed effect, for logs and messages.
///
/// ```
/// use switchyard_gateway::wire::{EffectError, EffectErrorKind};
///
/// let error: EffectError = serde_json::from_str(
///     r#"{ "sent": "no", "kind": "refused", "message": "the manifest does not list this host" }"#,
/// )?;
/// assert_eq!(error.kind, EffectErrorKind::Refused);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EffectErrorKind {
    Timeout,
    Connect,
    /// The engine refuses: a host that the manifest does not list, a private address, a limit.
    Refused,
    Broken,
    TooLarge,
    #[serde(other)]
    Other,
}

/// READY →: the call is over.
///
/// ```
/// use switchyard_gateway::CallbackResult;
/// use switchyard_gateway::wire::Ready;
///
/// // `T` is the result of the operation, here `callback`.
/// let ready: Ready<CallbackResult> =
///     serde_json::from_str(r#"{ "outcome": { "trusted": false, "provider_id": "ch_1" } }"#)?;
/// assert_eq!(ready.outcome, CallbackResult::hint().about_provider_id("ch_1"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ready<T> {
    pub outcome: T,
    /// The attempt's state, when the call changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<LogLine>,
}

/// FAILED →: the call is over without an outcome.
///
/// ```
/// use switchyard_gateway::FaultKind;
/// use switchyard_gateway::wire::Failed;
///
/// let failed: Failed = serde_json::from_str(
///     r#"{ "fault": { "kind": "provider", "message": "Acme answered 502" }, "state": "ch_1" }"#,
/// )?;
/// assert_eq!(failed.fault.kind, FaultKind::Provider);
/// assert!(failed.state.is_some(), "the state is kept in spite of the fault");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failed {
    pub fault: Fault,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<LogLine>,
}

/// Line of a gateway in the engine's log.
///
/// ```
/// use switchyard_gateway::LogLevel;
/// use switchyard_gateway::wire::LogLine;
///
/// let line = LogLine { level: LogLevel::Warn, text: "the token was refused".into() };
/// let text = r#"{"level":"warn","text":"the token was refused"}"#;
/// assert_eq!(serde_json::to_string(&line)?, text);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    pub level: LogLevel,
    pub text: String,
}

/// Weight of a line in the engine's log.
///
/// ```
/// use switchyard_gateway::LogLevel;
///
/// assert!(LogLevel::Debug < LogLevel::Warn);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    Debug,
    Info,
    Warn,
}
