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
    /// assert_eq!(Operation::ALL.len(), 10);
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub id: u32,
    #[serde(flatten)]
    pub effect: Effect,
}

/// Effect that the engine performs for a gateway.
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
    pub fn can_mutate(&self) -> bool {
        self.mutates.unwrap_or_else(|| {
            !["GET", "HEAD", "OPTIONS"]
                .iter()
                .any(|safe| self.method.eq_ignore_ascii_case(safe))
        })
    }
}

/// A body: text, or any bytes, or (in requests) the fields of a form.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resume {
    pub id: u32,
    #[serde(flatten)]
    pub result: EffectResult,
}

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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpResponse {
    pub status: u16,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    pub body: Body,
}

/// Failed effect. Only `sent` decides about money.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectError {
    pub sent: Sent,
    pub kind: EffectErrorKind,
    pub message: String,
}

/// Can the request have reached the provider?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sent {
    /// Not one byte of it left.
    No,
    Maybe,
}

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failed {
    pub fault: Fault,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<LogLine>,
}

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
