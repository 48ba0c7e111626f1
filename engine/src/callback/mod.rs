//! Provider callbacks: storage, verification, matching with an attempt, effect on the transaction.
//!
//! Promises:
//! - A callback is durable before anything else is done with it and before the response is sent. A
//!   stored callback that was not processed before a crash is processed after the next start.
//! - Only a result that the gateway verified changes a transaction. It goes through the
//!   transaction's actor, under the rules for a query result. Anything less is a *hint*: the engine
//!   queries the provider at once, also about an attempt that ended without success, and the
//!   content of the callback does not count.
//! - Duplicates and reordering are harmless: the actor applies one callback at a time, and a final
//!   state does not change.
//! - A callback without a known attempt is kept. It is processed again when a transaction with its
//!   name appears, whichever of the two commits comes first.
//! - A callback that a gateway version fails to read at every try is dead-lettered. Each later
//!   version of the gateway reads it once more.
//! - The disk cannot fill up: the arrival rate, the waiting bytes and the number of kept callbacks
//!   are limited for each connection. Nothing is stored for an unknown connection.
//! - Strangers silence no provider: beyond the limit of an ended attempt, its unverified callbacks
//!   still lead to a query, every 10 seconds.
//!
//! Leaves out: scheduled status queries. They run as if there were no callbacks.

mod ambiguous;
mod apply;
mod crowd;
mod further_ids;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod late_hints;
mod log;
mod match_pending;
mod queue;
mod receive;
mod recipient;
mod reprocess;
mod room;
mod row;
mod sweep;
mod tracker;
mod verdict;

pub use self::log::CallbackQuery;
pub(crate) use self::match_pending::appeared;
pub(crate) use self::queue::start;
pub use self::receive::{CallbackRequest, ReceiveError};
pub use self::row::{Callback, CallbackState};
pub(crate) use self::sweep::sweep;
pub(crate) use self::tracker::CallbackTracker;
