//! Shared parts of the gateways' tests, as a dev-dependency: a gateway itself never depends on this
//! crate.
//!
//! - [`Driver`] runs a gateway's calls over real HTTP, without an engine: it performs the effects,
//!   keeps the cache and the state.
//! - [`Loopback`] serves a provider's simulator on a local port.
//! - [`Mishaps`] does to a simulator's answers what networks do: an answer is lost after the books
//!   were written, a 500 hides a success, half a body arrives. The simulator's own code stays
//!   honest and knows nothing of it.
//! - [`Ledger`] is where a simulator writes down each movement of money, so that a test can show
//!   that there was one and not two.
//! - [`ProviderCallback`] is a callback that a simulator wrote: to be posted, or handed to the gateway
//!   directly.
//!
//! A simulator takes its time from the test, never from the machine, so that signatures and
//! expiries can be tested.

mod callback;
mod driver;
mod ledger;
mod loopback;
mod mishap;

pub use callback::ProviderCallback;
pub use driver::{Driver, client};
pub use ledger::{Ledger, LedgerEntry};
pub use loopback::Loopback;
pub use mishap::{FaultScenario, Mishaps};
pub use switchyard_gateway::Moment;

/// Default time of a [`Driver`]'s calls, in RFC 3339 and in seconds since 1970.
pub const NOW: &str = "2026-11-20T10:00:00.000000Z";
pub const NOW_SECONDS: i64 = 1_795_168_800;
