//! Seams for the deterministic simulation (`tests/simulation`), behind a feature that no release
//! can have.
//!
//! One thread is one world. While a [`World`] is in force on a thread, the actors of the engine run
//! on that thread. Requests to providers, merchants and mail servers go to the world's line. The
//! world may replace the core's decisions. The clock ([`crate::clock::Clock::simulated`]), chance
//! ([`crate::ids::Ids::seeded`]), the disk (`switchyard_store::Disk`) and the gateways
//! (`switchyard_gateway_host::StaticGateways`) are passed in as always.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use switchyard_core::transaction::{self, Command, Context, Event, Refusal, Transaction};

#[cfg(not(debug_assertions))]
compile_error!(
    "the feature `simulation` replaces parts of the engine and needs debug assertions: \
     build the program with `--package switchyard`"
);

/// Simulated environment of the engine on this thread.
#[derive(Clone)]
pub struct World {
    pub line: Network,
    /// Decides instead of the core.
    pub decide: Option<Decide>,
}

/// A function in place of [`transaction::decide`].
pub type Decide = fn(&Transaction, Command, &Context) -> Result<Vec<Event>, Refusal>;

/// The way out. It is asked for every request that would leave the process.
pub type Network = Arc<dyn Fn(Request) -> ResponseFuture + Send + Sync>;
pub type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response, NetworkError>> + Send>>;

/// Receiver of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    Provider,
    Merchant,
    MailServer,
}

/// Request that would leave the machine.
#[derive(Clone, Debug)]
pub struct Request {
    pub to: To,
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// A request without a whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkError {
    /// Connection refused: not one byte left.
    Refused,
    /// The line broke after the first byte.
    Broken,
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// Puts a world in force on this thread until the guard is dropped.
pub fn enter(world: World) -> WorldGuard {
    WORLD.set(Some(world));
    WorldGuard(())
}

/// A world is in force as long as this lives.
#[must_use = "the world ends when this is dropped"]
pub struct WorldGuard(());

impl Drop for WorldGuard {
    fn drop(&mut self) {
        WORLD.set(None);
    }
}

pub fn is_on() -> bool {
    WORLD.with_borrow(Option::is_some)
}

/// Decides by the function of this thread's world. Without one the core decides.
pub fn decide(
    tx: &Transaction,
    command: Command,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let replaced = WORLD.with_borrow(|world| world.as_ref()?.decide);
    replaced.unwrap_or(transaction::decide)(tx, command, context)
}

/// The way out of this thread's world, if there is one.
pub fn line() -> Option<Network> {
    WORLD.with_borrow(|world| Some(world.as_ref()?.line.clone()))
}

impl Request {
    /// Value of a header; empty where there is none.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// The same request as reqwest would have sent it.
    pub fn of(to: To, request: &reqwest::Request) -> Self {
        let text = |value: &reqwest::header::HeaderValue| {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        };
        let headers = request.headers().iter();
        Self {
            to,
            method: request.method().to_string(),
            url: request.url().to_string(),
            headers: headers
                .map(|(name, value)| (name.to_string(), text(value)))
                .collect(),
            body: request
                .body()
                .and_then(reqwest::Body::as_bytes)
                .unwrap_or_default()
                .to_vec(),
        }
    }
}
