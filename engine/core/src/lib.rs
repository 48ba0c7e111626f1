//! Rules of payments and payouts: amounts, states and events of transactions, choice of connections,
//! countries and methods.
//!
//! Pure: no store, socket, thread or clock. The moment and all chance are arguments.

#![deny(clippy::multiple_unsafe_ops_per_block)]

pub mod charge;
pub mod client_network;
pub mod colour;
pub mod directory;
pub mod email;
pub mod environment;
pub mod ids;
pub mod journal;
pub mod language;
pub mod limits;
pub mod money;
pub mod routing;
pub mod secret;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod time;
pub mod transaction;
mod word;
