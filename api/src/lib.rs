//! The `switchyard` program: the HTTP API, the hosted pages, the command line and what keeps it all running.
//!
//! What a payment is and how it moves is decided in `switchyard-engine`; here it is served.

pub mod bearer;
pub mod cli;
pub mod config;
pub mod operations;
pub mod serve;
pub mod state;
