//! Runs a gateway's calls over real HTTP.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchyard_gateway::runtime::{self, Entry, Step};
use switchyard_gateway::wire::{
    Begin, Body, Effect, EffectError, EffectErrorKind, EffectResult, Failed, HttpRequest,
    HttpResponse, Pending, Ready, Request, Resume, Sent,
};
use switchyard_gateway::{
    Environment, Fault, FaultKind, List, ListedTransaction, Operation, TransactionPage,
};

use crate::NOW;

/// One connection to a gateway: its configuration, its cache and numbers, and every request that it
/// made.
pub struct Driver<G> {
    config: Value,
    environment: Environment,
    http: reqwest::Client,
    state: Mutex<DriverState>,
    gateway: PhantomData<fn() -> G>,
}

struct DriverState {
    now: String,
    cache: BTreeMap<String, String>,
    numbers: BTreeMap<String, u64>,
    requests: Vec<HttpRequest>,
}

impl<G: Entry> Driver<G> {
    /// A sandbox connection with this configuration.
    pub fn new(config: Value) -> Self {
        Self {
            config,
            environment: Environment::Sandbox,
            http: client(),
            state: Mutex::new(DriverState {
                now: NOW.to_owned(),
                cache: BTreeMap::new(),
                numbers: BTreeMap::new(),
                requests: Vec::new(),
            }),
            gateway: PhantomData,
        }
    }

    /// The same connection in live.
    pub fn in_live(mut self) -> Self {
        self.environment = Environment::Live;
        self
    }

    /// Sets the time of the next calls: RFC 3339 in UTC.
    pub fn set_now(&self, now: &str) {
        now.clone_into(&mut self.state().now);
    }

    /// Every HTTP request so far, in order.
    pub fn requests(&self) -> Vec<HttpRequest> {
        self.state().requests.clone()
    }

    /// Runs one operation of an attempt to its end. `state` is what the attempt keeps; start with
    /// `Value::Null`.
    pub async fn call<T: DeserializeOwned>(
        &self,
        operation: Operation,
        input: &impl Serialize,
        state: &mut Value,
    ) -> Result<T, Fault> {
        let begin = self.begin(operation, input, state)?;
        let mut step = runtime::begin::<G>(&begin);
        let mut waiting: Vec<Request> = Vec::new();
        loop {
            let (message, call) = match step {
                Step::Ready(message) => {
                    let ready: Ready<T> = read(&message)?;
                    keep(state, ready.state);
                    return Ok(ready.outcome);
                }
                Step::Failed(message) => {
                    let failed: Failed = read(&message)?;
                    keep(state, failed.state);
                    return Err(failed.fault);
                }
                Step::Pending(message, call) => (message, call),
            };
            let pending: Pending = read(&message)?;
            keep(state, pending.state);
            waiting.extend(pending.effects);
            if waiting.is_empty() {
                runtime::end(call);
                return Err(nonsense("the gateway waits and asks for nothing"));
            }
            let request = waiting.remove(0);
            let result = self.perform(request.effect).await;
            let resume = Resume {
                id: request.id,
                result,
            };
            step = runtime::resume(call, &written(&resume)?);
        }
    }

    /// All pages of a list, each as the contract wants it. Also returns how many pages there were.
    ///
    /// # Panics
    /// When a page breaks the contract, or when there is no end.
    pub async fn list(&self, mut ask: List) -> Result<(Vec<ListedTransaction>, usize), Fault> {
        let mut listed = Vec::new();
        for number in 1..=PAGES {
            let mut state = Value::Null;
            let page: TransactionPage = self.call(Operation::List, &ask, &mut state).await?;
            page.check(&ask)
                .unwrap_or_else(|why| panic!("page {number} {why}"));
            listed.extend(page.transactions);
            ask.cursor = page.next;
            if ask.cursor.is_none() {
                return Ok((listed, number));
            }
        }
        panic!("the list has no end");
    }

    fn begin(
        &self,
        operation: Operation,
        input: &impl Serialize,
        state: &Value,
    ) -> Result<Vec<u8>, Fault> {
        let input = serde_json::to_value(input).map_err(|error| nonsense(&error.to_string()))?;
        let now = self.state().now.clone();
        written(&Begin {
            op: operation,
            call: Cow::Borrowed("c_test"),
            now: Cow::Owned(now),
            seed: Cow::Borrowed("5eed"),
            environment: self.environment,
            config: Cow::Borrowed(&self.config),
            state: Cow::Borrowed(state),
            input: Cow::Owned(input),
        })
    }

    async fn perform(&self, effect: Effect) -> EffectResult {
        match effect {
            Effect::Http(request) => {
                self.state().requests.push(request.clone());
                let answered = self.http(&request).await;
                answered.map_or_else(EffectResult::Error, EffectResult::Http)
            }
            Effect::Sleep { ms } => {
                // Long enough for a simulator to get on with it, short enough for a test.
                tokio::time::sleep(Duration::from_millis(ms).min(SLEEP)).await;
                EffectResult::Slept {}
            }
            Effect::CacheGet { key } => EffectResult::Cache {
                value: self.state().cache.get(&key).cloned(),
            },
            Effect::CachePut { key, value, ttl_s } => {
                let mut state = self.state();
                if ttl_s == 0 {
                    state.cache.remove(&key);
                } else {
                    state.cache.insert(key, value.clone());
                }
                EffectResult::Cache { value: Some(value) }
            }
            Effect::CounterNext { series, from } => {
                let mut state = self.state();
                let next = state.numbers.entry(series).or_insert(0);
                let value = from.max(*next);
                *next = value + 1;
                EffectResult::Counter { value }
            }
        }
    }

    async fn http(&self, request: &HttpRequest) -> Result<HttpResponse, EffectError> {
        let method = reqwest::Method::from_bytes(request.method.as_bytes())
            .map_err(|error| refused(&error.to_string()))?;
        let mut builder = self.http.request(method, &request.url);
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        if let Some(ms) = request.timeout_ms {
            builder = builder.timeout(Duration::from_millis(ms));
        }
        builder = match &request.body {
            None => builder,
            Some(Body::Form(fields)) => builder.form(fields),
            Some(body) => {
                let bytes = body.bytes().map_err(|fault| refused(&fault.message))?;
                builder.body(bytes.into_owned())
            }
        };
        let response = builder.send().await.map_err(|error| failure(&error))?;
        let status = response.status().as_u16();
        let headers = response.headers().iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.to_string(), value)
        });
        let headers = headers.collect();
        let body = response.bytes().await.map_err(|error| EffectError {
            sent: Sent::Maybe,
            ..failure(&error)
        })?;
        Ok(HttpResponse {
            status,
            headers,
            body: Body::of(body.to_vec()),
        })
    }

    fn state(&self) -> MutexGuard<'_, DriverState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As the engine's: no redirects, no second try of its own.
pub fn client() -> reqwest::Client {
    // Another test of this process may have chosen the provider already: it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .timeout(Duration::from_secs(20))
        .build()
        .expect("a client without files or proxies can be made")
}

fn failure(error: &reqwest::Error) -> EffectError {
    let (sent, kind) = if error.is_connect() {
        (Sent::No, EffectErrorKind::Connect)
    } else if error.is_timeout() {
        (Sent::Maybe, EffectErrorKind::Timeout)
    } else {
        (Sent::Maybe, EffectErrorKind::Broken)
    };
    EffectError {
        sent,
        kind,
        message: error.to_string(),
    }
}

fn refused(message: &str) -> EffectError {
    EffectError {
        sent: Sent::No,
        kind: EffectErrorKind::Refused,
        message: message.to_owned(),
    }
}

fn keep(state: &mut Value, changed: Option<Value>) {
    if let Some(changed) = changed {
        *state = changed;
    }
}

fn read<T: DeserializeOwned>(message: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(message).map_err(|error| {
        nonsense(&format!(
            "the gateway's message cannot be read: {error}: {}",
            String::from_utf8_lossy(message)
        ))
    })
}

fn written(message: &impl Serialize) -> Result<Vec<u8>, Fault> {
    serde_json::to_vec(message).map_err(|error| nonsense(&error.to_string()))
}

fn nonsense(message: &str) -> Fault {
    Fault::new(FaultKind::Message, message)
}

/// Pages after which a list counts as endless.
const PAGES: usize = 100;
const SLEEP: Duration = Duration::from_millis(20);
