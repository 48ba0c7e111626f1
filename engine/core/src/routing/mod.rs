//! Connections that can take a transaction, their order, and the reasons. Pure: the time, the
//! random numbers and the health of connections are arguments.
//!
//! ```text
//! offers ─ who cannot serve is skipped ─► the app's first rule that matches orders the rest
//!        ─► who is sick goes to the end ─► now and then a probe goes to the front ─► plan
//! ```
//!
//! Promises: a plan holds each connection that can serve, once, unless the rule says `only`; the
//! same transaction, rules and health give the same plan; an open breaker never makes a payment
//! impossible, it only moves the connection behind the others. That the next candidate is tried
//! only when the last one surely moved no money is the promise of `transaction`, not of this
//! module.

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

pub use breaker::BreakerTransition;
pub use fee::{FeeRow, Percent};
pub use health::{Health, Key, LastFault, RecentResults};
pub use offer::{Eligibility, Offer};
pub use plan::{ActiveRules, RouteRequest, plan};
pub use roll::WeightedDraw;
pub use rules::{Match, MethodPattern, Rule, RuleError, RuleSet, Strategy, Weight};
pub use verdict::{Call, Verdict};
