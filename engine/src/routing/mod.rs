//! Which connections can take a transaction, in which order, and why. Pure: the time, the chance
//! and what was heard of the connections are given to it.
//!
//! ```text
//! offers ─ who cannot serve is skipped ─► the app's first rule that matches orders the rest
//!        ─► who is sick goes to the end ─► now and then a probe goes to the front ─► plan
//! ```
//!
//! Promises: a plan holds each connection that can serve, once, unless the rule says `only`; the
//! same transaction, rules and health give the same plan; an open breaker never makes a payment
//! impossible, it only sends it elsewhere first. That the next candidate is tried only when the
//! last one surely moved no money is the core's promise, not this room's.

mod breaker;
mod fee;
mod health;
mod offer;
mod order;
mod plan;
mod roll;
mod rules;
#[cfg(test)]
mod tests;
mod verdict;
mod window;

pub use breaker::Turn;
pub use fee::{FeeRow, Percent};
pub use health::{Health, Heard, Key};
pub use offer::{Offer, Standing};
pub use plan::{Asked, InForce, plan};
pub use roll::Roll;
pub use rules::{Match, MethodPattern, Rule, RuleError, RuleSet, Strategy, Weight};
pub use verdict::{Call, Verdict};
