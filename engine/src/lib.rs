//! The engine of Switchyard: the model of payments and payouts, from the first request to the end.
//!
//! There is no HTTP server in here. The `api` crate serves what this crate decides, and gateways
//! (crate `switchyard-gateway`) know nothing of it. `ARCHITECTURE.md` at the top of the repository
//! is the map.

// One proof, one deed: a proof of several is a proof of none.
#![deny(clippy::multiple_unsafe_ops_per_block)]

pub mod access;

pub mod callback;
pub mod engine;
pub mod exchange_rates;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod hold;
pub mod idempotency;
pub mod mail;
pub mod processing;
mod queue;
pub mod quota;
pub mod runtime;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod webhook;
