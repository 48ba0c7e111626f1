//! An app's events as they happen, for `switchyard listen`: server-sent events, one for each announcement.
//!
//! Each carries what a webhook would: the id that a receiver deduplicates by, the name, and the exact body. It is a view on what
//! happens now: what happened while nobody listened is not repeated here, but in the webhooks' own log.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use serde::Deserialize;
use serde_json::json;
use switchyard_engine::engine::Announcement;
use switchyard_engine::environment::Environment;
use switchyard_engine::ids::AppId;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::error::{Refused, not_found};
use super::input::{Asked, Id};
use super::view::iso;
use crate::operations::Draining;
use crate::state::ApiState;

#[derive(Deserialize)]
pub struct Filter {
    /// Without it: both.
    environment: Option<Environment>,
}

pub async fn stream(
    State(state): State<ApiState>,
    Extension(draining): Extension<Draining>,
    Id(app): Id<AppId>,
    Asked(filter): Asked<Filter>,
) -> Result<Response, Refused> {
    state
        .engine
        .access
        .app(app)
        .ok_or_else(|| not_found("app"))?;
    let wanted = move |announcement: &Announcement| {
        announcement.app == app
            && filter
                .environment
                .is_none_or(|wanted| wanted == announcement.environment)
    };
    let events = events(state.engine.feed(), draining, wanted);
    Ok(Sse::new(events)
        .keep_alive(KeepAlive::default())
        .into_response())
}

/// The wanted announcements until the server ends. A listener that is too slow is told how many it missed.
fn events(
    feed: Receiver<Arc<Announcement>>,
    draining: Draining,
    wanted: impl Fn(&Announcement) -> bool,
) -> impl Stream<Item = Result<Event, Infallible>> {
    futures_util::stream::unfold(
        (feed, draining, wanted),
        |(mut feed, draining, wanted)| async move {
            loop {
                let news = tokio::select! {
                    // What happened before the end is still told.
                    biased;
                    news = feed.recv() => news,
                    () = draining.begun() => return None,
                };
                let event = match news {
                    Ok(announcement) if wanted(&announcement) => shown(&announcement),
                    Ok(_) => continue,
                    Err(RecvError::Lagged(missed)) => {
                        Event::default().event("missed").data(missed.to_string())
                    }
                    Err(RecvError::Closed) => return None,
                };
                return Some((Ok(event), (feed, draining, wanted)));
            }
        },
    )
}

fn shown(announcement: &Announcement) -> Event {
    let body = switchyard_engine::webhook::body(
        &announcement.transaction,
        announcement.name,
        announcement.event,
    );
    let body = String::from_utf8_lossy(&body);
    let data = json!({
        "id": announcement.event,
        "event": announcement.name,
        "environment": announcement.environment,
        "at": iso(announcement.at),
        "transaction": announcement.transaction.id,
        "body": body,
    });
    Event::default()
        .event("announcement")
        .data(data.to_string())
}
