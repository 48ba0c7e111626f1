//! Traces: spans for an OpenTelemetry collector, and the position in a trace that messages, tasks
//! and stored rows carry. The work of one request is one trace, from its answer to the webhooks.
//!
//! Guarantees:
//! - Off until [`install`] is called. Each function then returns after one atomic load, and nothing
//!   is stored or sent.
//! - A span never delays its subject: it ends in memory, and a thread of the exporter sends it.
//! - Attributes are ids, names, numbers and results. Keys, phone numbers, mail addresses, and bodies
//!   of requests and responses are never among them.
//!
//! A span under another trace than the last request of its transaction is linked to that request:
//! a timer, or a callback of the provider.

use std::sync::OnceLock;

use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::trace::{
    FutureExt as _, Link, SpanContext, SpanId, Status, TraceContextExt as _, TraceFlags, TraceId,
    TraceState, Tracer as _,
};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_http::{HeaderExtractor, HeaderInjector};
use reqwest::header::HeaderMap;

pub use opentelemetry::trace::SpanKind;

static INSTALLED: OnceLock<Tracing> = OnceLock::new();

/// Tracing of this process.
#[derive(Debug)]
pub struct Tracing {
    pub tracer: BoxedTracer,
    /// Whether requests to providers carry `traceparent`.
    pub is_sent_to_providers: bool,
}

/// Switches traces on, for the rest of the process. `false`: they were on already.
pub fn install(tracing: Tracing) -> bool {
    INSTALLED.set(tracing).is_ok()
}

/// Place of the current work in its trace. Empty while traces are off.
#[derive(Clone, Debug, Default)]
pub struct TraceContext(Option<Context>);

/// Span of an earlier request about the same transaction, which the next span is linked to.
struct Origin(Option<TracePosition>);

impl TraceContext {
    /// The place of the task that calls this.
    pub fn current() -> Self {
        let is_inside = |context: &Context| context.has_active_span() || origin(context).is_some();
        let current = INSTALLED.get().map(|_| Context::current());
        Self(current.filter(is_inside))
    }

    /// The place that a client gives in the header `traceparent`. `tracestate` is not taken over:
    /// anybody may write it, and webhooks would send it on.
    pub fn of_request(headers: &HeaderMap) -> Self {
        let extract = |_| {
            let extractor = HeaderExtractor(headers);
            let outside = Context::new();
            global::get_text_map_propagator(|w3c| w3c.extract_with_context(&outside, &extractor))
        };
        let given = INSTALLED.get().map(extract);
        let given = given.filter(Context::has_active_span);
        Self(given.map(|context| {
            let span = context.span().span_context().clone();
            Context::new().with_remote_span_context(stateless(&span, true))
        }))
    }

    /// The same place; the first span in another trace than `origin` is linked to it.
    #[must_use]
    pub fn linked_to(self, origin: Option<TracePosition>) -> Self {
        if INSTALLED.get().is_none() || origin.is_none() {
            return self;
        }
        let context = self.0.unwrap_or_default();
        Self(Some(context.with_value(Origin(origin))))
    }

    /// Runs `future` at this place.
    pub async fn scope<F: Future>(self, future: F) -> F::Output {
        match self.0 {
            Some(context) => future.with_context(context).await,
            None => future.await,
        }
    }

    /// The place in a form that can be stored. `None`: no span is here.
    pub fn position(&self) -> Option<TracePosition> {
        let context = self.0.as_ref()?;
        let span = context.span();
        let at = span.span_context();
        at.is_valid().then(|| TracePosition {
            trace: at.trace_id().to_bytes(),
            span: at.span_id().to_bytes(),
            flags: at.trace_flags().to_u8(),
        })
    }

    /// Writes `traceparent` into the headers of an outgoing request.
    pub fn inject(&self, headers: &mut HeaderMap) {
        if let Some(context) = &self.0 {
            global::get_text_map_propagator(|w3c| {
                w3c.inject_context(context, &mut HeaderInjector(headers));
            });
        }
    }

    /// The same for a request to a provider, unless the settings keep traces from providers.
    pub fn inject_for_provider(&self, headers: &mut HeaderMap) {
        if INSTALLED.get().is_some_and(|on| on.is_sent_to_providers) {
            self.inject(headers);
        }
    }

    /// Adds an attribute to the span of this place.
    pub fn set<V: Into<Value>>(&self, key: &'static str, value: impl FnOnce() -> V) {
        let Some(context) = &self.0 else {
            return;
        };
        if context.span().is_recording() {
            context.span().set_attribute(KeyValue::new(key, value()));
        }
    }
}

/// Stored place in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracePosition {
    trace: [u8; 16],
    span: [u8; 8],
    flags: u8,
}

impl TracePosition {
    /// Length in a stored row.
    pub const BYTES: usize = 25;

    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [self.flags; Self::BYTES];
        bytes[..16].copy_from_slice(&self.trace);
        bytes[16..24].copy_from_slice(&self.span);
        bytes
    }

    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let [trace @ .., _, _, _, _, _, _, _, _, _] = bytes;
        let [
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            span @ ..,
            flags,
        ] = bytes;
        Self { trace, span, flags }
    }

    /// The place, for the spans that follow.
    pub fn context(self) -> TraceContext {
        let context = |_| Context::new().with_remote_span_context(self.span_context());
        TraceContext(INSTALLED.get().map(context))
    }

    /// A place of our own: the decision whether its trace is recorded is kept.
    fn span_context(self) -> SpanContext {
        let flags = TraceFlags::new(self.flags);
        let (trace, span) = (
            TraceId::from_bytes(self.trace),
            SpanId::from_bytes(self.span),
        );
        SpanContext::new(trace, span, flags, false, TraceState::NONE)
    }
}

/// Span that ends when it is dropped. Empty while traces are off.
#[derive(Debug)]
pub struct Span(TraceContext);

impl Span {
    /// No span.
    pub fn none() -> Self {
        Self(TraceContext::default())
    }

    /// Begins a span at the current place. Without one, it begins a trace.
    pub fn begin(name: &'static str, kind: SpanKind) -> Self {
        Self::begin_at(&TraceContext::current(), name, kind)
    }

    /// Begins a span at the current place. Without one, there is none.
    pub fn begin_inside(name: &'static str, kind: SpanKind) -> Self {
        let at = TraceContext::current();
        match at.0 {
            Some(_) => Self::begin_at(&at, name, kind),
            None => Self(at),
        }
    }

    /// Begins a span at `place`.
    pub fn begin_at(place: &TraceContext, name: &'static str, kind: SpanKind) -> Self {
        let Some(on) = INSTALLED.get() else {
            return Self::none();
        };
        let parent = place.0.clone().unwrap_or_default();
        let trace = parent.span().span_context().trace_id().to_bytes();
        let origin = origin(&parent).filter(|origin| origin.trace != trace);
        let links = origin.map(|origin| Link::with_context(origin.span_context()));
        let builder = on.tracer.span_builder(name).with_kind(kind);
        let builder = builder.with_links(links.into_iter().collect());
        let span = builder.start_with_context(&on.tracer, &parent);
        let context = parent.with_span(span);
        Self(TraceContext(Some(match origin {
            Some(_) => context.with_value(Origin(None)),
            None => context,
        })))
    }

    /// Place inside the span.
    pub const fn context(&self) -> &TraceContext {
        &self.0
    }

    /// Adds an attribute.
    pub fn set<V: Into<Value>>(&self, key: &'static str, value: impl FnOnce() -> V) {
        self.0.set(key, value);
    }

    /// Names the span by what only its end tells.
    pub fn rename(&self, name: impl FnOnce() -> String) {
        if let Some(context) = self.0.0.as_ref().filter(|cx| cx.span().is_recording()) {
            context.span().update_name(name());
        }
    }

    /// Marks the span as failed, for a reason out of a fixed list.
    pub fn fail(&self, why: &'static str) {
        if let Some(context) = &self.0.0 {
            context.span().set_status(Status::error(why));
        }
    }

    /// Runs `future` inside the span.
    pub async fn scope<F: Future>(&self, future: F) -> F::Output {
        self.0.clone().scope(future).await
    }

    /// Id of the trace, for the log.
    pub fn trace_id(&self) -> Option<String> {
        let position = self.0.position()?;
        Some(TraceId::from_bytes(position.trace).to_string())
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(context) = &self.0.0 {
            context.span().end();
        }
    }
}

fn origin(context: &Context) -> Option<TracePosition> {
    context.get::<Origin>()?.0
}

fn stateless(span: &SpanContext, is_remote: bool) -> SpanContext {
    let (trace, id, flags) = (span.trace_id(), span.span_id(), span.trace_flags());
    SpanContext::new(trace, id, flags, is_remote, TraceState::NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_position_reads_back_as_it_was_written() {
        let bytes: [u8; TracePosition::BYTES] = std::array::from_fn(|at| at as u8);
        let position = TracePosition::from_bytes(bytes);
        assert_eq!(position.to_bytes(), bytes);
        let span = position.span_context();
        assert_eq!(
            span.trace_id().to_string(),
            "000102030405060708090a0b0c0d0e0f"
        );
        assert_eq!(span.span_id().to_string(), "1011121314151617");
    }

    #[tokio::test]
    async fn without_a_tracer_nothing_is_made_stored_or_sent() {
        let span = Span::begin("request", SpanKind::Server);
        span.set("key", || -> String { unreachable!("nobody reads it") });
        let position = span
            .scope(async { TraceContext::current().position() })
            .await;
        assert_eq!(position, None);
        let mut headers = HeaderMap::new();
        headers.insert(
            "traceparent",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
                .parse()
                .unwrap(),
        );
        assert_eq!(TraceContext::of_request(&headers).position(), None);
        headers.clear();
        span.context().inject(&mut headers);
        assert!(headers.is_empty());
    }
}
