//! A provider with books, which does what the request says: the other end of the programmable
//! gateway.
//!
//! | word | what it does |
//! |---|---|
//! | `ok` | moves the money and says so |
//! | `busy`, `sick`, `no` | declines, for three reasons |
//! | `broken`, `broken_done` | answers 502; with `_done` after it moved the money |
//! | `lost`, `lost_done` | cuts the line without an answer |
//! | `silent`, `silent_done` | takes the request and never answers |
//! | `held` | moves the money, and says so once [`Provider::let_go`] was called |
//! | `waits` | takes it, and moves the money when [`Provider::pay`] is called |
//! | `signed`, `hint` | takes it, moves the money a little later, then repeats a callback to the |
//! | | address of [`Provider::call_back`] until that acknowledges it |

mod calls;
mod lists;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use switchyard_testkit::Loopback;
use tokio::sync::watch;
use tokio::time::Instant;

pub use self::calls::{Called, Calls};
use self::calls::{Callee, Charge, follow_up, is_called_about};
use self::lists::list;
use crate::client::Client;

/// Result of one request for a charge or a payout, independent of the response.
#[derive(Clone, Debug)]
pub struct Entry {
    pub transaction: String,
    /// How often the same reference was submitted.
    pub requests: u32,
    /// How often money moved under it.
    pub charges: u32,
    /// How often it was asked about.
    pub queries: u32,
    /// Which connection it came through.
    pub slot: u64,
    pub order: Order,
}

/// The order of a charge, as the list of charges shows it.
#[derive(Clone, Debug, Default)]
pub struct Order {
    pub direction: String,
    /// RFC 3339, in microseconds and UTC.
    pub created_at: String,
    pub minor: i64,
    pub currency: String,
}

/// By reference.
pub type Books = BTreeMap<String, Entry>;

/// An address without a listener.
pub const NOWHERE: &str = "http://127.0.0.1:1";

/// Serves until it is dropped.
pub struct Provider {
    pub url: String,
    state: Shared,
    _served: Loopback,
}

#[derive(Default)]
struct ProviderState {
    books: Books,
    /// Times at which each transaction was first received, in order.
    heard: Vec<(Instant, String)>,
    /// Takes what comes through this connection, does it, and answers nothing.
    hangs: Option<u64>,
    /// References that were asked about and never submitted.
    in_vain: BTreeSet<String>,
    /// Moves the money of the next charge twice.
    doubles: bool,
    /// References that were taken and have not ended.
    waiting: BTreeSet<String>,
    /// References that were declined, with the word for it.
    declined: BTreeMap<String, String>,
    /// Answers that are held may go.
    is_let_go: watch::Sender<bool>,
    /// Destination of callbacks; `None`: none are sent.
    callee: Option<Callee>,
    calls: Calls,
    /// Whether lists are answered with 502.
    fails_to_list: bool,
}

type Shared = Arc<Mutex<ProviderState>>;

impl Provider {
    /// # Panics
    /// When this machine has no port left.
    pub async fn start() -> Self {
        Self::behind(|provider| provider).await
    }

    /// With something before it that sees every request.
    ///
    /// # Panics
    /// When this machine has no port left.
    pub async fn behind(something: impl FnOnce(Router) -> Router) -> Self {
        let state = Shared::default();
        let router = Router::new()
            .route("/charges", post(charge))
            .route("/charges/{reference}", get(look_up))
            .route("/charges/list", post(list))
            .with_state(state.clone());
        let served = Loopback::serve(something(router)).await;
        let served = served.expect("a port is free");
        Self {
            url: served.url.clone(),
            state,
            _served: served,
        }
    }

    pub fn books(&self) -> Books {
        lock(&self.state).books.clone()
    }

    /// Empties the books.
    pub fn forget(&self) {
        *lock(&self.state) = ProviderState::default();
    }

    /// After this call, each request through this connection is executed and not answered, be it a
    /// charge or a query.
    pub fn hang(&self, slot: Option<u64>) {
        lock(&self.state).hangs = slot;
    }

    /// Answers each later request for a list with 502.
    pub fn fail_to_list(&self) {
        lock(&self.state).fails_to_list = true;
    }

    /// Moves the money of the next charge that goes well twice.
    pub fn double_next(&self) {
        lock(&self.state).doubles = true;
    }

    /// Answers that are held go out now, and those that would be held later go at once.
    pub fn let_go(&self) {
        lock(&self.state).is_let_go.send_replace(true);
    }

    /// Moves the money of a transaction that waits for it, as if its payer had paid now.
    pub fn pay(&self, transaction: &str) {
        let mut state = lock(&self.state);
        let about = state
            .books
            .iter()
            .filter(|(_, entry)| entry.transaction == transaction);
        let about: Vec<String> = about.map(|(reference, _)| reference.clone()).collect();
        for reference in about {
            state.is_paid(&reference);
        }
    }

    /// Sends callbacks after this call: to these connections of this server, by slot; signed ones
    /// with this key.
    pub fn call_back(&self, server: Client, connections: Vec<String>, key: &'static str) {
        lock(&self.state).callee = Some(Callee {
            server,
            connections,
            key,
        });
    }

    /// Results of the callbacks.
    pub fn calls(&self) -> Calls {
        lock(&self.state).calls.clone()
    }

    /// The references that it was asked about before they were submitted, if they ever were.
    pub fn asked_in_vain(&self) -> BTreeSet<String> {
        lock(&self.state).in_vain.clone()
    }

    /// Which transactions were submitted or asked about since this was last called, and when.
    pub fn heard(&self) -> Vec<(Instant, String)> {
        std::mem::take(&mut lock(&self.state).heard)
    }
}

impl ProviderState {
    /// The money of a charge that waits for it moves, once.
    fn is_paid(&mut self, reference: &str) {
        if self.waiting.remove(reference)
            && let Some(entry) = self.books.get_mut(reference)
        {
            entry.charges += 1;
        }
    }
}

async fn charge(State(state): State<Shared>, Json(request): Json<Value>) -> Response {
    let text = |name: &str| request[name].as_str().unwrap_or_default().to_owned();
    let word = text("word");
    let (hangs, mut is_let_go) = {
        let mut state = lock(&state);
        let transaction = text("transaction");
        state.heard.push((Instant::now(), transaction.clone()));
        if word == "waits" || is_called_about(&word) {
            state.waiting.insert(text("reference"));
        }
        if matches!(&*word, "busy" | "sick" | "no") {
            state.declined.insert(text("reference"), word.clone());
        }
        let times = 1 + u32::from(word == "ok" && std::mem::take(&mut state.doubles));
        let entry = state.books.entry(text("reference"));
        let entry = entry.or_insert_with(|| Entry {
            transaction,
            requests: 0,
            charges: 0,
            queries: 0,
            slot: request["slot"].as_u64().unwrap_or_default(),
            order: Order {
                direction: text("direction"),
                created_at: text("created_at"),
                minor: request["minor"].as_i64().unwrap_or_default(),
                currency: text("currency"),
            },
        });
        entry.requests += 1;
        let moves = word == "ok" || word == "held" || word.ends_with("_done");
        entry.charges += u32::from(moves) * times;
        let hangs = state.hangs.is_some() && state.hangs == request["slot"].as_u64();
        (hangs, state.is_let_go.subscribe())
    };
    if is_called_about(&word) {
        let reference = text("reference");
        follow_up(&state, Charge { reference, request }).await;
    }
    if hangs {
        return std::future::pending().await;
    }
    match word.as_str() {
        "ok" => status_response("paid"),
        "signed" | "hint" => status_response("waits"),
        "held" => {
            let _ = is_let_go.wait_for(|may_go| *may_go).await; // the state is gone when the test is over
            status_response("paid")
        }
        "busy" | "sick" | "no" | "waits" => status_response(&word),
        "broken_done" | "broken" => StatusCode::BAD_GATEWAY.into_response(),
        "silent_done" | "silent" => std::future::pending().await,
        // Ends the task of the connection, and the connection with it, without a word.
        _ => std::panic::resume_unwind(Box::new("an answer that is lost on purpose")),
    }
}

fn status_response(status: &str) -> Response {
    Json(json!({ "status": status })).into_response()
}

async fn look_up(State(state): State<Shared>, Path(reference): Path<String>) -> Response {
    let answer = {
        let mut state = lock(&state);
        let (hangs, waits) = (state.hangs, state.waiting.contains(&reference));
        let declined = state.declined.get(&reference).cloned();
        match state.books.get_mut(&reference) {
            None => {
                state.in_vain.insert(reference);
                Some(StatusCode::NOT_FOUND.into_response())
            }
            Some(entry) => {
                entry.queries += 1;
                let (slot, moved) = (entry.slot, entry.charges > 0);
                let transaction = entry.transaction.clone();
                state.heard.push((Instant::now(), transaction));
                let known = match (moved, waits, declined) {
                    (true, ..) => StatusCode::OK.into_response(),
                    (false, true, _) => StatusCode::TOO_EARLY.into_response(),
                    (false, false, Some(word)) => {
                        (StatusCode::PAYMENT_REQUIRED, status_response(&word)).into_response()
                    }
                    (false, false, None) => StatusCode::NOT_FOUND.into_response(),
                };
                (hangs != Some(slot)).then_some(known)
            }
        }
    };
    match answer {
        Some(answer) => answer,
        None => std::future::pending().await,
    }
}

fn lock(state: &Mutex<ProviderState>) -> MutexGuard<'_, ProviderState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
