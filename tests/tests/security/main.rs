//! Attacks from outside, against a real server.

mod canaries;
mod dumps;
mod headers;
mod keys;
mod stage;
