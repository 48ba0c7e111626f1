//! Bounded model checker for the transaction core: explores every history of one payment or payout,
//! breadth-first, and checks the promises about money in each state.
//!
//! There is no store, actor or socket in here; `world` describes everything outside the core.
//!
//! The search is our own ([`search`]). A general checker such as `stateright` keeps one hash per
//! state and cannot answer "is an end still reachable from here?", which needs the edges of the
//! graph; it would also keep each state in full while it waits, some kilobytes instead of a hundred
//! bytes ([`key`]).

pub mod apply;
pub mod base;
pub mod call;
pub mod codes;
pub mod every;
pub mod faults;
pub mod history;
pub mod key;
pub mod names;
pub mod promises;
pub mod reduce;
pub mod rules;
pub mod search;
pub mod steps;
pub mod story;
pub mod world;
pub mod worlds;
