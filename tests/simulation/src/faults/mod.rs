//! Planted faults: a simulation that finds nothing proves nothing.
//!
//! No fault is in the engine. Each is injected at a seam around it: the disk ([`disk`]), the
//! decisions of a transaction's actor ([`decisions`]), the network ([`network`]), the gateway
//! ([`crate::gateway`]) or the operator ([`crate::operators`]). The engine's own rules have unit
//! tests, and `docs/proofs.md` names the test of each.

pub mod decisions;
pub mod disk;
pub mod network;

use std::cell::Cell;

/// A fault of the surroundings or of a decision. One history has at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The journal has no row of a request that can move money.
    JournalSkipped,
    /// The journal has no response of the provider to a request that can move money.
    AnswerUnwritten,
    /// The disk reports a flush as done before its rows are durable.
    AnsweredEarly,
    /// A crash leaves half of a commit on the disk.
    CommitTorn,
    /// A submission with an unknown outcome counts as not sent.
    UnknownRetried,
    /// The webhooks of an end are not stored.
    OutboxDropped,
    /// A webhook that was not acknowledged is not stored for its next attempt.
    DeliveryForgotten,
    /// Timers are not stored.
    TimerForgotten,
    /// A success after another end replaces that end.
    EndChanged,
    /// A contradiction opens no case.
    ContradictionIgnored,
    /// A reversal of a success opens no case.
    ReversalIgnored,
    /// The first event of a transaction is stored with a later due time than its end.
    OrderForgotten,
    /// A repeated webhook has another id.
    EventRenamed,
    /// Webhooks are durable before the change that they report.
    AnnouncedEarly,
    /// A success with less money than requested counts as one with the whole amount.
    LessIsEnough,
    /// The payer may confirm while the outcome of an attempt is unknown.
    ConfirmedInDoubt,
    /// An unknown outcome counts as declined.
    TimeoutDeclined,
    /// The response stored for an idempotency key is lost.
    KeyForgotten,
    /// The gateway accepts a callback with a wrong signature.
    ForgeryBelieved,
    /// "Not found" counts as not sent at once.
    NotFoundBelieved,
    /// An acknowledged callback is not stored.
    CallbackDropped,
    /// An interrupted submission starts again, whatever the journal says.
    RecoveryBlind,
    /// A live request goes to the provider's sandbox.
    EnvironmentMixed,
    /// Requests of all gateways wait for one another.
    TurnsShared,
    /// An operator drains a gateway before its upgrade.
    GapAtSwap,
    /// The change of a gateway is not stored.
    ChangeNotKept,
    /// A call runs the code of the newest version of its gateway.
    VersionForgotten,
    /// An operator's command is not on the timeline.
    OrderUnsigned,
    /// An operator's "never sent" counts more than the provider's response that it has the attempt.
    WordAgainstProvider,
    /// The payer is charged another amount than the confirmed one.
    RateMoved,
    /// An attempt has the confirmed amount and another rate.
    RateReadAnew,
    /// The mails about an end are not stored.
    MailForgotten,
    /// A sent mail stays in the outbox.
    MailRepeated,
    /// The engine reads the acknowledgment of a webhook as an error.
    AcknowledgmentForgotten,
    /// The journal has the code that a payer typed.
    CodeKept,
    /// The journal has a secret of a connection.
    SecretKept,
    /// The engine reads "410 Gone" as an acknowledgment.
    GoneForgotten,
    /// The counts of transactions are not stored.
    CountForgotten,
    /// A late success opens a case, and the payer may pay once more.
    LateMoneyIgnored,
    /// A surplus and a second charge open no case.
    SurplusIgnored,
    /// "Not found" becomes final some time after the first request, not after the last one.
    FirstRequestCounts,
    /// Money of an amount that cannot be read counts as an unknown outcome.
    UnreadableIgnored,
    /// A provider id of several attempts opens no case.
    SharedIdIgnored,
}

impl Fault {
    pub const ALL: [Self; 43] = [
        Self::JournalSkipped,
        Self::AnswerUnwritten,
        Self::AnsweredEarly,
        Self::CommitTorn,
        Self::UnknownRetried,
        Self::OutboxDropped,
        Self::DeliveryForgotten,
        Self::TimerForgotten,
        Self::EndChanged,
        Self::ContradictionIgnored,
        Self::ReversalIgnored,
        Self::OrderForgotten,
        Self::EventRenamed,
        Self::AnnouncedEarly,
        Self::LessIsEnough,
        Self::ConfirmedInDoubt,
        Self::TimeoutDeclined,
        Self::KeyForgotten,
        Self::ForgeryBelieved,
        Self::NotFoundBelieved,
        Self::CallbackDropped,
        Self::RecoveryBlind,
        Self::EnvironmentMixed,
        Self::TurnsShared,
        Self::GapAtSwap,
        Self::ChangeNotKept,
        Self::VersionForgotten,
        Self::OrderUnsigned,
        Self::WordAgainstProvider,
        Self::RateMoved,
        Self::RateReadAnew,
        Self::MailForgotten,
        Self::MailRepeated,
        Self::AcknowledgmentForgotten,
        Self::CodeKept,
        Self::SecretKept,
        Self::GoneForgotten,
        Self::CountForgotten,
        Self::LateMoneyIgnored,
        Self::SurplusIgnored,
        Self::FirstRequestCounts,
        Self::UnreadableIgnored,
        Self::SharedIdIgnored,
    ];
}

thread_local! {
    static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// Plants `fault` in the history that runs on this thread, until the guard is dropped.
pub(crate) fn plant(fault: Option<Fault>) -> Planted {
    PLANTED.set(fault);
    Planted(())
}

/// Guard of a planted fault.
#[must_use = "the fault is removed when this is dropped"]
pub(crate) struct Planted(());

impl Drop for Planted {
    fn drop(&mut self) {
        PLANTED.set(None);
    }
}

/// Returns the fault of the history that runs on this thread.
pub(crate) fn planted() -> Option<Fault> {
    PLANTED.get()
}

pub(crate) fn is_planted(fault: Fault) -> bool {
    planted() == Some(fault)
}
