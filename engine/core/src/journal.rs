//! Rules of the journal, by which the requests of an attempt are judged. Pure: the host and the
//! model checker both call them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::GATEWAY_CALL;
use crate::time::Timestamp;

/// Progress of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Possibly sent; no answer is recorded.
    MaybeSent,
    Answered,
    /// Certainly not sent.
    NotSent,
}

/// Conclusion from an attempt's rows after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovered {
    /// No request that could move money left.
    NothingSent,
    /// Such a request may have left, whether or not its answer was recorded: query the provider.
    MaybeSent,
}

/// Facts of a row that the rules use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Before the row was written, and the request left.
    pub at: Timestamp,
    /// When the exchange ended, if that was written. The request did not leave later.
    pub ended_at: Option<Timestamp>,
    /// Whether the request can move money.
    pub mutates: bool,
    pub stage: Stage,
    pub is_readable: bool,
}

impl Row {
    /// Until when the request may have left.
    fn left_by(&self) -> Timestamp {
        let latest = || self.at.plus(NO_CALL_LASTS_SO_LONG);
        self.ended_at.unwrap_or_else(latest)
    }

    const fn may_have_left(&self) -> bool {
        self.mutates && !matches!(self.stage, Stage::NotSent)
    }
}

/// Reason why a request has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The engine refused it.
    Refused,
    /// No connection was made: name, route, TLS.
    Connect,
    Timeout,
    /// The connection broke, or the answer never came whole.
    Broken,
}

impl Failure {
    /// Whether a byte of the request may have left.
    pub const fn may_have_left(self) -> bool {
        match self {
            Self::Refused | Self::Connect => false,
            Self::Timeout | Self::Broken => true,
        }
    }
}

/// The stage of an exchange that has ended. An answer of any status proves that the request left.
pub const fn stage(is_answered: bool, may_have_left: bool) -> Stage {
    match (is_answered, may_have_left) {
        (true, _) => Stage::Answered,
        (false, true) => Stage::MaybeSent,
        (false, false) => Stage::NotSent,
    }
}

/// Conclusion from the rows of an attempt whose call was interrupted.
pub fn recovered(rows: impl IntoIterator<Item = Row>) -> Recovered {
    match rows.into_iter().any(|row| row.may_have_left()) {
        true => Recovered::MaybeSent,
        false => Recovered::NothingSent,
    }
}

/// Requests of one call that can move money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests that may have left.
    pub maybe_sent: usize,
    /// Requests of these that are being sent now.
    pub out: usize,
}

impl Tally {
    /// A row is being written for a request.
    pub fn announce(&mut self) {
        self.maybe_sent += 1;
    }

    /// The row could not be written, so the request does not leave.
    pub fn withdraw(&mut self) {
        self.maybe_sent -= 1;
    }

    /// The row is durable, and the request leaves.
    pub fn leave(&mut self) {
        self.out += 1;
    }

    pub fn end(&mut self, stage: Stage) {
        self.out -= 1;
        if stage == Stage::NotSent {
            self.maybe_sent -= 1;
        }
    }

    pub const fn may_have_left(&self) -> bool {
        self.maybe_sent > 0
    }

    /// Whether a request is being sent now. The call's outcome cannot include its result.
    pub const fn is_sending(&self) -> bool {
        self.out > 0
    }
}

/// Whether a call without an outcome counts as not sent. Only a submission can: another call is
/// about an attempt that its provider may have already.
pub const fn is_not_sent(submits: bool, may_have_left: bool) -> bool {
    submits && !may_have_left
}

/// Query whose answer is judged.
#[derive(Clone, Copy, Debug)]
pub struct StatusQuery {
    /// Before its first request left.
    pub at: Timestamp,
    pub config_changed_at: Option<Timestamp>,
    /// Start of this process.
    pub began: Timestamp,
}

/// Conclusion from a provider's *not found* for our reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// The provider never got the request.
    Final,
    /// Proves nothing before this time.
    NotBefore(Timestamp),
    /// Proves nothing: a row of the journal cannot be read.
    Unreadable,
    /// Proves nothing: the queried account may differ from the one that got the request.
    AnotherAccount,
    /// Proves nothing: no request is known to have left, and the first may be about to leave.
    NothingLeft,
}

/// Judges that a provider does not know our reference. The provider never got the request when the
/// time of its promise has passed since the *last* request that may have left. A request leaves
/// after its row was written and before its exchange ended; where that end is not written, at the
/// latest when its call ends. Only the time of the query counts, not that of its answer, which the
/// request may have overtaken.
pub fn not_found(rows: &[Row], promised: Duration, asked: &StatusQuery) -> NotFound {
    if rows.iter().any(|row| !row.is_readable) {
        return NotFound::Unreadable;
    }
    let sent = rows.iter().filter(|row| row.may_have_left());
    let first = sent.clone().map(|row| row.at).min();
    // A call has its configuration from its beginning, which is before its first request.
    let is_another_account = |first: Timestamp| {
        asked
            .config_changed_at
            .is_some_and(|at| at > first.minus(NO_CALL_LASTS_SO_LONG))
    };
    if first.is_some_and(is_another_account) {
        return NotFound::AnotherAccount;
    }
    let Some(left) = sent.map(Row::left_by).max() else {
        return NotFound::NothingLeft;
    };
    // The clock may have been set between two processes: a request of an earlier one surely left
    // before this one began, and no more is known.
    let final_at = left.max(asked.began).plus(promised);
    match asked.at >= final_at {
        true => NotFound::Final,
        false => NotFound::NotBefore(final_at),
    }
}

/// Time after which a call has certainly ended.
const NO_CALL_LASTS_SO_LONG: Duration = GATEWAY_CALL.saturating_mul(2);
