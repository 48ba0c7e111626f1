//! The life of a gateway from outside: by the operator API, by the command line, and under load.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod approval;
mod consent;
mod drain;
mod harm;
mod line;
mod load;
mod memory;
mod operator;
mod readiness;
