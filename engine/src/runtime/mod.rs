//! Threads of actors, without any knowledge of payments.
//!
//! Promises: every mailbox is bounded, and a sender waits while one is full; a panic in one actor
//! is contained, counted and logged; every actor answers [`Snapshot`].

mod in_flight;
mod threads;

pub(crate) use in_flight::{InFlightGuard, InFlightTasks};
pub(crate) use threads::ActorThreads;

/// A request for an actor's state. The reply is a copy of what an operator may want to see.
pub struct Snapshot<T>(std::marker::PhantomData<fn() -> T>);

impl<T> Default for Snapshot<T> {
    fn default() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<T: 'static> actix::Message for Snapshot<T> {
    type Result = T;
}
