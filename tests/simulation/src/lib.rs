//! Deterministic simulation of the real engine on one thread and virtual time, in a world that
//! loses and delays messages, lies, and crashes the process.
//!
//! The same seed gives the same history on every machine. `cargo xtask simulate` runs many seeds;
//! `docs/simulation.md` describes how to read a history.

pub mod chance;
mod deaths;
pub mod faults;
pub mod gateway;
mod history;
mod image;
mod life;
mod operators;
mod panics;
pub mod plan;
pub mod promises;
pub mod reached;
mod totals;
mod world;

/// Seeds that once failed, one at the beginning of each line, followed by the defect that it found.
pub const CORPUS: &str = include_str!("../corpus.txt");

pub use self::deaths::{points, survives_a_death_at_every_step};
pub use self::history::{History, Options, run};
pub use self::world::LIES;
