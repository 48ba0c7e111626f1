//! Live status: server-sent events for pages with script, and a small answer for those whose
//! network lets no stream through.
//!
//! Both send one short mark that changes whenever the page would change. The page then reloads
//! itself: its content is rendered in one place only.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt};
use switchyard_core::ids::TransactionId;
use switchyard_engine::engine::Engine;
use switchyard_system::trace::TraceContext;

use super::request::CheckoutRequest;
use super::step::{Step, current_step, mark};
use crate::pages::headers;

/// Lifetime of one stream. The browser opens the next automatically.
const STREAM_LIFE: Duration = Duration::from_secs(10 * 60);
/// Proxies close what is silent for a minute.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// `GET /checkout/{id}/status`
pub async fn status(request: CheckoutRequest) -> Response {
    let body = serde_json::json!({ "stand": mark(&request.context.tx) });
    (
        headers::of_anything(request.context.visitor.https),
        Json(body),
    )
        .into_response()
}

/// `GET /checkout/{id}/events`
pub async fn events(request: CheckoutRequest) -> Response {
    let headers = headers::of_anything(request.context.visitor.https);
    let place = match request
        .state()
        .streams()
        .take(request.address(), request.context.tx.id)
    {
        Ok(place) => place,
        Err(status) => return (status, headers).into_response(),
    };
    let (engine, id) = (request.engine().clone(), request.context.tx.id);
    if current_step(&request.context) == Step::Waiting {
        let engine = engine.clone();
        // Somebody watches: the provider is asked, as often as the engine allows. Nobody waits for
        // the answer; it comes as an event.
        let asked = async move { engine.verify(id).await };
        tokio::spawn(TraceContext::current().scope(asked));
    }
    let draining = request.state().draining().clone();
    let end = async move {
        tokio::select! {
            () = draining.begun() => {}
            () = tokio::time::sleep(STREAM_LIFE) => {}
        }
    };
    let events = marks(engine, id).take_until(end).map(move |mark| {
        let _held = &place;
        Ok::<_, Infallible>(Event::default().data(mark))
    });
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    // Some proxies collect answers unless told not to.
    (headers, [("x-accel-buffering", "no")], events).into_response()
}

/// The mark now, and again after each change.
fn marks(engine: Engine, id: TransactionId) -> impl Stream<Item = String> {
    let mut changes = engine.watch(id);
    changes.mark_changed();
    stream::unfold((engine, changes), move |(engine, mut changes)| async move {
        changes.changed().await.ok()?;
        changes.borrow_and_update();
        let tx = engine.transaction(id).await.ok()??;
        Some((mark(&tx), (engine, changes)))
    })
}
