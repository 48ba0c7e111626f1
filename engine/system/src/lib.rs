//! Access to the machine: time, randomness, secrets, addresses that may be reached, memory, disk space, open
//! files, memory dumps and traces.

// Each `unsafe` block is proven by its own comment.
#![deny(clippy::multiple_unsafe_ops_per_block)]

pub mod clock;
pub mod descriptors;
pub mod dumps;
pub mod egress;
pub mod ids;
pub mod resources;
pub mod secrets;
#[cfg(feature = "simulation")]
pub mod simulation;
pub mod trace;
