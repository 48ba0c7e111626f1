//! Thin actix shells around the pure core: they load, commit and perform what the core decides.
//!
//! Promises: one transaction takes one message at a time; nothing is answered, sent or announced before its commit is durable.

mod calls;
mod commit;
#[cfg(test)]
mod containment_tests;
#[cfg(test)]
mod faults;
mod housekeeping;
mod input;
mod registry;
mod shared_ids;
#[cfg(test)]
mod shared_ids_tests;
mod submissions;
#[cfg(test)]
mod tests;
mod timers;
mod transaction;
mod watchers;

pub(crate) use calls::query;
pub use commit::Announcement;
pub(crate) use commit::{NotCommitted, Step, commit};
#[cfg(test)]
pub(crate) use faults::Faults;
pub(crate) use housekeeping::start_housekeeping;
pub(crate) use registry::Registry;
pub(crate) use submissions::Submissions;
pub(crate) use timers::{TimerQueue, start_timers};
pub use transaction::TransactionSnapshot;
pub(crate) use transaction::{CommandWithRows, preview};
pub use watchers::Live;
pub(crate) use watchers::Watchers;
