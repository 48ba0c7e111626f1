//! What providers send us, from the door to the timeline.
//!
//! What it promises:
//! - A callback is durable before anything else is done with it, and before it is answered. What was stored and not dealt with when the
//!   process died is dealt with after the next start.
//! - Only a result that the gateway verified changes a transaction, through its actor, by the rules that an answer to a query has.
//!   Anything less is a *hint*: the provider is asked now, of an attempt that ended without success as well, and what came counts for
//!   nothing.
//! - Duplicates and disorder are harmless: the actor takes one at a time, and a final state does not move.
//! - One that belongs to nothing yet is kept, and given another look when a transaction of its name appears, whichever of the two commits
//!   comes first.
//! - What a version of a gateway stumbles over at each try is put down, and read once more by each version that comes after it.
//! - Nobody fills the disk: what arrives, what waits and what is kept is bounded for each connection, and a connection that does not
//!   exist has nothing stored for it.
//!
//! What it leaves out: asking the provider by schedule, which goes on as if there were no callbacks.

mod ambiguous;
mod appear;
mod deal;
mod desk;
mod ended;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod home;
mod log;
mod receive;
mod reread;
mod row;
mod sweep;
mod verdict;
mod worker;

pub(crate) use self::appear::appeared;
pub(crate) use self::desk::Callbacks;
pub use self::log::CallbackQuery;
pub use self::receive::{CallbackRequest, NotReceived};
pub use self::row::{Callback, CallbackState};
pub(crate) use self::sweep::sweep;
pub(crate) use self::worker::start;
