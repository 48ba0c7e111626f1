//! Tests of the pages.

mod gallery;
mod mails;
mod money;
mod parts;
mod routes;
pub mod samples;
mod waiting;
mod weight;
mod words;
