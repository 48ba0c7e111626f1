//! Reasons of a routing decision, as stored with the attempt. Fields are only ever added, each with
//! a default: rows are older than the code that reads them.

use serde::{Deserialize, Serialize};

use crate::ids::ConnectionId;

/// Candidates and the reasons for the choice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub chosen_because: String,
    pub skipped: Vec<Skipped>,
    /// Eligible candidates in the order in which they are tried; the first ones of a long list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub considered: Vec<Considered>,
    /// The app's rule that ordered them; without one they come oldest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleUsed>,
    /// Random number that was drawn for a weighted rule, of 10,000. The same for each attempt of a
    /// transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roll: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    pub connection: ConnectionId,
    pub because: String,
}

/// A connection that can serve the transaction, and what its place was made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Considered {
    pub connection: ConnectionId,
    pub gateway: String,
    pub why: String,
    /// `None`: no recent result is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthNumbers>,
}

/// A rule, by its place in one version of the app's rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleUsed {
    /// Of the rule set; 0 for rules that were only tried out.
    pub version: u64,
    /// From 1.
    pub number: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub strategy: String,
}

/// Recent results of a connection with a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthNumbers {
    /// The circuit breaker is open: the connection gets attempts that no other can serve, and
    /// probes.
    pub open: bool,
    /// Calls of the last half minute, and those of them that failed by the provider's fault.
    pub calls: u32,
    pub faults: u32,
    /// Attempts that ended in the last half hour, and those of them that moved the money.
    pub ended: u32,
    pub succeeded: u32,
    /// The provider said, a short while ago, that the merchant's account there has too little
    /// money.
    pub short_of_funds: bool,
}
