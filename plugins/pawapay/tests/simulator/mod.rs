//! pawaPay, version 2 of its API, on a local port: as its documents describe it, with books, and
//! with its traps.
//!
//! It knows nothing of the gateway's code; what both must agree on stands in pawaPay's documents.
//! Validation is as strict as theirs.
//!
//! | trap | how |
//! |---|---|
//! | final state comes late | [`Simulator::settle_after`] queries; never for numbers ending in 129 |
//! | response lost after acceptance, 500 after a success, half a response | [`Simulator::mishaps`] |
//! | callback before the response, doubled, out of order, forged | [`Simulator::letters`] |
//! | `NOT_FOUND` right after it was made | [`Simulator::hide_for`] questions |
//! | 200 with `REJECTED`, `DUPLICATE_IGNORED` | by number, amount, wallet, id: always |
//! | metadata: an array in, an object out | always |
//! | ECDSA signatures in DER | [`Scheme::EcdsaP256`] |

#![allow(
    dead_code,
    unused_imports,
    reason = "several test binaries include this, and none of them needs all of it"
)]

mod providers;
mod routes;
mod signing;
mod transfers;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use switchyard_testkit::{Ledger, Loopback, Mishaps, ProviderCallback};

pub use self::providers::{cases, providers};
pub use self::signing::{Scheme, Signer};
pub use self::transfers::{Kind, Transfer};

/// The one account that it has.
pub const TOKEN: &str = "eyJraWQiOiIxIiwiYWxnIjoiRVMyNTYifQ.simulated.token";

pub struct Simulator {
    pub url: String,
    pub mishaps: Mishaps,
    /// Deposits, payouts and refunds that moved money.
    pub books: Ledger,
    shared: Shared,
    _server: Loopback,
}

type Shared = Arc<Mutex<State>>;

struct State {
    now: i64,
    transfers: BTreeMap<(Kind, String), Transfer>,
    books: Ledger,
    settle_after: u32,
    hide_for: u32,
    /// Countries whose wallet is empty.
    empty: Vec<String>,
    /// Operators that are down.
    closed: Vec<String>,
    signers: Vec<Signer>,
    callback_url: String,
    letters: Vec<(String, ProviderCallback)>,
    key_requests: usize,
}

impl Simulator {
    /// `now` in seconds since 1970 dates what it signs.
    pub async fn start(now: i64) -> Self {
        let books = Ledger::default();
        let shared = Arc::new(Mutex::new(State {
            now,
            transfers: BTreeMap::new(),
            books: books.clone(),
            settle_after: 0,
            hide_for: 0,
            empty: Vec::new(),
            closed: Vec::new(),
            signers: vec![Signer::new(Scheme::EcdsaP256)],
            callback_url: String::new(),
            letters: Vec::new(),
            key_requests: 0,
        }));
        let mishaps = Mishaps::default();
        let router = mishaps.before(routes::router(Arc::clone(&shared)));
        let server = Loopback::serve(router).await.unwrap();
        Self {
            url: server.url.clone(),
            mishaps,
            books,
            shared,
            _server: server,
        }
    }

    /// A connection's configuration that leads here.
    pub fn config(&self) -> Value {
        json!({ "api_token": TOKEN, "base_url": self.url })
    }

    pub fn set_now(&self, now: i64) {
        self.state().now = now;
    }

    /// Makes later transfers final only after this many queries.
    pub fn settle_after(&self, questions: u32) {
        self.state().settle_after = questions;
    }

    /// Hides later transfers from this many queries.
    pub fn hide_for(&self, questions: u32) {
        self.state().hide_for = questions;
    }

    pub fn empty_wallet(&self, country: &str) {
        self.state().empty.push(country.to_owned());
    }

    pub fn close(&self, provider: &str) {
        self.state().closed.push(provider.to_owned());
    }

    /// Signed callbacks go, on paper, to this address; `None` of the schemes: they are unsigned.
    pub fn sign(&self, callback_url: &str, scheme: Option<Scheme>) {
        let mut state = self.state();
        callback_url.clone_into(&mut state.callback_url);
        state.signers = scheme.map(Signer::new).into_iter().collect();
    }

    /// The payer has approved on the operator's page.
    pub fn approve(&self, id: &str) {
        self.state().settle(Kind::Deposit, id, true);
    }

    /// The callbacks about this id, in the order in which they were written.
    pub fn letters(&self, id: &str) -> Vec<ProviderCallback> {
        let state = self.state();
        let of_id = state.letters.iter().filter(|(of, _)| of == id);
        of_id.map(|(_, letter)| letter.clone()).collect()
    }

    pub fn transfer(&self, kind: Kind, id: &str) -> Option<Transfer> {
        let state = self.state();
        state.transfers.get(&(kind, id.to_owned())).cloned()
    }

    /// How many transfers of a kind were made.
    pub fn count(&self, kind: Kind) -> usize {
        let state = self.state();
        state.transfers.keys().filter(|(of, _)| *of == kind).count()
    }

    /// How often the public keys were asked for.
    pub fn key_requests(&self) -> usize {
        self.state().key_requests
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.shared)
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, State> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
