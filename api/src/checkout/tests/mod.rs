//! Tests of the pages, without a server.

mod gallery;
pub mod samples;
mod weight;
mod words;
