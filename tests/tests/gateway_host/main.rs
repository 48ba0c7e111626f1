//! The host of gateways against real libraries: the test gateway, one that misbehaves, one in C,
//! and crafted files that are none.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

mod calls;
mod engine;
mod fixture;
mod guards;
mod in_c;
mod life;
mod lists;
mod loading;
mod options;
mod provider;
