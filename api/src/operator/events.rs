//! An app's events as they happen, for `switchyard listen`: server-sent events, one for each
//! announcement.
//!
//! Each carries what a webhook would: the id that a receiver deduplicates by, the name, and the
//! exact body. Only present events are sent: earlier ones are in the webhooks' own log. The stream
//! of a deleted token ends at the next event.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use switchyard_core::ids::AppId;
use switchyard_engine::access::Operator;
use switchyard_engine::engine::{Announcement, Engine};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::transactions::{EventFilter, StreamEvent};
use super::error::{Refused, not_found};
use super::input::{Id, QueryParams};
use crate::operations::Draining;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(stream))
}

/// Stream the events of an app
///
/// Server-sent events: `announcement` with the event, `missed` with the number of events that came
/// too fast for this client. Earlier events are not repeated.
#[utoipa::path(
    get,
    path = "/apps/{app}/events",
    operation_id = "streamEvents",
    tag = "Transactions",
    params(EventFilter),
    responses((
        status = 200,
        description = "The stream. The data of each `announcement` is such an object.",
        content_type = "text/event-stream",
        body = StreamEvent,
    )),
)]
async fn stream(
    State(state): State<ApiState>,
    Extension(draining): Extension<Draining>,
    Extension(operator): Extension<Operator>,
    Id(app): Id<AppId>,
    QueryParams(filter): QueryParams<EventFilter>,
) -> Result<Response, Refused> {
    state
        .engine()
        .access()
        .app(app)
        .ok_or_else(|| not_found("app"))?;
    let wanted = move |announcement: &Announcement| {
        announcement.app == app
            && filter
                .environment
                .is_none_or(|wanted| wanted == announcement.environment)
    };
    let listener = Listener {
        feed: state.engine().feed(),
        engine: state.engine().clone(),
        operator,
        draining,
    };
    let events = events(listener, wanted);
    let stream = Sse::new(events).keep_alive(KeepAlive::default());
    // The SSE type allows caching with revalidation; events hold personal data.
    Ok(([(CACHE_CONTROL, "no-store")], stream).into_response())
}

/// Listener and its filter.
struct Listener {
    feed: Receiver<Arc<Announcement>>,
    engine: Engine,
    operator: Operator,
    draining: Draining,
}

impl Listener {
    /// The next of the feed; `None` when the server ends, or the listener may hear no more.
    async fn next(&mut self) -> Option<Result<Arc<Announcement>, u64>> {
        let news = tokio::select! {
            // What happened before the end is still told.
            biased;
            news = self.feed.recv() => news,
            () = self.draining.begun() => return None,
        };
        // It was asked for when the stream began, which may be days ago.
        if !self.engine.access().is_operator(&self.operator) {
            return None;
        }
        match news {
            Ok(announcement) => Some(Ok(announcement)),
            Err(RecvError::Lagged(missed)) => Some(Err(missed)),
            Err(RecvError::Closed) => None,
        }
    }
}

/// Stream of the selected events. A slow listener gets the number of missed ones.
fn events(
    listener: Listener,
    wanted: impl Fn(&Announcement) -> bool,
) -> impl Stream<Item = Result<Event, Infallible>> {
    futures_util::stream::unfold((listener, wanted), |(mut listener, wanted)| async move {
        loop {
            let event = match listener.next().await? {
                Ok(announcement) if wanted(&announcement) => shown(&announcement),
                Ok(_) => continue,
                Err(missed) => Event::default().event("missed").data(missed.to_string()),
            };
            return Some((Ok(event), (listener, wanted)));
        }
    })
}

fn shown(announcement: &Announcement) -> Event {
    let body = switchyard_engine::webhook::body(
        &announcement.transaction,
        announcement.name,
        announcement.event,
    );
    let body = String::from_utf8_lossy(&body);
    let event = StreamEvent {
        id: announcement.event.to_string(),
        event: announcement.name,
        environment: announcement.environment,
        at: announcement.at.into(),
        transaction: announcement.transaction.id,
        body: body.into_owned(),
    };
    let data = serde_json::to_string(&event).expect("an event can be serialised");
    Event::default().event("announcement").data(data)
}
