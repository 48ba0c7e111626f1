//! Durable queues: due rows of the store, dispatched by an actor.
//!
//! A queue is a key range of the store in the order of the rows' due times. The commit that makes
//! the work necessary adds its row, and the commit that finishes the work deletes it or moves it
//! to a later due time. Memory holds only what can be rebuilt from the store.
//!
//! - [`Backlog`]: position of the next scan in one key range, and its rows in flight.
//! - [`Nudges`]: wake-ups after commits, merged while one is in the mailbox.
//! - [`each_row`] and [`each_queue`]: walks for depths, ages and lost wake-ups.
//! - [`QueueWork`]: an actor that handles one message at a time and schedules its next scan.
//!
//! Users: mails and webhooks with an actor, callbacks with a worker of their own. Timers are not a
//! queue: a wake-up does not remove its row, the transaction's next commit does, so
//! `processing::scheduler` reads them again until they are gone.

mod actor;
mod backlog;
mod deadline;
mod nudges;
mod walk;

pub(crate) use self::actor::{QueueContext, QueueHandle, QueueWork, start_queue};
pub(crate) use self::backlog::{Backlog, Found, Scan};
pub(crate) use self::nudges::Nudges;
pub(crate) use self::walk::{each_queue, each_row};
use switchyard_core::time::Timestamp;

/// Earlier of two optional times.
pub(crate) fn sooner(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
