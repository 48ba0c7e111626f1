//! A connection as routing is offered it, and what may stand in its way.

use crate::transaction::Candidate;

/// A connection, seen with one transaction's method in mind.
#[derive(Clone, Debug)]
pub struct Offer {
    pub candidate: Candidate,
    pub standing: Standing,
}

/// Whether a connection can take a transaction, and what stands in its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    CanServe,
    /// The operator disabled the app: it begins nothing new.
    AppDisabled,
    /// The operator switched the connection off.
    Disabled,
    /// Its gateway is not loaded.
    GatewayMissing,
    /// A live connection of a test gateway, which moves no money.
    TestGateway,
    /// Its gateway is in quarantine: an operator has to bring it back.
    InQuarantine,
    /// The version of its gateway died during the attempt that failed over.
    VersionDied,
    /// Its gateway is on its way out, and begins nothing new.
    Draining,
    /// The method is not among those that the connection may serve, or not one of its gateway's.
    MethodNotServed,
    /// The provider takes no such amount.
    AmountOutOfRange,
    /// The operator lets no such amount through this connection.
    OutsideLimits,
    /// The operator lets nobody of that country through this connection.
    CountryNotServed,
}

impl Standing {
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
