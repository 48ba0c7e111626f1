//! Fail-over, the breaker and the simulation, through a whole engine and over real HTTP, at a
//! provider with books.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod between;
mod breaker;
mod classes;
mod http;
mod listed;
mod meanwhile;
mod rate;
mod replay;
mod restored;
mod road;
mod sandbox_only;
mod storm;
