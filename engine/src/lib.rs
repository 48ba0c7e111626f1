//! The engine of Switchyard: what a payment or a payout is, and how it moves from its first request to its end.
//!
//! There is no HTTP server in here. The `api` crate serves what this crate decides, and gateways (crate `switchyard-gateway`)
//! know nothing of it. `ARCHITECTURE.md` at the top of the repository is the map.

pub mod clock;
pub mod ids;
pub mod limits;
