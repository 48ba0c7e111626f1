//! The `switchyard` program: the HTTP API, the hosted pages, the command line and what keeps it all
//! running.
//!
//! `switchyard-engine` holds payments and their rules; this crate serves them.

pub mod account;
mod app_facts;
pub mod bearer;
mod callbacks;
pub mod checkout;
pub mod cli;
pub mod client;
pub mod config;
pub mod console;
mod customers;
mod docs;
pub mod envelope;
pub mod error;
mod export;
pub mod frame;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod geoip;
pub mod iso_timestamp;
mod key_changes;
pub mod merchant;
pub mod openapi;
pub mod openid;
pub mod operations;
pub mod operator;
pub mod pages;
mod payment_links;
mod payout_batches;
mod privacy;
mod proposals;
mod rate_headers;
pub mod reason;
pub mod return_url;
pub mod routes;
pub mod serve;
mod slashes;
pub mod state;
mod to_end;
mod user_mail;
pub mod utils;
pub mod version;
mod without_key;
