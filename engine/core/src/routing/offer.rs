//! A connection as an input of routing, with the reasons that may exclude it.

use crate::transaction::Candidate;

/// A connection, seen with one transaction's method in mind.
#[derive(Clone, Debug)]
pub struct Offer {
    pub candidate: Candidate,
    pub standing: Eligibility,
}

/// Whether a connection can take a transaction, and otherwise the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eligibility {
    CanServe,
    /// The operator disabled the app: it accepts no new transactions.
    AppDisabled,
    /// The operator switched the connection off.
    Disabled,
    /// The gateway is not loaded.
    GatewayMissing,
    /// A live connection of a test gateway, which moves no money.
    TestGateway,
    /// The gateway is in quarantine: an operator has to restore it.
    InQuarantine,
    /// The version of its gateway died during the attempt that failed over.
    VersionDied,
    /// The gateway is draining: it accepts no new attempts.
    Draining,
    /// The method is not among those that the connection may serve, or not one of its gateway's.
    MethodNotServed,
    /// The provider takes no such amount.
    AmountOutOfRange,
    /// The operator lets no such amount through this connection.
    OutsideLimits,
    /// The operator excludes payers of that country from this connection.
    CountryNotServed,
}

impl Eligibility {
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            Self::CanServe => None,
            Self::AppDisabled => Some("the app is disabled"),
            Self::Disabled => Some("the connection is switched off"),
            Self::GatewayMissing => Some("its gateway is not loaded"),
            Self::TestGateway => Some("its gateway is a test gateway, which moves no money"),
            Self::InQuarantine => Some("its gateway is in quarantine"),
            Self::VersionDied => {
                Some("the same version of its gateway died during the attempt before")
            }
            Self::Draining => Some("its gateway begins nothing new, as an operator wants"),
            Self::MethodNotServed => Some("it does not serve the method"),
            Self::AmountOutOfRange => Some("the provider takes no such amount"),
            Self::OutsideLimits => Some("the amount is outside the connection's limits"),
            Self::CountryNotServed => Some("the connection does not serve that country"),
        }
    }
}
