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
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let sent_by = format!("switchyard {}", cx.call());
    /// # let _ = sent_by;
    /// # Ok(())
    /// # }
    /// ```
    pub fn call(&self) -> &str {
        &self.call
    }

    /// When this call began, by the engine's clock.
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let seconds = cx.now().unix_seconds();
    /// # let _ = seconds;
    /// # Ok(())
    /// # }
    /// ```
    pub fn now(&self) -> &Moment {
        &self.now
    }

    /// Environment of the connection: another host in sandbox.
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Environment, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let host = match cx.environment() {
    ///     Environment::Sandbox => "sandbox.acme.example",
    ///     Environment::Live => "api.acme.example",
    /// };
    /// # let _ = host;
    /// # Ok(())
    /// # }
    /// ```
    pub fn environment(&self) -> Environment {
        self.environment
    }

    /// The connection's configuration, in the gateway's own type.
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// #[derive(serde::Deserialize)]
    /// struct Config {
    ///     api_key: String,
    /// }
    /// let config: Config = cx.config()?;
    /// # let _ = config.api_key;
    /// # Ok(())
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
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let order: Option<String> = cx.state()?;
    /// # let _ = order;
    /// # Ok(())
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
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// cx.set_state(&"order_7")?;
    /// # Ok(())
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
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let answer = cx.http("PUT", "https://api.acme.example/orders/7").send().await?;
    /// # let _ = answer;
    /// # Ok(())
    /// # }
    /// ```
    pub fn http(&self, method: &str, url: impl Into<String>) -> RequestBuilder<'_> {
        RequestBuilder::new(self, method, url.into())
    }

    /// A GET request.
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let answer = cx.get("https://api.acme.example/account").send().await?;
    /// # let _ = answer;
    /// # Ok(())
    /// # }
    /// ```
    pub fn get(&self, url: impl Into<String>) -> RequestBuilder<'_> {
        self.http("GET", url)
    }

    /// A POST request.
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let request = cx.post("https://api.acme.example/charges");
    /// let answer = request.json(&serde_json::json!({ "amount": "10" })).send().await?;
    /// # let _ = answer;
    /// # Ok(())
    /// # }
    /// ```
    pub fn post(&self, url: impl Into<String>) -> RequestBuilder<'_> {
        self.http("POST", url)
    }

    /// Waits, by the engine's clock. It counts towards the call's 60 seconds.
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// cx.sleep(std::time::Duration::from_secs(2)).await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn sleep(&self, duration: Duration) {
        let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        self.perform(Effect::Sleep { ms }).await;
    }

    /// Value in this connection's cache, if it has not expired.
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let token = match cx.cached("token").await {
    ///     Some(token) => token,
    ///     None => {
    ///         let fresh = "from the provider".to_owned();
    ///         cx.cache("token", &fresh, std::time::Duration::from_secs(3_000)).await;
    ///         fresh
    ///     }
    /// };
    /// # let _ = token;
    /// # Ok(())
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
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let hour = std::time::Duration::from_secs(3_600);
    /// cx.cache("token", "eyJhbGciOi", hour).await;
    /// # Ok(())
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
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let answer = cx.get("https://api.acme.example/account").bearer("eyJhbGciOi").send().await?;
    /// if answer.status == 401 {
    ///     cx.forget("token").await;
    /// }
    /// # Ok(())
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
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let nonce = cx.next_number("nonce").await?;
    /// # let _ = nonce;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn next_number(&self, series: impl Into<String>) -> Result<u64, Fault> {
        self.next_number_from(series, 0).await
    }

    /// The next number of a series that is `from` or more. Numbers below it are never given later.
    /// List `counter_from` in the manifest's `needs`.
    ///
    /// ```
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// // Numbers below 1,000 were used before this installation.
    /// let invoice = cx.next_number_from("invoice", 1_000).await?;
    /// # let _ = invoice;
    /// # Ok(())
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
    /// # use switchyard_gateway::{Context, Fault, LogLevel};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// cx.log(LogLevel::Warn, "the provider repeats an order");
    /// # Ok(())
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
    /// # use switchyard_gateway::{Context, Fault};
    /// # async fn example(cx: &Context) -> Result<(), Fault> {
    /// let nonce = format!("{:016x}", cx.chance());
    /// # let _ = nonce;
    /// # Ok(())
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
