//! An attempt: one try of a transaction at one connection, under one provider reference.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::outcome::{Decline, PayerAction};
use crate::clock::Timestamp;
use crate::ids::{AttemptId, ConnectionId};
use crate::money::Amount;

/// One try. Its `reference` is what we told the provider, and the only name under which we ever ask about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub id: AttemptId,
    pub reference: Uuid,
    /// The connection and the very version of the gateway that this attempt began on, and ends on.
    pub candidate: Candidate,
    /// The attempt whose place this one took, when it was declined or not sent inside the same confirmation.
    pub follows: Option<AttemptId>,
    pub method: String,
    /// ISO 3166-1 alpha-2, as the payer chose.
    pub country: Option<String>,
    /// The phone number tied to the method, in E.164 when it parses.
    pub phone: Option<String>,
    /// What the payer gave, by field name.
    pub fields: BTreeMap<String, String>,
    pub amount: Amount,
    pub state: AttemptState,
    /// Why this connection was chosen and others were not.
    pub decision: Decision,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub provider_id: Option<String>,
    /// The provider's own word for its status.
    pub provider_status: Option<String>,
    pub payer_action: Option<PayerAction>,
    pub decline: Option<Decline>,
    /// Why the outcome is not known, or why nothing was sent.
    pub why: Option<String>,
    pub captured: Option<Amount>,
    pub fees: Option<Amount>,
    /// Queries that the schedule has asked for so far.
    pub queries: u32,
    pub last_query_at: Option<Timestamp>,
    pub next_query_at: Option<Timestamp>,
    /// What the gateway keeps between its calls.
    pub gateway_state: serde_json::Value,
    /// Where to go next if this attempt surely did not reach its provider.
    pub remaining: Vec<Candidate>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptState {
    Started,
    Pending,
    InDoubt,
    Succeeded,
    Declined,
    NotSent,
}

impl AttemptState {
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Started | Self::Pending | Self::InDoubt)
    }
}

/// A connection that can serve a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    pub connection: ConnectionId,
    /// The gateway's name, title and SHA-256.
    pub gateway: String,
    pub gateway_title: String,
    pub gateway_hash: String,
    pub account_name: String,
}

/// Who was considered and why the chosen one was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub chosen_because: String,
    pub skipped: Vec<Skipped>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    pub connection: ConnectionId,
    pub because: String,
}
