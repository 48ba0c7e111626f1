//! Bounded model checker for the transaction core: explores every history of one payment or payout,
//! breadth-first, and checks the promises about money in each state.
//!
//! The core is pure, so its source files are compiled into this crate by path. There is no store,
//! actor or socket in here; `world` describes everything outside the core.
//!
//! The search is our own ([`search`]). A general checker such as `stateright` keeps one hash per
//! state and cannot answer "is an end still reachable from here?", which needs the edges of the
//! graph; it would also keep each state in full while it waits, some kilobytes instead of a hundred
//! bytes ([`key`]).

#[path = "../../../engine/src/clock.rs"]
#[allow(dead_code, reason = "the model has its own time")]
pub mod clock;
#[path = "../../../engine/src/environment.rs"]
#[allow(dead_code, reason = "the model reads no environment")]
pub mod environment;
#[path = "../../../engine/src/ids.rs"]
#[allow(dead_code, reason = "the model numbers its ids")]
pub mod ids;
#[path = "../../../engine/src/gateway/journal/rules.rs"]
pub mod journal;
#[path = "../../../engine/src/language.rs"]
#[allow(dead_code, reason = "the model writes no amounts for people")]
pub mod language;
#[path = "../../../engine/src/limits.rs"]
pub mod limits;
#[path = "../../../engine/src/money/mod.rs"]
#[allow(dead_code, reason = "the model needs few operations on amounts")]
pub mod money;
#[path = "../../../engine/src/routing/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "for its unit tests, under mutation"
)]
mod routing;
#[path = "../../../engine/src/secret.rs"]
#[allow(dead_code, reason = "the model reads no secret")]
pub mod secret;
#[cfg(test)]
#[path = "../../../engine/src/testing/values.rs"]
mod testing;
#[path = "../../../engine/src/transaction/mod.rs"]
#[allow(dead_code, unused_imports, reason = "some of it is for the shells")]
pub mod transaction;
#[path = "../../../engine/src/word.rs"]
#[allow(dead_code, reason = "the model parses nothing")]
mod word;

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
