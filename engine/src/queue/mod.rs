//! The durable queue under timers, webhooks, mails and callbacks: due rows of the store, executed
//! by an actor.
//!
//! A queue is a key range of the store in the order of the rows' due times. The commit that makes
//! the work necessary adds its row, and the commit that finishes the work deletes it or moves it
//! to a later due time. Memory holds only what can be rebuilt from the store.
//!
//! ```text
//! commit ──▶ Queue::wake ──▶ QueueActor ──▶ scan from the low-water mark ──▶ window of due rows
//!                                       ──▶ lane with a free slot ──▶ QueueHandler::execute
//!                                       ◀── removed, due again, unchanged, still there
//! ```
//!
//! - [`QueueHandler`]: the properties of one kind of queue, with exactly four implementations.
//! - [`Queue`]: handle of an actor; wake-ups are merged while one is in its mailbox.
//! - `Backlog`: position of the next scan in one key range, and its rows in flight.
//! - `Polls`: scans of a queue whose rows are added without a wake-up.
//! - `sweep`: finds rows whose wake-up was lost, and measures depth and age.

mod actor;
mod backlog;
mod deadline;
mod dispatcher;
mod handler;
mod lanes;
mod nudges;
mod partition;
mod polls;
mod sweep;
#[cfg(test)]
mod tests;
mod walk;

pub use self::actor::QueueSnapshot;
pub(crate) use self::actor::{Queue, QueueContext};
pub(crate) use self::backlog::Found;
pub(crate) use self::handler::{
    Executed, Item, LaneLimits, Polling, QueueError, QueueHandler, QueueLimits, RowState, SlowLane,
    StartTime,
};
use switchyard_core::time::Timestamp;

/// Earlier of two optional times.
fn sooner(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn count_panic(actor: &'static str) {
    metrics::counter!("switchyard_actor_panics_total", "actor" => actor).increment(1);
}
