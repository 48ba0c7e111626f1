//! What can be asked of a transaction, and how it says no.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::attempt::{Candidate, Decision};
use super::model::{ClientContext, Customer};
use super::outcome::Outcome;
use super::state::Status;
use crate::clock::Timestamp;
use crate::ids::{AttemptId, CaseId};

/// One thing that somebody or something wants of a transaction.
#[derive(Clone, Debug)]
pub enum Command {
    /// The payer chose a method and confirmed.
    Confirm(Box<Confirm>),
    /// A payout's turn has come: send it.
    Dispatch(Route),
    /// A gateway came back, from a submission, a query or a verified callback.
    Answer {
        attempt: AttemptId,
        outcome: Outcome,
        gateway_state: Option<serde_json::Value>,
    },
    /// The process died while a gateway's call was away; the journal says whether something may have left.
    Recover {
        attempt: AttemptId,
        maybe_sent: bool,
        /// The gateway's state when the last request left, as the journal has it.
        gateway_state: Option<serde_json::Value>,
    },
    /// The time of [`super::Transaction::wake_at`] has come.
    Wake,
    /// Somebody wants to know now: verify, an operator, a hint from the provider.
    Ask,
    Cancel(CancelledBy),
    MarkProcessed,
}

/// What the payer decided on the checkout page.
#[derive(Clone, Debug)]
pub struct Confirm {
    pub method: String,
    pub country: Option<String>,
    pub phone: Option<String>,
    pub fields: BTreeMap<String, String>,
    /// The customer with what they filled in.
    pub customer: Customer,
    pub context: ClientContext,
    pub route: Route,
}

/// Where routing would send it: candidates in order, and why.
#[derive(Clone, Debug, Default)]
pub struct Route {
    pub candidates: Vec<Candidate>,
    pub decision: Decision,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelledBy {
    Customer,
    Expiry,
}

/// All that a decision may depend on besides the transaction and the command.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    pub now: Timestamp,
    /// Ids for what this decision may create, drawn before it.
    pub attempt: AttemptId,
    pub reference: Uuid,
    pub case: CaseId,
}

/// Why a command was not carried out. When several hold, the first in this order is given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("This is a payout; only a payment can do that.")]
    NotAPayment,
    #[error("This is a payment; only a payout can do that.")]
    NotAPayout,
    #[error("The transaction has already ended: {}.", .0.as_str())]
    AlreadyEnded(Status),
    #[error("A payment attempt is already under way.")]
    AttemptUnderWay,
    #[error("The time to pay has run out.")]
    Expired,
    #[error("The payment method {0} is not offered for this payment.")]
    MethodNotOffered(String),
    #[error("This payment is restricted to the country {0}.")]
    CountryRestricted(String),
    #[error("This payment is restricted to another phone number.")]
    PhoneRestricted,
    #[error("No gateway can serve this method now.")]
    NoCandidate,
    #[error("No attempt of this transaction has the id {0}.")]
    UnknownAttempt(AttemptId),
    #[error("Only a successful payment can be marked processed; this one is {}.", .0.as_str())]
    NotSuccessful(Status),
}
