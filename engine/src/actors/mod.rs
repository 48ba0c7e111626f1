//! Thin actix shells around the pure core: they load, commit and perform what the core decides.
//!
//! Promises: one transaction takes one message at a time; nothing is answered, sent or announced before its commit is durable; a panic
//! in one actor is contained, counted and logged; every mailbox is bounded, and whoever finds one full waits; every actor answers
//! [`Snapshot`].

mod alarm;
mod away;
mod calls;
mod commit;
#[cfg(test)]
mod containment_tests;
mod desk;
#[cfg(test)]
mod faults;
mod house;
mod input;
mod registry;
mod running;
mod scheduler;
#[cfg(test)]
mod tests;
mod transaction;
mod watchers;
#[cfg(feature = "simulation")]
mod wrong;

pub(crate) use alarm::ring;
pub(crate) use away::Away;
pub(crate) use calls::query;
pub use commit::Announcement;
pub(crate) use commit::{NotCommitted, Step, commit};
pub(crate) use desk::{Door, Setting, Work, start_desk};
#[cfg(test)]
pub(crate) use faults::Faults;
pub(crate) use house::House;
pub(crate) use registry::Registry;
pub(crate) use running::Running;
pub use scheduler::SchedulerSnapshot;
pub(crate) use scheduler::{Scheduler, start as start_scheduler};
pub use transaction::TransactionSnapshot;
pub use watchers::Live;
pub(crate) use watchers::Watchers;

/// Asks an actor how it is. Every actor answers it, with a copy of what an operator may want to see.
pub struct Snapshot<T>(std::marker::PhantomData<fn() -> T>);

impl<T> Default for Snapshot<T> {
    fn default() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<T: 'static> actix::Message for Snapshot<T> {
    type Result = T;
}
