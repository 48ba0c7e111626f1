//! Flutterwave, version 3 of its API, on a local port: as its documents describe it, with books,
//! and with its traps.
//!
//! It knows nothing of the gateway's code; what both must agree on stands in Flutterwave's
//! documents, and Flutterwave's own client is run against it. Validation is as strict as theirs.
//!
//! | trap | how |
//! |---|---|
//! | 404 after creation | always, until the payer begins; [`Simulator::hide_for`] for others |
//! | a card fails, and the next one pays | [`Simulator::card`] with two of the published numbers |
//! | a bank transfer of another amount | [`Simulator::transfer_in`] |
//! | a second request makes a second charge | always: only transfers are deduplicated |
//! | final state comes late | [`Simulator::settle_after`] questions |
//! | response lost after acceptance, 500 after a success, half a response | [`Simulator::mishaps`] |
//! | callback before the response, doubled, out of order, forged | [`Simulator::letters`] |
//! | failures arrive as `charge.completed` too | always |
//! | `meta` is an array in one response, an object in another | always |

#![allow(
    dead_code,
    unused_imports,
    reason = "several test binaries include this, and none of them needs all of it"
)]

mod checks;
mod provider;
mod routes;
mod shapes;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use switchyard_testkit::{Ledger, Loopback, Mishaps, ProviderCallback};

pub use self::provider::{Kind, Paper};

/// The one account that it has.
pub const KEY: &str = "FLWSECK_TEST-simulated-X";
pub const HASH: &str = "the secret hash of these tests";
/// Published test cards, and a number that fails.
pub const GOOD_CARD: &str = "5531886652142950";
pub const POOR_CARD: &str = "5258585922666506";
pub const BAD_NUMBER: &str = "233121212121";

pub struct Simulator {
    pub url: String,
    pub mishaps: Mishaps,
    /// Payments that came in and transfers that went out.
    pub books: Ledger,
    shared: Shared,
    _server: Loopback,
}

type Shared = Arc<Mutex<provider::State>>;

impl Simulator {
    /// `now` in seconds since 1970: pages and accounts end by it.
    pub async fn start(now: i64) -> Self {
        let books = Ledger::default();
        let shared = Arc::new(Mutex::new(provider::State::new(now, books.clone())));
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
        json!({ "secret_key": KEY, "secret_hash": HASH, "base_url": format!("{}/v3", self.url) })
    }

    pub fn set_now(&self, now: i64) {
        self.state().now = now;
    }

    /// Makes later transactions final only after this many queries.
    pub fn settle_after(&self, questions: u32) {
        self.state().settle_after = questions;
    }

    /// Hides later charges from this many queries.
    pub fn hide_for(&self, questions: u32) {
        self.state().hide_for = questions;
    }

    /// No money for transfers in this currency.
    pub fn empty_wallet(&self, currency: &str) {
        self.state().empty.push(currency.to_owned());
    }

    /// Callbacks carry the newer signature, too.
    pub fn sign(&self) {
        self.state().signs = true;
    }

    /// The payer tries a card on the page. `false`: the page takes none any more.
    pub fn card(&self, tx_ref: &str, number: &str) -> bool {
        self.state().card(tx_ref, number)
    }

    /// Completes the payer's shown step: enters the code on the page, dials, scans. `false`: there
    /// is no such step.
    pub fn go_on(&self, tx_ref: &str) -> bool {
        self.state().go_on(tx_ref)
    }

    /// The network says late that a payment which had failed was taken. `false`: none had failed.
    pub fn take_late(&self, tx_ref: &str) -> bool {
        self.state().take_late(tx_ref)
    }

    /// Money arrives on the account that was made for this payment. `false`: the account takes none
    /// any more.
    pub fn transfer_in(&self, tx_ref: &str, amount: &str) -> bool {
        self.state().transfer_in(tx_ref, amount)
    }

    /// The callbacks about this reference, in the order in which they were written.
    pub fn letters(&self, reference: &str) -> Vec<ProviderCallback> {
        let state = self.state();
        let of_it = state.letters.iter().filter(|(of, _)| of == reference);
        of_it.map(|(_, letter)| letter.clone()).collect()
    }

    /// How many requests of a kind were taken under this reference.
    pub fn taken(&self, kind: Kind, reference: &str) -> usize {
        let state = self.state();
        let all = state.taken.iter();
        all.filter(|(of, name)| *of == kind && name == reference)
            .count()
    }

    fn state(&self) -> MutexGuard<'_, provider::State> {
        lock(&self.shared)
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, provider::State> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
