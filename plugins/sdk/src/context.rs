//! Context of one call: HTTP, sleep, cache, log, time, randomness, the connection's configuration
//! and the attempt's state. The engine performs all input and output, as effects.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::chance::Chance;
use crate::fault::Fault;
use crate::http::RequestBuilder;
use crate::input::Environment;
use crate::time::Moment;
use crate::wire::{Begin, Effect, EffectResult, LogLevel, LogLine, Request};

/// One call's connection with the engine.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
/// # fn main() {
/// # let end = call!(cx, answers(200, r#"{"token":"eyJhbGciOi"}"#), {
/// use std::time::Duration;
/// use switchyard_gateway::{Context, Fault};
///
/// #[derive(serde::Deserialize)]
/// struct Access {
///     token: String,
/// }
///
/// /// A token from the connection's cache, else from the provider.
/// async fn token(cx: &Context) -> Result<String, Fault> {
///     if let Some(token) = cx.cached("token").await {
///         return Ok(token);
///     }
///     let request = cx.post("https://api.acme.example/oauth/token").reads_only();
///     let fresh: Access = request.send().await?.json()?;
///     cx.cache("token", &fresh.token, Duration::from_secs(3_000)).await;
///     Ok(fresh.token)
/// }
/// # assert_eq!(token(cx).await?, token(cx).await?);
/// # });
/// # assert_eq!(end.requests.len(), 1);
/// # }
/// ```
pub struct Context {
    call: String,
    now: Moment,
    environment: Environment,
    config: Value,
    channel: Arc<EffectChannel>,
}

impl Context {
    pub(crate) fn new(begin: Begin<'_>) -> Result<(Self, Arc<EffectChannel>, Value), Fault> {
        let channel = Arc::new(EffectChannel(Mutex::new(EffectQueue {
            chance: Chance::from_seed(&begin.seed),
            state: begin.state.into_owned(),
            state_changed: false,
            last_id: 0,
            waiting: 0,
            requests: Vec::new(),
            results: Vec::new(),
            log: Vec::new(),
        })));
        let context = Self {
            call: begin.call.into_owned(),
            now: Moment::parse(&begin.now)?,
            environment: begin.environment,
            config: begin.config.into_owned(),
            channel: Arc::clone(&channel),
        };
        Ok((context, channel, begin.input.into_owned()))
    }

    /// This call, for logs.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(200, "{}"), {
    /// // The provider's support finds the request by it.
    /// let request = cx.get("https://api.acme.example/account").header("x-request-id", cx.call());
    /// let answer = request.send().await?;
    /// # });
    /// # assert_eq!(end.requests[0].headers[0].1, "c_test");
    /// # }
    /// ```
    pub fn call(&self) -> &str {
        &self.call
    }

    /// When this call began, by the engine's clock.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, switchyard_gateway::testing::no_provider, {
    /// // Milliseconds since 1970, as signatures of some providers begin with.
    /// let timestamp = cx.now().unix_millis().to_string();
    /// assert_eq!(timestamp, "1795168800000");
    /// # });
    /// # }
    /// ```
    pub fn now(&self) -> &Moment {
        &self.now
    }

    /// Environment of the connection: another host in sandbox.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, switchyard_gateway::testing::no_provider, {
    /// use switchyard_gateway::Environment;
    ///
    /// let host = match cx.environment() {
    ///     Environment::Sandbox => "sandbox.acme.example",
    ///     Environment::Live => "api.acme.example",
    /// };
    /// assert_eq!(host, "sandbox.acme.example");
    /// # });
    /// # }
    /// ```
    pub fn environment(&self) -> Environment {
        self.environment
    }

    /// The connection's configuration, in the gateway's own type.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, switchyard_gateway::testing::no_provider, {
    /// #[derive(serde::Deserialize)]
    /// struct Config {
    ///     api_key: String,
    ///     base_url: Option<String>,
    /// }
    /// let config: Config = cx.config()?;
    /// assert_eq!((config.api_key.as_str(), config.base_url), ("sk_test_7", None));
    /// # });
    /// # }
    /// ```
    pub fn config<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        T::deserialize(&self.config).map_err(|error| {
            Fault::config(format!(
                "the connection's configuration does not fit: {error}"
            ))
        })
    }

    /// State of the attempt from earlier calls; `None` before the first [`Context::set_state`].
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, switchyard_gateway::testing::no_provider, {
    /// let order: Option<String> = cx.state()?;
    /// assert_eq!(order, None, "the first call of an attempt");
    /// # });
    /// # }
    /// ```
    pub fn state<T: DeserializeOwned>(&self) -> Result<Option<T>, Fault> {
        let papers = self.channel.papers();
        match &papers.state {
            Value::Null => Ok(None),
            Value::Object(fields) if fields.is_empty() => Ok(None),
            state => T::deserialize(state).map(Some).map_err(|error| {
                Fault::message(format!("the attempt's state does not fit: {error}"))
            }),
        }
    }

    /// Keeps `state` with the attempt. It is durable before the next effect leaves and when the
    /// call ends.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, switchyard_gateway::testing::no_provider, {
    /// #[derive(serde::Deserialize, serde::Serialize)]
    /// struct Order {
    ///     id: String,
    /// }
    /// cx.set_state(&Order { id: "order_7".into() })?;
    /// let order: Option<Order> = cx.state()?;
    /// assert_eq!(order.map(|order| order.id).as_deref(), Some("order_7"));
    /// # });
    /// # }
    /// ```
    pub fn set_state(&self, state: &impl Serialize) -> Result<(), Fault> {
        let state = serde_json::to_value(state).map_err(|error| {
            Fault::message(format!("the attempt's state cannot be written: {error}"))
        })?;
        let mut papers = self.channel.papers();
        papers.state = state;
        papers.state_changed = true;
        Ok(())
    }

    /// A request to the provider: `cx.http("POST", url).json(&body).send().await?`.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(204, ""), {
    /// let answer = cx.http("DELETE", "https://api.acme.example/orders/7").send().await?;
    /// assert_eq!(answer.status, 204);
    /// # });
    /// # }
    /// ```
    pub fn http(&self, method: &str, url: impl Into<String>) -> RequestBuilder<'_> {
        RequestBuilder::new(self, method, url.into())
    }

    /// A GET request.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(200, "[]"), {
    /// let url = format!("https://api.acme.example/orders?reference={}", "7d3f0c9e");
    /// let orders: Vec<serde_json::Value> = cx.get(url).send().await?.json()?;
    /// assert!(orders.is_empty());
    /// # });
    /// # }
    /// ```
    pub fn get(&self, url: impl Into<String>) -> RequestBuilder<'_> {
        self.http("GET", url)
    }

    /// A POST request.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(201, "{}"), {
    /// let order = serde_json::json!({ "id": "7d3f0c9e", "amount": "1000", "currency": "XOF" });
    /// let answer = cx.post("https://api.acme.example/orders").json(&order).send().await?;
    /// assert_eq!(answer.status, 201);
    /// # });
    /// # }
    /// ```
    pub fn post(&self, url: impl Into<String>) -> RequestBuilder<'_> {
        self.http("POST", url)
    }

    /// Waits, by the engine's clock. It counts towards the call's 60 seconds.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(200, r#""open""#), {
    /// use std::time::Duration;
    ///
    /// // A provider that decides within seconds, and sends no callback.
    /// let mut state = String::from("open");
    /// for _ in 0..3 {
    ///     state = cx.get("https://api.acme.example/orders/7/state").send().await?.json()?;
    ///     if state != "open" {
    ///         break;
    ///     }
    ///     cx.sleep(Duration::from_secs(2)).await;
    /// }
    /// # });
    /// # assert_eq!(end.requests.len(), 3);
    /// # }
    /// ```
    pub async fn sleep(&self, duration: Duration) {
        let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        self.perform(Effect::Sleep { ms }).await;
    }

    /// Value in this connection's cache, if it has not expired.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, switchyard_gateway::testing::no_provider, {
    /// use std::time::Duration;
    ///
    /// let token = match cx.cached("token").await {
    ///     Some(token) => token,
    ///     None => {
    ///         let fresh = "eyJhbGciOi".to_owned(); // by a request to the provider
    ///         cx.cache("token", &fresh, Duration::from_secs(3_000)).await;
    ///         fresh
    ///     }
    /// };
    /// assert_eq!(cx.cached("token").await, Some(token));
    /// # });
    /// # }
    /// ```
    pub async fn cached(&self, key: impl Into<String>) -> Option<String> {
        match self.perform(Effect::CacheGet { key: key.into() }).await {
            EffectResult::Cache { value } => value,
            _ => None,
        }
    }

    /// Keeps `value` in this connection's cache: OAuth tokens. A cache may forget at any time.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, switchyard_gateway::testing::no_provider, {
    /// use std::time::Duration;
    ///
    /// // A minute less than the provider's hour, so that no request carries an expired token.
    /// cx.cache("token", "eyJhbGciOi", Duration::from_secs(3_600 - 60)).await;
    /// assert_eq!(cx.cached("token").await.as_deref(), Some("eyJhbGciOi"));
    /// # });
    /// # }
    /// ```
    pub async fn cache(&self, key: impl Into<String>, value: impl Into<String>, keep: Duration) {
        self.perform(Effect::CachePut {
            key: key.into(),
            value: value.into(),
            ttl_s: keep.as_secs(),
        })
        .await;
    }

    /// Has the connection's cache forget `key`: a token that the provider refused.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, answers(401, ""), {
    /// let token = cx.cached("token").await.unwrap_or_default();
    /// let answer = cx.get("https://api.acme.example/account").bearer(&token).send().await?;
    /// if answer.status == 401 {
    ///     cx.forget("token").await;
    /// }
    /// assert_eq!(cx.cached("token").await, None);
    /// # });
    /// # }
    /// ```
    pub async fn forget(&self, key: impl Into<String>) {
        self.cache(key, "", Duration::ZERO).await;
    }

    /// The next number of a series, from 0: durable, and never given twice, whatever connection
    /// asks. All connections of this gateway in one environment share the series of a name, so name
    /// it after what the numbers must be unique for; sandbox and live count each for itself. List
    /// `counter` in the manifest's `needs`.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, switchyard_gateway::testing::no_provider, {
    /// // An address of a wallet signs each number once.
    /// let nonce = cx.next_number("wallet 0x52908400").await?;
    /// assert_eq!(nonce, 0);
    /// assert_eq!(cx.next_number("wallet 0x52908400").await?, 1);
    /// # });
    /// # }
    /// ```
    pub async fn next_number(&self, series: impl Into<String>) -> Result<u64, Fault> {
        self.next_number_from(series, 0).await
    }

    /// The next number of a series that is `from` or more. Numbers below it are never given later.
    /// List `counter_from` in the manifest's `needs`.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, switchyard_gateway::testing::no_provider, {
    /// // Numbers below 1,000 were used before this installation.
    /// let invoice = cx.next_number_from("invoice", 1_000).await?;
    /// assert_eq!(invoice, 1_000);
    /// # });
    /// # }
    /// ```
    pub async fn next_number_from(
        &self,
        series: impl Into<String>,
        from: u64,
    ) -> Result<u64, Fault> {
        let series = series.into();
        match self.perform(Effect::CounterNext { series, from }).await {
            EffectResult::Counter { value } if value < from => Err(Fault::message(
                "the engine answered `counter.next` with a number below the one asked for",
            )),
            EffectResult::Counter { value } => Ok(value),
            EffectResult::Error(error) => Err(Fault::provider(error.message)),
            _ => Err(Fault::message(
                "the engine answered `counter.next` with something else",
            )),
        }
    }

    /// A line in the engine's log, beside this call. Never log a secret: the engine removes those
    /// it knows, and knows not all.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, switchyard_gateway::testing::no_provider, {
    /// use switchyard_gateway::LogLevel;
    ///
    /// cx.log(LogLevel::Warn, "the provider repeats an order");
    /// # });
    /// # assert_eq!(end.log[0].text, "the provider repeats an order");
    /// # }
    /// ```
    pub fn log(&self, level: LogLevel, text: impl Into<String>) {
        self.channel.papers().log.push(LogLine {
            level,
            text: text.into(),
        });
    }

    /// 64 bits of chance from the engine's seed for this call: for nonces that must differ, not for
    /// keys.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
    /// # fn main() {
    /// # let end = call!(cx, switchyard_gateway::testing::no_provider, {
    /// let nonce = format!("{:016x}", cx.chance());
    /// assert_eq!(nonce.len(), 16);
    /// # });
    /// # }
    /// ```
    pub fn chance(&self) -> u64 {
        self.channel.papers().chance.next()
    }

    pub(crate) fn perform(&self, effect: Effect) -> PendingEffect<'_> {
        PendingEffect {
            channel: &self.channel,
            stage: Stage::New(Some(effect)),
        }
    }
}

/// State that the gateway's code and the step that polls it share. The engine never runs two steps
/// of a call at once, so the lock is never contended; it makes the future `Send`.
pub(crate) struct EffectChannel(Mutex<EffectQueue>);

pub(crate) struct EffectQueue {
    chance: Chance,
    pub(crate) state: Value,
    pub(crate) state_changed: bool,
    last_id: u32,
    /// Effects that were requested and not answered.
    pub(crate) waiting: usize,
    pub(crate) requests: Vec<Request>,
    results: Vec<(u32, EffectResult)>,
    pub(crate) log: Vec<LogLine>,
}

impl EffectChannel {
    pub(crate) fn papers(&self) -> MutexGuard<'_, EffectQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn bring(&self, id: u32, result: EffectResult) {
        let mut papers = self.papers();
        papers.waiting = papers.waiting.saturating_sub(1);
        papers.results.push((id, result));
    }
}

impl EffectQueue {
    /// The attempt's state, if it changed since this was last asked.
    pub(crate) fn changed_state(&mut self) -> Option<Value> {
        std::mem::take(&mut self.state_changed).then(|| self.state.clone())
    }
}

/// An effect that waits for its result.
pub(crate) struct PendingEffect<'d> {
    channel: &'d EffectChannel,
    stage: Stage,
}

enum Stage {
    New(Option<Effect>),
    Waiting(u32),
}

impl Future for PendingEffect<'_> {
    type Output = EffectResult;

    fn poll(mut self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<EffectResult> {
        let mut papers = self.channel.papers();
        match &mut self.stage {
            Stage::New(effect) => {
                papers.last_id += 1;
                papers.waiting += 1;
                let id = papers.last_id;
                // Present: `New` is left for `Waiting` in the same poll that takes it.
                if let Some(effect) = effect.take() {
                    papers.requests.push(Request { id, effect });
                }
                drop(papers);
                self.stage = Stage::Waiting(id);
                Poll::Pending
            }
            Stage::Waiting(id) => match papers.results.iter().position(|(of, _)| of == id) {
                Some(at) => Poll::Ready(papers.results.swap_remove(at).1),
                None => Poll::Pending,
            },
        }
    }
}

/// Polls once, outside any runtime: nothing wakes a gateway but the engine's answers.
pub(crate) fn poll_once<T>(future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Poll<T> {
    future.poll(&mut std::task::Context::from_waker(Waker::noop()))
}
