//! Faults that the simulation plants to show that it would find them. Without the feature `simulation` there are none: every place that
//! asks for one is compiled away.

/// A way to be wrong about money that a hurried change could bring in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A request that can move money leaves without a row in the journal.
    JournalSkipped,
    /// A provider's answer is not written into the journal.
    AnswerUnwritten,
    /// The caller is answered before its commit is durable.
    AnsweredEarly,
    /// A commit that a crash cut short is found half made.
    CommitTorn,
    /// What nobody knows the end of is submitted again.
    UnknownRetried,
    /// The end of a transaction writes no row for its webhooks.
    OutboxDropped,
    /// A webhook that was not acknowledged is not tried again.
    DeliveryForgotten,
    /// A step writes no timer.
    TimerForgotten,
    /// News that contradicts an end changes it.
    EndChanged,
    /// News that contradicts an end is dropped without a case.
    ContradictionIgnored,
    /// That a provider takes back what succeeded is dropped without a case.
    ReversalIgnored,
    /// The end of a transaction is told before its beginning.
    OrderForgotten,
    /// A webhook that is tried again goes by another id.
    EventRenamed,
    /// Webhooks leave before what they tell of is durable.
    AnnouncedEarly,
    /// Less money than was asked counts as a success.
    LessIsEnough,
    /// A payer may pay once more while nobody knows the end of an attempt.
    ConfirmedInDoubt,
    /// A request without an answer in time counts as declined.
    TimeoutDeclined,
    /// The answer kept for an idempotency key is not found again.
    KeyForgotten,
    /// A callback is believed whatever its signature says.
    ForgeryBelieved,
    /// A provider that does not know a reference yet proves that it never will.
    NotFoundBelieved,
    /// What came from the provider is stored after it was acknowledged, if at all.
    CallbackDropped,
    /// A submission that a crash interrupted is made again, whatever the journal says.
    RecoveryBlind,
    /// A live payment goes to the provider's sandbox.
    EnvironmentMixed,
    /// Calls of all gateways wait for one another.
    TurnsShared,
    /// While a version takes the place of another, its gateway serves nobody.
    GapAtSwap,
    /// The change of a gateway is told before it is stored, and never is.
    ChangeNotKept,
    /// An attempt goes on with whatever version of its gateway is current.
    VersionForgotten,
    /// What an operator ordered does not stand on the timeline.
    OrderUnsigned,
    /// A person's word that nothing was sent counts more than the provider's that it has it.
    WordAgainstProvider,
    /// A payer who agreed to one price is asked for another, because the rate moved meanwhile.
    RateMoved,
    /// The price stays as it was agreed, and the rate beside it is the one of that moment.
    RateReadAnew,
    /// The end of a transaction writes no mail.
    MailForgotten,
    /// A mail that was sent stays in the outbox.
    MailRepeated,
    /// That a webhook was acknowledged is not written down.
    AcknowledgmentForgotten,
    /// The code that a payer typed is journaled as it is.
    CodeKept,
    /// What a connection signs in with is journaled as it is.
    SecretKept,
    /// What a receiver that is gone did not take counts as delivered.
    GoneForgotten,
    /// The end of a transaction is not counted.
    CountForgotten,
    /// A late success opens a case, and the payer may pay once more.
    LateMoneyIgnored,
    /// More money than was asked, and a second charge, open no case.
    SurplusIgnored,
    /// "Not found" is final some time after the first request that may have left, not the last.
    FirstRequestCounts,
}

impl Fault {
    pub const ALL: [Self; 41] = [
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
    ];
}

#[cfg(feature = "simulation")]
pub(crate) fn is_planted(fault: Fault) -> bool {
    crate::simulation::planted() == Some(fault)
}

/// In whatever is not a simulation.
#[cfg(not(feature = "simulation"))]
pub(crate) const fn is_planted(_: Fault) -> bool {
    false
}
