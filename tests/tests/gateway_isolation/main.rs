//! Gateways that do harm in their own process: the engine goes on, another gateway's payments see
//! nothing of it, and open calls end by the money rule.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod host;
mod table;
mod worker;
