//! What attackers try from outside, against a real server.

mod canaries;
mod dumps;
mod headers;
mod keys;
mod stage;
