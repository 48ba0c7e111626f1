//! The deterministic simulation: the real engine, in a world that loses, delays, lies and kills, on one thread and virtual time.
//!
//! One seed is one history, whatever the machine does. `cargo xtask simulate` runs many; `docs/simulation.md` says how to read one.

pub mod chance;
mod deaths;
pub mod gateway;
mod history;
mod image;
mod life;
mod operators;
mod panics;
pub mod plan;
pub mod promises;
pub mod reached;
mod world;

/// Seeds that once failed: a number at the beginning of a line, and what it found behind it.
pub const CORPUS: &str = include_str!("../corpus.txt");

pub use self::deaths::{points, survives_a_death_at_every_step};
pub use self::history::{History, Options, run};
pub use self::world::LIES;
