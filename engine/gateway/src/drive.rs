//! Drives one call of a gateway from its first step to its last, and performs its effects.
//!
//! The version's [`GatewayHost`](super::host::GatewayHost) runs the steps.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base16ct::lower::encode_string;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use switchyard_gateway::wire::{
    Begin, Effect, EffectError, EffectErrorKind, EffectResult, Failed, HttpRequest, HttpResponse,
    LogLevel, LogLine, Operation, Pending, Ready, Resume, Sent,
};
use switchyard_gateway::{Environment as WireEnvironment, FaultKind};
use tokio::time::Instant;

use super::Inner;
use super::counter;
use super::egress;
use super::host::StepError;
use super::journal::JournalWriter;
use super::library::Step;
use super::redact::Redactor;
use super::throttled_io::sha256;
use super::version::Version;
use switchyard_core::environment::Environment;
use switchyard_core::limits::{GATEWAY_CALL, GATEWAY_EFFECTS};
use switchyard_core::time::Timestamp;
use switchyard_system::trace::{Span, SpanKind};

/// Context of one call, of any operation.
pub(super) struct CallDriver<'c> {
    pub inner: &'c Inner,
    pub version: &'c Arc<Version>,
    pub operation: Operation,
    pub environment: Environment,
    pub now: Timestamp,
    pub config: &'c Value,
    pub input: &'c Value,
    pub redactor: &'c Redactor,
    pub scribe: &'c JournalWriter<'c>,
    /// Cache key of this connection, computed on first use.
    pub connection: OnceLock<String>,
    pub until: Instant,
}

/// Reason why a call has no outcome; a sentence without secrets.
pub(super) struct CallFailure(pub String);

type PendingEffect<'c> = Pin<Box<dyn Future<Output = Resume> + Send + 'c>>;

/// Deadline of a call of this operation: the timeout of its manifest, within the limit.
pub(super) fn deadline(version: &Version, operation: Operation) -> Instant {
    let asked = version.manifest.deadline_ms.get(&operation);
    let limit = asked.map_or(GATEWAY_CALL, |ms| {
        Duration::from_millis(*ms).min(GATEWAY_CALL)
    });
    Instant::now() + limit
}

/// Digest that identifies a connection by its gateway, environment and configuration.
pub(super) fn connection(version: &Version, environment: Environment, config: &Value) -> String {
    sha256(format!("{} {environment} {config}", version.name()).as_bytes())
}

impl CallDriver<'_> {
    /// Runs the call. Returns the message of its READY step, or the failure. `state` receives the
    /// state that the gateway saves.
    pub(super) async fn run(&self, state: &mut Value) -> Result<Vec<u8>, CallFailure> {
        if let Some(quarantine) = self.version.refuses(self.operation) {
            return Err(self.no_outcome(&format!("it is in quarantine: {}", quarantine.reason)));
        }
        if !self.version.has(self.operation) {
            return Err(self.no_outcome("it does not have this operation"));
        }
        let message = self.begin_message(state)?;
        let host = &self.version.host;
        let begun = host.begin(self.version, self.redactor, &message);
        // The deadline includes the start of a worker and the queue of calls that wait for it.
        let Ok(begun) = tokio::time::timeout_at(self.until, begun).await else {
            return Err(self.no_outcome("the time for this call is over"));
        };
        let (mut step, mut running) = begun.map_err(|error| self.step_failed(&error))?;
        let mut effects: FuturesUnordered<PendingEffect<'_>> = FuturesUnordered::new();
        let mut count = 0;
        loop {
            let message = match step {
                // The outcome cannot include the result of a request in flight.
                Step::Ready(_) if self.scribe.is_sending() => {
                    return Err(self.no_outcome("it ended before its requests did"));
                }
                Step::Ready(message) => return Ok(message),
                Step::Failed(message) => return Err(self.fault(&message, state)),
                Step::Nonsense(what) => return Err(self.no_outcome(&what)),
                Step::Pending(message) => message,
            };
            let pending: Pending = self.read(&message)?;
            self.log(&pending.log);
            if let Some(changed) = pending.state {
                self.scribe.save_state(&changed);
                *state = changed;
            }
            count += pending.effects.len();
            if count > GATEWAY_EFFECTS {
                return Err(
                    self.no_outcome(&format!("it asked for more than {GATEWAY_EFFECTS} effects"))
                );
            }
            for request in pending.effects {
                effects.push(Box::pin(async move {
                    Resume {
                        id: request.id,
                        result: self.perform(request.effect).await,
                    }
                }));
            }
            let Some(call) = running.take() else {
                return Err(self.no_outcome("it waits, and left nothing to go on with"));
            };
            let resume = match tokio::time::timeout_at(self.until, effects.next()).await {
                Ok(Some(resume)) => resume,
                Ok(None) => return Err(self.no_outcome("it waits for nothing")),
                Err(_) => return Err(self.no_outcome("the time for this call is over")),
            };
            let message = self.write(&resume)?;
            let resumed = call.resume(self.version, &message).await;
            (step, running) = resumed.map_err(|error| self.step_failed(&error))?;
        }
    }

    /// Logs the lines of the last step, and takes over its state.
    pub(super) fn last(&self, kept: Option<Value>, log: &[LogLine], state: &mut Value) {
        self.log(log);
        if let Some(kept) = kept {
            *state = kept;
        }
    }

    pub(super) fn read<T: serde::de::DeserializeOwned>(
        &self,
        message: &[u8],
    ) -> Result<T, CallFailure> {
        serde_json::from_slice(message)
            .map_err(|error| self.no_outcome(&format!("its answer cannot be understood: {error}")))
    }

    /// Reads the end of a call. `kept`: the end in a malformed message.
    pub(super) fn read_end<T: serde::de::DeserializeOwned>(
        &self,
        message: &[u8],
        kept: fn(&[u8]) -> Option<Ready<T>>,
    ) -> Result<Ready<T>, CallFailure> {
        self.read(message)
            .or_else(|failure| kept(message).ok_or(failure))
    }

    fn write(&self, message: &impl serde::Serialize) -> Result<Vec<u8>, CallFailure> {
        serde_json::to_vec(message)
            .map_err(|error| self.no_outcome(&format!("it cannot be given its message: {error}")))
    }

    fn begin_message(&self, state: &Value) -> Result<Vec<u8>, CallFailure> {
        let mut random = [0; 48];
        self.inner.ids.fill(&mut random);
        let (call, seed) = random.split_at(16);
        self.scribe
            .name_call(u32::from_be_bytes([call[0], call[1], call[2], call[3]]));
        self.write(&Begin {
            op: self.operation,
            call: Cow::Owned(format!("c_{}", encode_string(call))),
            now: Cow::Owned(self.now.to_string()),
            seed: Cow::Owned(encode_string(seed)),
            environment: wire_environment(self.environment),
            config: Cow::Borrowed(self.config),
            state: Cow::Borrowed(state),
            input: Cow::Borrowed(self.input),
        })
    }

    async fn perform(&self, effect: Effect) -> EffectResult {
        match effect {
            Effect::Http(request) => match self.http(&request).await {
                Ok(answer) => EffectResult::Http(answer),
                Err(error) => EffectResult::Error(error),
            },
            Effect::Sleep { ms } => {
                self.inner.clock.sleep(Duration::from_millis(ms)).await;
                EffectResult::Slept {}
            }
            Effect::CacheGet { key } => {
                let value = self
                    .inner
                    .cache
                    .get(self.connection(), &key, self.inner.clock.now());
                if let Some(value) = &value {
                    self.redactor.learn(value);
                }
                EffectResult::Cache { value }
            }
            Effect::CachePut { key, value, ttl_s } => {
                self.redactor.learn(&value);
                let (now, keep) = (self.inner.clock.now(), Duration::from_secs(ttl_s));
                self.inner
                    .cache
                    .put(self.connection(), &key, &value, keep, now);
                EffectResult::Cache { value: Some(value) }
            }
            Effect::CounterNext { series, from } => self.next_number(&series, from).await,
        }
    }

    async fn next_number(&self, series: &str, from: u64) -> EffectResult {
        let refused = |message: String| {
            EffectResult::Error(EffectError {
                sent: Sent::No,
                kind: EffectErrorKind::Refused,
                message,
            })
        };
        let Some(store) = self.scribe.store() else {
            return refused("a check of the configuration takes no numbers".to_owned());
        };
        let gateway = self.version.name();
        match counter::next(store, self.environment, gateway, series, from).await {
            Ok(value) => EffectResult::Counter { value },
            Err(error) => refused(error.to_string()),
        }
    }

    /// Checks a request, journals it, sends it and journals the response.
    async fn http(&self, request: &HttpRequest) -> Result<HttpResponse, EffectError> {
        let granted = self.version.hosts();
        let hosts = egress::granted(granted.of(wire_environment(self.environment)), self.config);
        let left = self.until.saturating_duration_since(Instant::now());
        let mut checked = self.inner.egress.check(request, &hosts, left)?;
        let begun = self
            .scribe
            .begin(request, self.inner.clock.now())
            .await
            .map_err(|error| EffectError {
                sent: Sent::No,
                kind: EffectErrorKind::Refused,
                message: error.to_string(),
            })?;
        let span = Span::begin_inside("provider request", SpanKind::Client);
        span.set("gateway.name", || self.version.name().to_owned());
        span.set("server.address", || checked.host().to_owned());
        span.set("http.request.method", || checked.method().to_string());
        checked.carry(span.context());
        let result = span.scope(self.inner.egress.send(checked)).await;
        match &result {
            Ok(answer) => span.set("http.response.status_code", || i64::from(answer.status)),
            Err(_) => span.fail("no complete response"),
        }
        drop(span);
        self.scribe.end(begun, &result).await;
        result
    }

    fn connection(&self) -> &str {
        self.connection
            .get_or_init(|| connection(self.version, self.environment, self.config))
    }

    fn fault(&self, message: &[u8], state: &mut Value) -> CallFailure {
        let failed: Failed = match self.read(message) {
            Ok(failed) => failed,
            Err(no_outcome) => return no_outcome,
        };
        self.last(failed.state, &failed.log, state);
        if failed.fault.kind == FaultKind::Panic {
            metrics::counter!("switchyard_gateway_panics_total", "gateway" => self.version.name().to_owned())
                .increment(1);
            self.version.panicked(self.inner.clock.now());
        }
        self.no_outcome(&failed.fault.message)
    }

    fn step_failed(&self, StepError(why): &StepError) -> CallFailure {
        self.no_outcome(why)
    }

    fn no_outcome(&self, why: &str) -> CallFailure {
        let sentence = sentence(self.version, self.operation, why);
        CallFailure(self.redactor.sentence(&sentence))
    }

    fn log(&self, lines: &[LogLine]) {
        let name = self.version.name();
        for line in lines.iter().take(LOG_LINES) {
            let text = self.redactor.sentence(&line.text);
            match line.level {
                LogLevel::Debug => {
                    tracing::debug!(gateway.name = name, gateway.text = text, "gateway log line")
                }
                LogLevel::Info => {
                    tracing::info!(gateway.name = name, gateway.text = text, "gateway log line")
                }
                LogLevel::Warn => {
                    tracing::warn!(gateway.name = name, gateway.text = text, "gateway log line")
                }
            }
        }
    }
}

fn sentence(version: &Version, operation: Operation, why: &str) -> String {
    format!("gateway {}, {}: {why}", version.name(), operation.as_str())
}

pub(super) fn wire_environment(environment: Environment) -> WireEnvironment {
    match environment {
        Environment::Sandbox => WireEnvironment::Sandbox,
        Environment::Live => WireEnvironment::Live,
    }
}

/// Maximum number of log lines of one step.
const LOG_LINES: usize = 20;
