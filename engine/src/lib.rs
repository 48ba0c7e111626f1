//! The engine of Switchyard: the model of payments and payouts, from the first request to the end.
//!
//! There is no HTTP server in here. The `api` crate serves what this crate decides, and gateways
//! (crate `switchyard-gateway`) know nothing of it. `ARCHITECTURE.md` at the top of the repository
//! is the map.

// One proof, one deed: a proof of several is a proof of none.
#![deny(clippy::multiple_unsafe_ops_per_block)]

pub mod access;

pub mod callback;
pub mod charge;
pub mod client_network;
pub mod clock;
pub mod colour;
pub mod descriptors;
pub mod directory;
pub mod dumps;
pub mod egress;
pub mod email;
pub mod engine;
pub mod environment;
pub mod exchange;
pub mod format;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod gateway;
pub mod hold;
pub mod idempotency;
pub mod ids;
pub mod language;
pub mod limits;
pub mod mail;
pub mod money;
pub mod processing;
mod queue;
pub mod quota;
pub mod records;
pub mod resources;
pub mod routing;
pub mod runtime;
pub mod secret;
#[cfg(feature = "simulation")]
pub mod simulation;
pub mod store;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod transaction;
pub mod webhook;
mod word;
