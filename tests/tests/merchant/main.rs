//! The merchant API as a merchant sees it, over HTTP (docs/contract/README.md).

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
