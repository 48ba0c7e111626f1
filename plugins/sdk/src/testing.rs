//! Drives a gateway in a plain test, without a library, an engine or a network: the test answers
//! each effect.
//!
//! Every message goes through the same JSON as in the engine, so what passes here reads the same
//! there.
//!
//! ```
//! use serde_json::json;
//! use switchyard_gateway::testing::{self, Call};
//! use switchyard_gateway::{Collect, Context, Fault, Gateway, Operation, Outcome};
//!
//! #[derive(Default)]
//! struct Acme;
//!
//! impl Gateway for Acme {
//!     async fn collect(&self, cx: &Context, ask: Collect) -> Result<Outcome, Fault> {
//!         let request = cx.post("https://api.acme.example/charges");
//!         request.json(&json!({ "id": ask.reference })).send().await?;
//!         Ok(Outcome::pending())
//!     }
//! }
//! # // `gateway!` needs a gateway.json beside Cargo.toml: this does the part that the call needs.
//! # use switchyard_gateway::runtime::{self, Answer, Answering, Entry, Input};
//! # impl Entry for Acme {
//! #     fn manifest() -> &'static [u8] { b"{}" }
//! #     fn start(cx: Context, operation: Operation, input: Input) -> Answering {
//! #         Box::pin(async move {
//! #             let ask = runtime::input(operation, input)?;
//! #             Acme.collect(&cx, ask).await.map(Answer::from)
//! #         })
//! #     }
//! # }
//!
//! let end = Call::new(Operation::Collect)
//!     .config(json!({ "key": "k" }))
//!     .input(&testing::collect("acme_xof", 1_000, "XOF", 0))
//!     .run::<Acme>(|_| testing::answer(201, json!({ "state": "open" })))?;
//! assert_eq!(end.outcome, Outcome::pending());
//! assert_eq!(end.requests[0].url, "https://api.acme.example/charges");
//! # Ok::<(), Fault>(())
//! ```

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::fault::{Fault, FaultKind};
use crate::input::{Direction, Environment, Money};
use crate::manifest::Manifest;
use crate::outcome::Outcome;
use crate::runtime::{self, Entry, Step};
use crate::wire::{
    Begin, Effect, EffectError, EffectResult, Failed, HttpRequest, HttpResponse, LogLine,
    Operation, Pending, Ready, Resume,
};

mod samples;

pub use self::samples::{
    REFERENCE, answer, callback, collect, list, no_provider, options, payout, query, text_answer,
    timeout, unreachable,
};

/// One call of an operation.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
/// # fn main() -> Result<(), switchyard_gateway::Fault> {
/// use serde_json::json;
/// use switchyard_gateway::testing::{self, Call};
/// use switchyard_gateway::{Amount, Direction, Environment, Operation, Outcome};
///
/// let query = || {
///     let ask = testing::query("mtn_bj", Direction::Collect, 1_000, "XOF", 0);
///     Call::new(Operation::Query).environment(Environment::Live).state(json!("ch_1")).input(&ask)
/// };
/// let paid = json!({ "id": "ch_1", "state": "paid" });
/// let end = query().run::<Acme>(|_| testing::answer(200, paid.clone()))?;
/// let paid = Outcome::succeeded(Amount::minor(1_000, "XOF"));
/// assert_eq!(end.outcome, paid.with_provider_id("ch_1"));
/// let refused = query().run::<Acme>(|_| testing::unreachable());
/// assert!(refused.is_err(), "no answer is a fault, never a decline");
/// # Ok(())
/// # }
/// ```
pub struct Call {
    begin: Begin<'static>,
    numbers: BTreeMap<String, u64>,
}

/// Result of a call, with its effects.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
/// # fn main() -> Result<(), switchyard_gateway::Fault> {
/// use serde_json::json;
/// use switchyard_gateway::testing::{self, Call};
/// use switchyard_gateway::{LogLevel, Operation};
///
/// let call = Call::new(Operation::Collect).input(&testing::collect("mtn_bj", 1_000, "XOF", 0));
/// let open = json!({ "id": "ch_1", "state": "open" });
/// let end = call.run::<Acme>(|_| testing::answer(200, open.clone()))?;
/// assert_eq!(end.state, json!("ch_1"));
/// assert_eq!((end.requests.len(), end.requests[0].method.as_str()), (1, "POST"));
/// assert_eq!(end.log[0].level, LogLevel::Info);
/// assert_eq!(end.log[0].text, "charge ch_1 is open");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, PartialEq)]
pub struct End<T = Outcome> {
    pub outcome: T,
    pub state: Value,
    pub requests: Vec<HttpRequest>,
    pub log: Vec<LogLine>,
    /// The next number of each series.
    pub numbers: BTreeMap<String, u64>,
}

impl Call {
    /// A call in sandbox without a configuration.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() -> Result<(), switchyard_gateway::Fault> {
    /// use serde_json::json;
    /// use switchyard_gateway::testing::{self, Call};
    /// use switchyard_gateway::{Operation, Outcome};
    ///
    /// let ask = testing::collect("mtn_bj", 1_000, "XOF", 0);
    /// let call = Call::new(Operation::Collect).input(&ask);
    /// let open = json!({ "id": "ch_1", "state": "open" });
    /// let end = call.run::<Acme>(|_| testing::answer(200, open.clone()))?;
    /// assert_eq!(end.outcome, Outcome::pending().with_provider_id("ch_1"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(operation: Operation) -> Self {
        Self {
            begin: Begin {
                op: operation,
                call: "c_test".into(),
                now: "2026-11-20T10:00:00.000000Z".into(),
                seed: "5eed".into(),
                environment: Environment::Sandbox,
                config: Default::default(),
                state: Default::default(),
                input: Default::default(),
            },
            numbers: BTreeMap::new(),
        }
    }

    /// Continues the series of an earlier call: [`End::numbers`].
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() -> Result<(), switchyard_gateway::Fault> {
    /// use serde_json::json;
    /// use switchyard_gateway::testing::{self, Call};
    /// use switchyard_gateway::{Direction, Operation};
    ///
    /// let ask = testing::query("mtn_bj", Direction::Collect, 1_000, "XOF", 0);
    /// let open = || testing::answer(200, json!({ "id": "ch_1", "state": "open" }));
    /// let first = Call::new(Operation::Query).input(&ask).run::<Acme>(|_| open())?;
    /// let second = Call::new(Operation::Query).numbers(first.numbers).input(&ask);
    /// let second = second.run::<Acme>(|_| open())?;
    /// assert_eq!(second.requests[0].headers, [("x-number".to_owned(), "1".to_owned())]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn numbers(mut self, numbers: BTreeMap<String, u64>) -> Self {
        self.numbers = numbers;
        self
    }

    /// Configuration of the connection.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() -> Result<(), switchyard_gateway::Fault> {
    /// use serde_json::json;
    /// use switchyard_gateway::testing::{self, Call};
    /// use switchyard_gateway::{Fault, FaultKind, Operation};
    ///
    /// let ask = testing::collect("mtn_bj", 1_000, "XOF", 0);
    /// let config = json!({ "api_kee": "sk_test_7" });
    /// let call = Call::new(Operation::Collect).config(config).input(&ask);
    /// let fault: Fault = call.run::<Acme>(testing::no_provider).unwrap_err();
    /// assert_eq!(fault.kind, FaultKind::Config);
    /// # Ok(())
    /// # }
    /// ```
    pub fn config(mut self, config: Value) -> Self {
        self.begin.config.to_mut().clone_from(&config);
        self
    }

    /// In sandbox, unless this says otherwise.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() -> Result<(), switchyard_gateway::Fault> {
    /// use serde_json::json;
    /// use switchyard_gateway::testing::{self, Call};
    /// use switchyard_gateway::{Environment, Operation};
    ///
    /// let call = Call::new(Operation::Collect).environment(Environment::Live);
    /// let call = call.input(&testing::collect("mtn_bj", 1_000, "XOF", 0));
    /// let open = json!({ "id": "ch_1", "state": "open" });
    /// let end = call.run::<Acme>(|_| testing::answer(200, open.clone()))?;
    /// assert_eq!(end.requests[0].url, "https://api.acme.example/charges");
    /// # Ok(())
    /// # }
    /// ```
    pub fn environment(mut self, environment: Environment) -> Self {
        self.begin.environment = environment;
        self
    }

    /// When the call begins: RFC 3339 in UTC.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() -> Result<(), switchyard_gateway::Fault> {
    /// use serde_json::json;
    /// use switchyard_gateway::Operation;
    /// use switchyard_gateway::testing::{self, Call};
    ///
    /// // The gateway sends the time of the call in a header.
    /// let call = Call::new(Operation::Collect).now("2026-12-31T23:59:59Z");
    /// let call = call.input(&testing::collect("mtn_bj", 1_000, "XOF", 0));
    /// let open = json!({ "id": "ch_1", "state": "open" });
    /// let end = call.run::<Acme>(|_| testing::answer(200, open.clone()))?;
    /// let time = ("x-date".to_owned(), "2026-12-31T23:59:59Z".to_owned());
    /// assert!(end.requests[0].headers.contains(&time));
    /// # Ok(())
    /// # }
    /// ```
    pub fn now(mut self, now: &str) -> Self {
        self.begin.now = now.to_owned().into();
        self
    }

    /// State that an earlier call kept.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() -> Result<(), switchyard_gateway::Fault> {
    /// use serde_json::json;
    /// use switchyard_gateway::testing::{self, Call};
    /// use switchyard_gateway::{Direction, Operation};
    ///
    /// let ask = testing::query("mtn_bj", Direction::Collect, 1_000, "XOF", 0);
    /// let call = Call::new(Operation::Query).state(json!("ch_1")).input(&ask);
    /// let paid = json!({ "id": "ch_1", "state": "paid" });
    /// let end = call.run::<Acme>(|_| testing::answer(200, paid.clone()))?;
    /// assert_eq!(end.requests[0].url, "https://sandbox.acme.example/charges/ch_1");
    /// # Ok(())
    /// # }
    /// ```
    pub fn state(mut self, state: Value) -> Self {
        self.begin.state.to_mut().clone_from(&state);
        self
    }

    /// The operation's input: a [`Collect`](crate::Collect), or any JSON.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() -> Result<(), switchyard_gateway::Fault> {
    /// use switchyard_gateway::testing::{self, Call};
    /// use switchyard_gateway::{Operation, Outcome};
    ///
    /// let mut ask = testing::collect("mtn_bj", 1_000, "XOF", 0);
    /// ask.fields = [("msisdn", "2299700")].into();
    /// let end = Call::new(Operation::Collect).input(&ask).run::<Acme>(testing::no_provider)?;
    /// assert!(matches!(end.outcome, Outcome::Declined { field: Some(_), .. }));
    /// # Ok(())
    /// # }
    /// ```
    pub fn input(mut self, input: &impl Serialize) -> Self {
        *self.begin.input.to_mut() =
            serde_json::to_value(input).expect("the input can be written as JSON");
        self
    }

    /// Runs the call to its end; `provider` answers each HTTP request. Sleeps pass at once, the
    /// cache lasts for this call.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() -> Result<(), switchyard_gateway::Fault> {
    /// use switchyard_gateway::testing::{self, Call};
    /// use switchyard_gateway::{FaultKind, Operation};
    ///
    /// let ask = testing::collect("mtn_bj", 1_000, "XOF", 0);
    /// // An error page and a timeout are faults: neither says whether the money moved.
    /// for provider in [testing::text_answer(502, "<html>"), testing::timeout()] {
    ///     let call = Call::new(Operation::Collect).input(&ask);
    ///     let fault = call.run::<Acme>(|_| provider.clone()).unwrap_err();
    ///     assert_eq!(fault.kind, FaultKind::Provider);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn run<G: Entry>(
        self,
        provider: impl FnMut(&HttpRequest) -> Result<HttpResponse, EffectError>,
    ) -> Result<End, Fault> {
        self.run_as::<G, Outcome>(provider)
    }

    /// The same for an operation that comes to something else: `check_config`, `callback`.
    ///
    /// ```
    /// use switchyard_gateway::CallbackResult;
    /// use switchyard_gateway::testing::{self, Call};
    /// # use switchyard_gateway::runtime::{self, Answer, Answering, Entry, Input};
    /// # use switchyard_gateway::{Callback, Context, Fault, Operation};
    /// # struct Acme;
    /// # impl Entry for Acme {
    /// #     fn manifest() -> &'static [u8] { b"{}" }
    /// #     fn start(_: Context, operation: Operation, input: Input) -> Answering {
    /// #         Box::pin(async move {
    /// #             let news: Callback = runtime::input(operation, input)?;
    /// #             let id = news.header("x-charge").unwrap_or_default();
    /// #             Ok(Answer::from(CallbackResult::hint().about_provider_id(id)))
    /// #         })
    /// #     }
    /// # }
    ///
    /// let news = testing::callback("{}", &[("X-Charge", "ch_1")]);
    /// let call = Call::new(Operation::Callback).input(&news);
    /// let end = call.run_as::<Acme, CallbackResult>(testing::no_provider)?;
    /// assert_eq!(end.outcome, CallbackResult::hint().about_provider_id("ch_1"));
    /// # Ok::<(), Fault>(())
    /// ```
    pub fn run_as<G: Entry, T: DeserializeOwned>(
        self,
        mut provider: impl FnMut(&HttpRequest) -> Result<HttpResponse, EffectError>,
    ) -> Result<End<T>, Fault> {
        let mut end = Progress {
            state: self.begin.state.clone().into_owned(),
            numbers: self.numbers,
            ..Progress::default()
        };
        let mut waiting = Vec::new();
        let mut step = runtime::begin::<G>(&bytes(&self.begin));
        loop {
            let (message, call) = match step {
                Step::Ready(message) => {
                    let ready: Ready<T> = read(&message)?;
                    end.keep(ready.state, ready.log);
                    return Ok(End {
                        outcome: ready.outcome,
                        state: end.state,
                        requests: end.requests,
                        log: end.log,
                        numbers: end.numbers,
                    });
                }
                Step::Failed(message) => return Err(read::<Failed>(&message)?.fault),
                Step::Pending(message, call) => (message, call),
            };
            let pending: Pending = read(&message)?;
            end.keep(pending.state, pending.log);
            waiting.extend(pending.effects);
            if waiting.is_empty() {
                runtime::end(call);
                return Err(Fault::new(
                    FaultKind::Stalled,
                    "the gateway waits and asks for nothing",
                ));
            }
            let request = waiting.remove(0);
            let result = end.perform(request.effect, &mut provider);
            let resume = Resume {
                id: request.id,
                result,
            };
            step = runtime::resume(call, &bytes(&resume));
        }
    }
}

#[derive(Default)]
struct Progress {
    state: Value,
    requests: Vec<HttpRequest>,
    log: Vec<LogLine>,
    cache: BTreeMap<String, String>,
    numbers: BTreeMap<String, u64>,
}

impl Progress {
    fn keep(&mut self, state: Option<Value>, log: Vec<LogLine>) {
        if let Some(state) = state {
            self.state = state;
        }
        self.log.extend(log);
    }

    fn perform(
        &mut self,
        effect: Effect,
        provider: &mut impl FnMut(&HttpRequest) -> Result<HttpResponse, EffectError>,
    ) -> EffectResult {
        match effect {
            Effect::Http(request) => {
                let answer = provider(&request);
                self.requests.push(request);
                answer.map_or_else(EffectResult::Error, EffectResult::Http)
            }
            Effect::Sleep { .. } => EffectResult::Slept {},
            Effect::CacheGet { key } => EffectResult::Cache {
                value: self.cache.get(&key).cloned(),
            },
            Effect::CachePut { key, value, ttl_s } => {
                if ttl_s == 0 {
                    self.cache.remove(&key);
                } else {
                    self.cache.insert(key, value.clone());
                }
                EffectResult::Cache { value: Some(value) }
            }
            Effect::CounterNext { series, from } => {
                let next = self.numbers.entry(series).or_insert(0);
                let value = from.max(*next);
                *next = value + 1;
                EffectResult::Counter { value }
            }
        }
    }
}

/// Holds the manifest against the code: it reads, and each operation that it lists is written and
/// no other. `gateway!` makes a test of this.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
/// # fn main() {
/// use switchyard_gateway::testing;
///
/// testing::check_manifest::<Acme>();
/// # }
/// ```
pub fn check_manifest<G: Entry>() {
    let manifest = match Manifest::parse(G::manifest()) {
        Ok(manifest) => manifest,
        Err(error) => panic!("the manifest {error}"),
    };
    for operation in Operation::ALL {
        let step = runtime::begin::<G>(&bytes(&Begin {
            input: std::borrow::Cow::Owned(sample_input(operation)),
            ..Call::new(operation).begin
        }));
        let written = match step {
            Step::Ready(_) => true,
            Step::Pending(_, call) => {
                runtime::end(call);
                true
            }
            Step::Failed(message) => read::<Failed>(&message)
                .is_ok_and(|failed| failed.fault.kind != FaultKind::Unsupported),
        };
        let name = operation.as_str();
        match (manifest.has(operation), written) {
            (true, false) => panic!(
                "gateway.json lists `{name}`, and the gateway does not have it: write it, or remove it there"
            ),
            (false, true) => panic!(
                "the gateway has `{name}`, and gateway.json does not list it: add it to `operations`"
            ),
            _ => {}
        }
    }
}

fn sample_input(operation: Operation) -> Value {
    let written = |input: Result<Value, serde_json::Error>| input.expect("samples can be written");
    match operation {
        Operation::CheckConfig => Value::Null,
        Operation::Collect => written(serde_json::to_value(collect("sample", 100, "USD", 2))),
        Operation::Payout => written(serde_json::to_value(payout("sample", 100, "USD", 2))),
        Operation::Query | Operation::SubmitInput | Operation::Cancel => written(
            serde_json::to_value(query("sample", Direction::Collect, 100, "USD", 2)),
        ),
        Operation::Refund => json!({
            "reference": REFERENCE, "of": REFERENCE, "method": "sample", "amount": Money::from_minor(100, "USD", 2)
        }),
        Operation::Options => written(serde_json::to_value(options("sample", "sample", "USD", 2))),
        Operation::List => written(serde_json::to_value(list(Direction::Collect))),
        Operation::Callback => json!({
            "method": "POST", "path": "/", "headers": [], "body": {"text": "{}"}
        }),
    }
}

fn bytes(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("messages can be written as JSON")
}

fn read<T: DeserializeOwned>(message: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(message).map_err(|error| {
        Fault::new(
            FaultKind::Message,
            format!(
                "the gateway's message cannot be read: {error}: {}",
                String::from_utf8_lossy(message)
            ),
        )
    })
}
