//! Traces: spans are sent to an OpenTelemetry collector, OTLP over HTTP, if the settings name one.
//!
//! Guarantees:
//! - No request waits for the collector. Spans that end faster than it takes them are dropped: at
//!   most [`QUEUE`] wait.
//! - A collector that cannot be reached is one warning, and one note when it answers again.
//! - A client decides that its trace is not recorded, and never that more of them are recorded than
//!   the settings say.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use bytes::Bytes;
use opentelemetry::KeyValue;
use opentelemetry::global;
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    Protocol, SpanExporter as OtlpExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, ParentBasedSampler, Sampler, SdkTracerProvider,
    SpanData, SpanExporter,
};
use parking_lot::Mutex;
use reqwest::Method;
use switchyard_system::egress::{Client, Policy, Resolver};
use switchyard_system::trace::{Tracing, install};
use tokio::runtime::Handle;
use url::Url;

use crate::config::Telemetry;

/// Spans that wait for the collector.
const QUEUE: usize = 8_192;
/// Spans of one request to the collector.
const BATCH: usize = 512;
/// Longest wait of a span for others that go with it.
const DELAY: Duration = Duration::from_secs(2);
/// Deadline for one request to the collector.
const DEADLINE: Duration = Duration::from_secs(10);
/// Time for the last spans when the server stops.
const LAST_SPANS: Duration = Duration::from_secs(3);
/// Longest body that is read of an answer.
const ANSWER_BYTES: usize = 64 << 10;

/// Traces that were switched on.
pub struct Traces(SdkTracerProvider);

/// Switches traces on, if the settings name a collector. Needs a tokio runtime.
///
/// # Errors
/// When the exporter or its HTTP client cannot be made.
pub fn start(settings: &Telemetry) -> anyhow::Result<Option<Traces>> {
    let Some(url) = &settings.otlp_url else {
        return Ok(None);
    };
    let failure = Arc::new(Mutex::new(String::new()));
    let client = CollectorClient {
        client: collector_client()?,
        runtime: Handle::current(),
        failure: failure.clone(),
    };
    let authorization = settings.authorization.iter();
    let headers = authorization.map(|value| ("authorization".to_owned(), value.expose().clone()));
    let exporter = OtlpExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_endpoint(endpoint(url))
        .with_protocol(Protocol::HttpBinary)
        .with_timeout(DEADLINE)
        .with_headers(headers.collect::<HashMap<_, _>>())
        .build()
        .context("the exporter of traces cannot be made (telemetry)")?;
    let batches = BatchConfigBuilder::default()
        .with_max_queue_size(QUEUE)
        .with_max_export_batch_size(BATCH)
        .with_scheduled_delay(DELAY)
        .build();
    let exporter = Watched {
        exporter,
        failure,
        streak: AtomicU64::new(0),
    };
    let processor = BatchSpanProcessor::builder(exporter).with_batch_config(batches);
    let provider = SdkTracerProvider::builder()
        .with_span_processor(processor.build())
        .with_sampler(sampler(settings.sample_ratio))
        .with_resource(resource())
        .build();
    global::set_text_map_propagator(TraceContextPropagator::new());
    global::set_tracer_provider(provider.clone());
    install(Tracing {
        tracer: global::tracer("switchyard"),
        is_sent_to_providers: settings.inform_providers,
    });
    Ok(Some(Traces(provider)))
}

impl Traces {
    /// Sends the spans that wait, for at most [`LAST_SPANS`].
    pub async fn flush(self) {
        let provider = self.0;
        let flush = move || provider.shutdown_with_timeout(LAST_SPANS);
        let flushed = tokio::task::spawn_blocking(flush).await;
        // A collector that is down was reported before.
        if !matches!(flushed, Ok(Ok(()))) {
            tracing::info!("last spans of traces were not sent");
        }
    }
}

/// The URL to which traces go: the standard path under the collector's.
fn endpoint(collector: &Url) -> String {
    format!("{}/v1/traces", collector.as_str().trim_end_matches('/'))
}

/// Identity of this program at the collector. The environment variables `OTEL_SERVICE_NAME` and
/// `OTEL_RESOURCE_ATTRIBUTES` change and extend it.
fn resource() -> Resource {
    let name = std::env::var("OTEL_SERVICE_NAME").unwrap_or_else(|_| "switchyard".to_owned());
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder().with_service_name(name);
    resource.with_attribute(version).build()
}

/// Which traces are recorded. The share holds for those of clients, too: anybody can send a
/// `traceparent` that asks to be recorded.
fn sampler(ratio: f64) -> ParentBasedSampler {
    let share = Sampler::TraceIdRatioBased(ratio);
    Sampler::parent_based(share.clone()).with_remote_parent_sampled(share)
}

/// The collector is the operator's own, so it may be at a private address and on any port.
fn collector_client() -> anyhow::Result<Client> {
    let policy = Policy {
        allow_private: true,
        ..Policy::default()
    };
    Ok(Client::new(policy, Resolver::system())?)
}

/// HTTP client of the exporter, whose thread belongs to no runtime.
struct CollectorClient {
    client: Client,
    runtime: Handle,
    /// Last failure, for the log.
    failure: Arc<Mutex<String>>,
}

impl fmt::Debug for CollectorClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CollectorClient")
    }
}

#[async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.runtime.spawn(send(self.client.clone(), request));
        let sent = sent.await.map_err(HttpError::from).flatten();
        sent.inspect_err(|error| *self.failure.lock() = deepest(&**error))
    }
}

async fn send(client: Client, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let (parts, body) = request.into_parts();
    let url = Url::parse(&parts.uri.to_string())?;
    let request = client.request(Method::POST, &url)?.headers(parts.headers);
    let sent = request.body(body).timeout(DEADLINE).send().await;
    let mut answer = sent.map_err(reqwest::Error::without_url)?;
    let mut response = Response::builder().status(answer.status());
    if let Some(headers) = response.headers_mut() {
        headers.extend(answer.headers().clone());
    }
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await? {
        body.extend_from_slice(&part);
        if body.len() > ANSWER_BYTES {
            return Err("the answer is too long".into());
        }
    }
    Ok(response.body(body.into())?)
}

/// Message of the innermost cause.
fn deepest(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// Exporter that reports a collector that does not take spans, once.
struct Watched<E> {
    exporter: E,
    failure: Arc<Mutex<String>>,
    /// Batches lost since one was taken.
    streak: AtomicU64,
}

impl<E> fmt::Debug for Watched<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watched")
    }
}

impl<E> Watched<E> {
    fn note(&self, result: &OTelSdkResult, spans: usize) {
        let Err(error) = result else {
            let batches = self.streak.swap(0, Ordering::Relaxed);
            if batches > 0 {
                tracing::info!(batches, "collector of traces takes spans again");
            }
            return;
        };
        let spans = u64::try_from(spans).unwrap_or(u64::MAX);
        metrics::counter!("switchyard_trace_spans_lost_total").increment(spans);
        if self.streak.fetch_add(1, Ordering::Relaxed) == 0 {
            let cause = std::mem::take(&mut *self.failure.lock());
            tracing::warn!(%error, cause, "failed to send traces, they are dropped until the collector takes them");
        }
    }
}

impl<E: SpanExporter> SpanExporter for Watched<E> {
    fn export(&self, batch: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
        let spans = batch.len();
        let sent = self.exporter.export(batch);
        async move {
            let result = sent.await;
            self.note(&result, spans);
            result
        }
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
