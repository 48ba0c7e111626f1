//! Tests of the pages.

mod gallery;
mod routes;
pub mod samples;
mod weight;
mod words;
