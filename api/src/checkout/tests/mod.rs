//! Tests of the pages.

mod gallery;
mod links;
mod mails;
mod money;
mod old_browsers;
mod parts;
mod routes;
pub mod samples;
mod waiting;
mod weight;
mod words;
