//! Stripe's Checkout on a local port: as its documents describe it, with books, and with its traps.
//!
//! It knows nothing of the gateway's code; what both must agree on stands in Stripe's documents.
//! Validation is as strict as theirs, and Stripe's own client library is run against it
//! (`tests/independent.rs`).
//!
//! | trap | how |
//! |---|---|
//! | final state comes late | [`Simulator::pay_later`], [`Simulator::settle_later`] |
//! | response lost after acceptance, 500 after a success, half a response | [`Simulator::mishaps`] |
//! | a repeated key: the same response, errors too; with another body: 400 | always |
//! | a repeated key while the first request is in flight: 409 | [`Simulator::hold`] |
//! | a 500 that is kept under its key, after the session was made | [`Simulator::stumble`] |
//! | callback before the response, doubled, out of order, forged | [`Simulator::letters`] |
//! | refused card, then another one that pays | [`Simulator::pay`] twice |
//! | test cards | [`payments::CARDS`] |

#![allow(
    dead_code,
    unused_imports,
    reason = "several test binaries include this, and none of them needs all of it"
)]

mod form;
pub mod payments;
mod refunds;
mod routes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::hmac;
use serde_json::{Value, json};
use switchyard_testkit::{Ledger, Loopback, Mishaps, ProviderCallback};

pub use self::payments::Session;

/// The one account that it has, and the secret of its webhook endpoint.
pub const KEY: &str = "sk_test_simulated";
pub const SECRET: &str = "whsec_simulated";

pub struct Simulator {
    pub url: String,
    pub mishaps: Mishaps,
    /// Payments that were taken, under our reference. Refunds are in [`Simulator::refunds`].
    pub books: Ledger,
    pub refunds: Ledger,
    shared: Shared,
    _server: Loopback,
}

type Shared = Arc<Mutex<State>>;

struct State {
    now: i64,
    sessions: Vec<Session>,
    refunds: Vec<Value>,
    refund_status: &'static str,
    /// By idempotency key: the request, and its answer.
    answered: BTreeMap<String, (String, u16, Value)>,
    held: BTreeSet<String>,
    stumbles: bool,
    may_see_account: bool,
    secrets: Vec<String>,
    events: u64,
    letters: Vec<(String, ProviderCallback)>,
    requests: Vec<String>,
    books: Ledger,
    paid_back: Ledger,
}

impl Simulator {
    /// `now` in seconds since 1970 is Stripe's clock.
    pub async fn start(now: i64) -> Self {
        let (books, refunds) = (Ledger::default(), Ledger::default());
        let shared = Arc::new(Mutex::new(State {
            now,
            sessions: Vec::new(),
            refunds: Vec::new(),
            refund_status: "succeeded",
            answered: BTreeMap::new(),
            held: BTreeSet::new(),
            stumbles: false,
            may_see_account: true,
            secrets: vec![SECRET.to_owned()],
            events: 0,
            letters: Vec::new(),
            requests: Vec::new(),
            books: books.clone(),
            paid_back: refunds.clone(),
        }));
        let mishaps = Mishaps::default();
        let router = mishaps.before(routes::router(Arc::clone(&shared)));
        let server = Loopback::serve(router).await.unwrap();
        Self {
            url: server.url.clone(),
            mishaps,
            books,
            refunds,
            shared,
            _server: server,
        }
    }

    /// A connection's configuration that leads here.
    pub fn config(&self) -> Value {
        json!({ "secret_key": KEY, "webhook_secret": SECRET, "base_url": self.url })
    }

    pub fn set_now(&self, now: i64) {
        self.state().now = now;
    }

    /// The payer enters this test card on the page.
    pub fn pay(&self, id: &str, card: &str) {
        self.state().pay(id, card);
    }

    /// The payer takes a method whose money comes later.
    pub fn pay_later(&self, id: &str) {
        self.state().pay_later(id);
    }

    /// That money came, or did not.
    pub fn settle_later(&self, id: &str, came: bool) {
        self.state().settle_later(id, came);
    }

    /// The session's time is over.
    pub fn expire(&self, id: &str) {
        self.state().expire(id);
    }

    /// The request of this idempotency key never gets done: 409.
    pub fn hold(&self, key: &str) {
        self.state().held.insert(key.to_owned());
    }

    /// The next request that makes something makes it, fails behind it, and says so as often as it
    /// is sent again.
    pub fn stumble(&self) {
        self.state().stumbles = true;
    }

    /// Sets the status of later refunds.
    pub fn refunds_are(&self, status: &'static str) {
        self.state().refund_status = status;
    }

    /// A refund that was pending ends so.
    pub fn settle_refunds(&self, status: &str, reason: Option<&str>) {
        self.state().settle_refunds(status, reason);
    }

    pub fn restrict_key(&self) {
        self.state().may_see_account = false;
    }

    /// A second signing secret, in use beside the first for a while.
    pub fn roll_secret(&self, secret: &str) {
        self.state().secrets.push(secret.to_owned());
    }

    /// The callbacks about this reference, in the order in which they were written.
    pub fn letters(&self, reference: &str) -> Vec<ProviderCallback> {
        let state = self.state();
        let of_it = state.letters.iter().filter(|(of, _)| of == reference);
        of_it.map(|(_, letter)| letter.clone()).collect()
    }

    /// The last one of this kind about this reference.
    pub fn letter(&self, reference: &str, kind: &str) -> Option<ProviderCallback> {
        let kind = format!("\"type\":\"{kind}\"");
        let mut letters = self.letters(reference);
        letters.retain(|letter| letter.body.contains(&kind));
        letters.pop()
    }

    pub fn sessions(&self) -> Vec<Session> {
        self.state().sessions.clone()
    }

    pub fn session_of(&self, reference: &str) -> Option<Session> {
        let mut sessions = self.sessions();
        sessions.retain(|session| session.reference() == reference);
        sessions.pop()
    }

    /// Method and path of each request.
    pub fn requests(&self) -> Vec<String> {
        self.state().requests.clone()
    }

    /// Signs as Stripe does, at this time.
    pub fn sign(&self, body: &str, at: i64) -> ProviderCallback {
        self.state().sign(body.to_owned(), at)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.shared)
    }
}

impl State {
    /// Writes the news down as Stripe would send it.
    fn tell(&mut self, reference: &str, kind: &str, object: Value) {
        self.events += 1;
        let body = json!({
            "id": format!("evt_{:024}", self.events), "object": "event", "api_version": "2026-08-26.dahlia",
            "created": self.now, "livemode": false, "pending_webhooks": 1,
            "request": { "id": null, "idempotency_key": null },
            "type": kind, "data": { "object": object },
        });
        let letter = self.sign(body.to_string(), self.now);
        self.letters.push((reference.to_owned(), letter));
    }

    fn sign(&self, body: String, at: i64) -> ProviderCallback {
        let mut header = format!("t={at}");
        for secret in &self.secrets {
            let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
            let signature = hmac::sign(&key, format!("{at}.{body}").as_bytes());
            let hex = base16ct::lower::encode_string(signature.as_ref());
            header += &format!(",v1={hex}");
        }
        ProviderCallback {
            method: "POST".into(),
            headers: vec![
                (
                    "Content-Type".into(),
                    "application/json; charset=utf-8".into(),
                ),
                ("Stripe-Signature".into(), header),
            ],
            body,
        }
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, State> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
