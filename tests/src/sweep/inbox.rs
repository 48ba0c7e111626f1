//! The merchant's webhook endpoint. Stores only the data that the judge needs, for any number of
//! deliveries.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde_json::Value;
use switchyard_testkit::Loopback;
use tokio::time::Instant;

use crate::receiver::signature;

pub const SECRET: &str = "whsec_b2YgdGhlc2UgdGVzdHM=";
/// One delivery in this many is refused, and must be retried.
const REFUSES: usize = 20;

/// Webhook endpoint that serves until it is dropped.
pub struct Inbox {
    pub url: String,
    state: Shared,
    _served: Loopback,
}

/// Deliveries of one event of one transaction.
#[derive(Clone, Debug, Default)]
pub struct EventDeliveries {
    /// Position of its first delivery among all deliveries, acknowledged or not.
    pub first: usize,
    /// Ids under which it was acknowledged.
    pub ids: BTreeSet<String>,
    /// Whether the status in a body differs from that of the event.
    pub contradicts_itself: bool,
}

/// Deliveries by transaction and event.
pub type DeliveriesByEvent = BTreeMap<(String, String), EventDeliveries>;

#[derive(Default)]
struct InboxState {
    letters: DeliveriesByEvent,
    heard: Vec<(Instant, String)>,
    deliveries: usize,
    unsigned: usize,
    /// Event of which the next delivery is acknowledged and discarded, if none was acknowledged
    /// before.
    loses: Option<&'static str>,
}

type Shared = Arc<Mutex<InboxState>>;

impl Inbox {
    pub async fn start() -> anyhow::Result<Self> {
        Self::behind(|inbox| inbox).await
    }

    /// Starts with a layer around the router that receives every request.
    pub async fn behind(something: impl FnOnce(Router) -> Router) -> anyhow::Result<Self> {
        let state = Shared::default();
        let router = Router::new().fallback(receive).with_state(state.clone());
        let served = Loopback::serve(something(router)).await?;
        Ok(Self {
            url: format!("{}/webhooks", served.url),
            state,
            _served: served,
        })
    }

    /// Removes all deliveries.
    pub fn forget(&self) {
        *self.lock() = InboxState::default();
    }

    /// Returns the acknowledged events of this transaction and the number of ids of each.
    pub fn events_of(&self, id: &str) -> BTreeMap<String, usize> {
        let state = self.lock();
        let events = state.letters.iter().filter(|((of, _), _)| of == id);
        events
            .filter(|(_, letter)| !letter.ids.is_empty())
            .map(|((_, event), letter)| (event.clone(), letter.ids.len()))
            .collect()
    }

    /// Whether this event of this transaction was acknowledged.
    pub fn has(&self, id: &str, event: &str) -> bool {
        let key = (id.to_owned(), event.to_owned());
        let state = self.lock();
        state
            .letters
            .get(&key)
            .is_some_and(|letter| !letter.ids.is_empty())
    }

    /// Returns a copy of all deliveries.
    pub fn letters(&self) -> DeliveriesByEvent {
        self.lock().letters.clone()
    }

    /// Acknowledges the next delivery of this event and discards it, to simulate a lost webhook.
    /// Chooses an event that was not acknowledged before: the loss of a repeated one would go
    /// unnoticed.
    pub fn lose_next(&self, event: &'static str) {
        self.lock().loses = Some(event);
    }

    /// Returns the transactions with an acknowledgment since the last call, and the time of each.
    pub fn heard(&self) -> Vec<(Instant, String)> {
        std::mem::take(&mut self.lock().heard)
    }

    /// Returns the number of requests, and of those not signed with [`SECRET`].
    pub fn deliveries(&self) -> (usize, usize) {
        let state = self.lock();
        (state.deliveries, state.unsigned)
    }

    fn lock(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn receive(State(state): State<Shared>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let header = |name: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let event: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    state.deliveries += 1;
    if header("x-service-signature") != signature(SECRET, &body) {
        state.unsigned += 1;
    }
    let (id, name) = (text(&event["data"]["id"]), text(&event["event"]));
    let number = state.deliveries;
    let key = (id.clone(), name.clone());
    let is_new = state
        .letters
        .get(&key)
        .is_none_or(|letter| letter.ids.is_empty());
    if is_new && state.loses.take_if(|lost| **lost == *name).is_some() {
        return StatusCode::OK;
    }
    let letter = state.letters.entry(key).or_default();
    if letter.first == 0 {
        letter.first = number;
    }
    if number.is_multiple_of(REFUSES) {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    letter.contradicts_itself |= !name.ends_with(&format!(".{}", text(&event["data"]["status"])));
    letter.ids.insert(header("webhook-id"));
    state.heard.push((Instant::now(), id));
    StatusCode::OK
}
