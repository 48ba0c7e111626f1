//! The merchant's webhook endpoint: it keeps only what the judge needs, of any number of deliveries.

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
/// One delivery in so many is refused, and has to come again.
const REFUSES: usize = 20;

/// Serves until it is dropped.
pub struct Inbox {
    pub url: String,
    desk: Shared,
    _served: Loopback,
}

/// What came of one event of one transaction.
#[derive(Clone, Debug, Default)]
pub struct Letter {
    /// The how-manieth of all deliveries it came with first, acknowledged or not.
    pub first: usize,
    /// The ids under which it was acknowledged.
    pub ids: BTreeSet<String>,
    /// A body that says another status than its event does.
    pub contradicts_itself: bool,
}

/// By transaction and event.
pub type Letters = BTreeMap<(String, String), Letter>;

#[derive(Default)]
struct Desk {
    letters: Letters,
    heard: Vec<(Instant, String)>,
    deliveries: usize,
    unsigned: usize,
    /// The next delivery of this event that was never acknowledged is acknowledged and thrown away.
    loses: Option<&'static str>,
}

type Shared = Arc<Mutex<Desk>>;

impl Inbox {
    pub async fn start() -> anyhow::Result<Self> {
        Self::behind(|inbox| inbox).await
    }

    /// With something before it that sees every request.
    pub async fn behind(something: impl FnOnce(Router) -> Router) -> anyhow::Result<Self> {
        let desk = Shared::default();
        let router = Router::new().fallback(receive).with_state(desk.clone());
        let served = Loopback::serve(something(router)).await?;
        Ok(Self {
            url: format!("{}/webhooks", served.url),
            desk,
            _served: served,
        })
    }

    /// Empties it.
    pub fn forget(&self) {
        *self.lock() = Desk::default();
    }

    /// By event of this transaction, under how many ids it was acknowledged.
    pub fn events_of(&self, id: &str) -> BTreeMap<String, usize> {
        let desk = self.lock();
        let events = desk.letters.iter().filter(|((of, _), _)| of == id);
        events
            .filter(|(_, letter)| !letter.ids.is_empty())
            .map(|((_, event), letter)| (event.clone(), letter.ids.len()))
            .collect()
    }

    /// Whether this event of this transaction was acknowledged.
    pub fn has(&self, id: &str, event: &str) -> bool {
        let key = (id.to_owned(), event.to_owned());
        let desk = self.lock();
        desk.letters
            .get(&key)
            .is_some_and(|letter| !letter.ids.is_empty())
    }

    /// All that came.
    pub fn letters(&self) -> Letters {
        self.lock().letters.clone()
    }

    /// Acknowledges the next delivery of this event, and throws it away: a webhook that is lost. It is one that has not come before: what
    /// came under another id already would not be missed.
    pub fn lose_next(&self, event: &'static str) {
        self.lock().loses = Some(event);
    }

    /// Of which transactions something was acknowledged since this was last asked, and when.
    pub fn heard(&self) -> Vec<(Instant, String)> {
        std::mem::take(&mut self.lock().heard)
    }

    /// Requests, and those of them that were not signed with [`SECRET`].
    pub fn deliveries(&self) -> (usize, usize) {
        let desk = self.lock();
        (desk.deliveries, desk.unsigned)
    }

    fn lock(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn receive(State(desk): State<Shared>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let header = |name: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let event: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
    desk.deliveries += 1;
    if header("x-service-signature") != signature(SECRET, &body) {
        desk.unsigned += 1;
    }
    let (id, name) = (text(&event["data"]["id"]), text(&event["event"]));
    let number = desk.deliveries;
    let key = (id.clone(), name.clone());
    let is_new = desk
        .letters
        .get(&key)
        .is_none_or(|letter| letter.ids.is_empty());
    if is_new && desk.loses.take_if(|lost| **lost == *name).is_some() {
        return StatusCode::OK;
    }
    let letter = desk.letters.entry(key).or_default();
    if letter.first == 0 {
        letter.first = number;
    }
    if number.is_multiple_of(REFUSES) {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    letter.contradicts_itself |= !name.ends_with(&format!(".{}", text(&event["data"]["status"])));
    letter.ids.insert(header("webhook-id"));
    desk.heard.push((Instant::now(), id));
    StatusCode::OK
}
