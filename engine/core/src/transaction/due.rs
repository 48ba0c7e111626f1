//! Which command a due wake-up becomes. Pure: the actor and the exhaustive check both call it.

use super::command::Command;
use super::model::Transaction;
use super::state::State;
use crate::ids::AttemptId;
use crate::time::Timestamp;

/// Work of the actor at a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// No work is due, or the submission is still in flight.
    Nothing,
    /// A payout is routed and dispatched.
    Dispatch,
    /// A submission is no longer in flight and has no outcome: the journal says what left.
    Recover(AttemptId),
    /// The core decides: [`Command::Wake`].
    Wake,
}

/// `in_flight`: whether this process has a submission of the current attempt in flight.
pub fn due(tx: &Transaction, in_flight: bool, now: Timestamp) -> Due {
    let is_due = tx.wake_at().is_some_and(|at| at <= now);
    match (&tx.state, tx.current_attempt()) {
        (State::AwaitingDispatch, _) if is_due => Due::Dispatch,
        (State::AwaitingDispatch, _) => Due::Nothing,
        (State::AwaitingGateway, Some(_)) if in_flight => Due::Nothing,
        (State::AwaitingGateway, Some(attempt)) => Due::Recover(attempt.id),
        _ => Due::Wake,
    }
}

/// Whether an interrupted submission is recovered now. A submission that may have left is recovered
/// at once. A submission that did not leave starts again, and may be the cause of the process's
/// end: it waits until the transaction's wake-up is due.
pub fn may_recover(tx: &Transaction, maybe_sent: bool, now: Timestamp) -> bool {
    maybe_sent || tx.wake_at().is_none_or(|at| at <= now)
}

/// The command that recovers an interrupted submission. `gateway_state`: the state when the last
/// request left.
pub fn recovery(
    attempt: AttemptId,
    maybe_sent: bool,
    gateway_state: Option<serde_json::Value>,
) -> Command {
    Command::Recover {
        attempt,
        maybe_sent,
        gateway_state,
    }
}
