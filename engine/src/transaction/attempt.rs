//! An attempt: one try of a transaction at one connection, under one provider reference.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::command::CancelledBy;
use super::decision::Decision;
use super::outcome::{Decline, PayerAction};
use crate::clock::Timestamp;
use crate::ids::{AttemptId, ConnectionId};
use crate::money::{Amount, Correction, Currency, Rate};

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
    /// In the method's currency: what the provider is asked to move.
    pub amount: Amount,
    /// How the transaction's amount became this one, when their currencies differ. Fixed when the payer confirmed.
    #[serde(default)]
    pub conversion: Option<Conversion>,
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
    /// How often it was begun again because the engine had stopped: its submission before anything left, and the attempts before it at the
    /// same connection that never reached the provider.
    #[serde(default)]
    pub resumed: u32,
    /// The engine stopped while its submission was away, and that is why nobody knew what came of it.
    #[serde(default)]
    pub cut_off: bool,
    /// Codes that the payer has typed.
    #[serde(default)]
    pub codes: u32,
    /// When the last code left, as long as the gateway has not come back with it.
    #[serde(default)]
    pub code_away_since: Option<Timestamp>,
    /// Who wants it called off, and since when the provider was last asked to.
    #[serde(default)]
    pub call_off: Option<CallOff>,
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

/// The wish that an attempt be called off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallOff {
    pub by: CancelledBy,
    pub asked_at: Timestamp,
}

/// What an attempt asks its provider to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    pub amount: Amount,
    pub conversion: Option<Conversion>,
}

impl Price {
    /// The transaction's own amount, in its own currency.
    pub const fn plain(amount: Amount) -> Self {
        Self {
            amount,
            conversion: None,
        }
    }
}

/// The exchange rate of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversion {
    /// Units of the attempt's currency for one unit of the transaction's, the correction included.
    pub rate: Rate,
    /// What the merchant adds to the market's rate, in percent; it is part of `rate`.
    pub correction: Option<Correction>,
    /// The currencies over which the rate was found, both ends included.
    pub way: Vec<Currency>,
    /// The age of the oldest rate on that way; pegs have none.
    pub as_of: Option<Timestamp>,
}

impl Conversion {
    /// As a person reads it, for one unit of the transaction's currency: `1 EUR = 655.957 XOF`.
    pub fn formatted(&self, from: Currency) -> String {
        let to = self.way.last().map_or("", |to| to.code());
        format!("1 {} = {} {to}", from.code(), self.rate)
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
