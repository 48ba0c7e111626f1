//! An attempt: one try of a transaction at one connection, under one provider reference.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::charges::Charge;
use super::command::CancelledBy;
use super::decision::Decision;
use super::outcome::{Decline, PayerAction};
use super::schedule::USUAL_TIME;
use crate::ids::{AttemptId, ConnectionId};
use crate::limits::GATEWAY_CALL;
use crate::money::{Amount, Correction, Currency, Rate};
use crate::time::Timestamp;

/// One try. Its `reference` is what we told the provider, and the only name under which we ever ask
/// about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub id: AttemptId,
    pub reference: Uuid,
    /// The connection and the very version of the gateway that this attempt began on, and ends on.
    pub candidate: Candidate,
    /// The attempt whose place this one took, when it was declined or not sent inside the same
    /// confirmation.
    pub follows: Option<AttemptId>,
    /// Presumed: the attempt may have been made after the backup from which the store was restored.
    /// It is queried and never submitted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub presumed: bool,
    pub method: String,
    /// ISO 3166-1 alpha-2, as the payer chose.
    pub country: Option<String>,
    /// The phone number tied to the method, in E.164 when it parses.
    pub phone: Option<String>,
    /// Fields that the payer entered, by name.
    pub fields: BTreeMap<String, String>,
    /// Amount that the provider is asked to move, in the method's currency.
    pub amount: Amount,
    /// Conversion of the transaction's amount into this one, if their currencies differ. Fixed when
    /// the payer confirmed.
    #[serde(default)]
    pub conversion: Option<Conversion>,
    pub state: AttemptState,
    /// Reasons for the choice of this connection.
    pub decision: Decision,
    pub started_at: Timestamp,
    /// When its submission was started again because the engine had stopped before anything left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub provider_id: Option<String>,
    /// The provider's own word for its status.
    pub provider_status: Option<String>,
    pub payer_action: Option<PayerAction>,
    /// The provider's fee, which the instructions of a transfer add to the amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payer_fee: Option<Amount>,
    pub decline: Option<Decline>,
    /// Reason why the outcome is unknown, or why nothing was sent.
    pub why: Option<String>,
    pub captured: Option<Amount>,
    /// Money that the provider had received when it last reported the attempt as pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<Amount>,
    pub fees: Option<Amount>,
    /// When a report of money was stored last. A query that began earlier and finds none, or brings
    /// a decline, is older.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money_reported_at: Option<Timestamp>,
    /// Money that the provider reported, each charge by its latest report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charges: Vec<Charge>,
    /// Further ids by which verified reports named the attempt, at most
    /// [`crate::limits::FURTHER_IDS`] of them. A later report of money may name nothing else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further_ids: Vec<String>,
    /// Queries that the schedule has asked for so far.
    pub queries: u32,
    pub last_query_at: Option<Timestamp>,
    pub next_query_at: Option<Timestamp>,
    /// How often it was begun again because the engine had stopped: its submission before anything
    /// left, and the attempts before it at the same connection that never reached the provider.
    #[serde(default)]
    pub resumed: u32,
    /// The engine stopped while the submission was in flight, and the outcome is unknown for this
    /// reason.
    #[serde(default)]
    pub cut_off: bool,
    /// Codes that the payer has typed.
    #[serde(default)]
    pub codes: u32,
    /// When the last code left, as long as the gateway has not come back with it.
    #[serde(default)]
    pub code_away_since: Option<Timestamp>,
    /// Author of the request to cancel, and when the provider was last asked to cancel.
    #[serde(default)]
    pub call_off: Option<CancelRequest>,
    /// Reason for the merchant why a person called the attempt failed or never sent. `None`: no
    /// person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<String>,
    /// State that the gateway keeps between its calls.
    pub gateway_state: serde_json::Value,
    /// Candidates to try next if this attempt surely did not reach its provider.
    pub remaining: Vec<Candidate>,
}

impl Attempt {
    /// Whether it was presumed, and its provider never had it.
    pub fn was_never_made(&self) -> bool {
        self.presumed && self.state == AttemptState::NotSent
    }

    /// Whether its own connection may use its reference again. Nothing was sent under it, or it was
    /// presumed and its provider finally did not find it: this store has sent nothing then either,
    /// and after another restore the query by that reference finds the next attempt.
    pub fn has_free_reference(&self) -> bool {
        let is_unknown_there = self.presumed || self.last_query_at.is_none();
        let has_report = self.received.is_some() || !self.charges.is_empty();
        let has_report = has_report || !self.further_ids.is_empty();
        self.state == AttemptState::NotSent && is_unknown_there && !has_report
    }

    /// Whether its provider has said, in a verified report, that it has the attempt.
    pub(super) fn was_seen(&self) -> bool {
        self.state == AttemptState::Pending || !self.further_ids.is_empty()
    }

    /// Money that came while the attempt was pending. `None`: none was reported.
    pub fn part_received(&self) -> Option<Amount> {
        self.received.filter(|received| received.minor() > 0)
    }

    /// Whether its provider reported money that stands, or a part of it while the attempt was
    /// pending, also one that was taken back since: then a person decides.
    pub fn has_money(&self) -> bool {
        self.part_received().is_some() || self.standing_charge().is_some()
    }

    /// Amount that is still to be paid after the money that was received. `None`: all of it came,
    /// or another currency.
    pub fn rest(&self) -> Option<Amount> {
        self.amount.rest_after(self.part_received())
    }

    /// The latest charge that its provider reported and did not take back.
    pub fn standing_charge(&self) -> Option<&Charge> {
        self.charges
            .iter()
            .rev()
            .find(|charge| !charge.is_taken_back)
    }

    /// The amount with the provider's fee that the payer adds. `None`: there is no fee.
    pub fn with_payer_fee(&self) -> Option<Amount> {
        self.amount.checked_add(self.payer_fee?)
    }

    /// Money that left the payer's account. A captured amount up to the one asked for does not
    /// contain the fee that the payer added. `None`: the attempt did not succeed.
    pub fn debited(&self) -> Option<Amount> {
        let captured = self.captured?;
        let on_top = self.payer_fee.filter(|_| captured == self.amount);
        on_top.map_or(Some(captured), |fee| captured.checked_add(fee))
    }

    /// Name of the payer's field that was refused before anything was sent.
    pub fn refused_field(&self) -> Option<&str> {
        self.decline.as_ref()?.field.as_deref()
    }

    /// The value in place of a gateway's state that the store cannot read any more. Without its
    /// state a gateway may find nothing where there is money, so it is not called about the
    /// attempt.
    pub fn lost_state() -> serde_json::Value {
        serde_json::Value::from("switchyard: the state of this attempt is damaged")
    }

    pub fn is_state_lost(&self) -> bool {
        self.gateway_state == Self::lost_state()
    }
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

impl Attempt {
    /// Time after which no money can move any more for this attempt, if its gateway states one. The
    /// provider's time begins when the request arrives, at the latest at the end of the call.
    pub fn ends_at(&self) -> Option<Timestamp> {
        let seconds = self.candidate.ends_after_s?;
        let begun = self.resumed_at.unwrap_or(self.started_at);
        Some(begun.plus(GATEWAY_CALL).plus(Duration::from_secs(seconds)))
    }

    /// Time from which the payer may give it up: twice the usual time has passed.
    pub fn may_be_given_up_at(&self) -> Timestamp {
        let usual = self
            .candidate
            .usual_s
            .map_or(USUAL_TIME, Duration::from_secs);
        let begun = self.resumed_at.unwrap_or(self.started_at);
        begun.plus(usual.saturating_mul(2))
    }

    /// [`Attempt::ends_at`], while the provider has not been queried at or after that time.
    pub(super) fn unconfirmed_end(&self) -> Option<Timestamp> {
        self.ends_at()
            .filter(|end| self.last_query_at.is_none_or(|queried| queried < *end))
    }

    /// Whether the payer gave it up for another method.
    pub(super) fn was_given_up(&self) -> bool {
        self.call_off
            .is_some_and(|request| request.then == AfterCallOff::ChooseAgain)
    }
}

/// Request to cancel an attempt at its provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelRequest {
    pub by: CancelledBy,
    pub asked_at: Timestamp,
    #[serde(default)]
    pub then: AfterCallOff,
}

/// Next step once it is certain that a cancelled attempt moved no money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterCallOff {
    /// The payment is cancelled.
    #[default]
    Cancel,
    /// The payer chooses a method again.
    ChooseAgain,
}

/// Amount that an attempt asks its provider to move, with its rate.
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
    /// Percentage that the merchant adds to the market's rate; it is part of `rate`.
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
        format!("1 {} = {} {to}", from.code(), self.rate.short())
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
    /// Seconds after which no money can move any more for an attempt, if the gateway states it for
    /// the method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_after_s: Option<u64>,
    /// Seconds in which a payer usually completes an attempt, if the gateway states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual_s: Option<u64>,
    /// Whether the gateway can cancel an attempt at its provider.
    #[serde(default)]
    pub can_cancel: bool,
}
