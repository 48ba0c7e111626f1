//! Faults that the simulation plants to show that it would find them. Without the feature `simulation` there are none: every place that
//! asks for one is compiled away.

/// A way to be wrong about money that a hurried change could bring in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A request that can move money leaves without a row in the journal.
    JournalSkipped,
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
    /// Webhooks leave before what they tell of is durable.
    AnnouncedEarly,
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
}

impl Fault {
    pub const ALL: [Self; 17] = [
        Self::JournalSkipped,
        Self::AnsweredEarly,
        Self::CommitTorn,
        Self::UnknownRetried,
        Self::OutboxDropped,
        Self::DeliveryForgotten,
        Self::TimerForgotten,
        Self::EndChanged,
        Self::ContradictionIgnored,
        Self::AnnouncedEarly,
        Self::TimeoutDeclined,
        Self::KeyForgotten,
        Self::ForgeryBelieved,
        Self::NotFoundBelieved,
        Self::CallbackDropped,
        Self::RecoveryBlind,
        Self::EnvironmentMixed,
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
