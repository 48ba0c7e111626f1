//! Tests of the pages.

mod gallery;
mod money;
mod routes;
pub mod samples;
mod weight;
mod words;
