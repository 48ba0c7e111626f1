//! The merchant API as a merchant sees it, over HTTP (specification 2 to 8, decisions 1 to 5).

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod answers;
mod doors;
mod explained;
mod fingerprint;
mod idempotency;
mod lists;
mod public_keys;
mod refusals;
mod shape;
mod slashes;
mod tenants;
mod trouble;
