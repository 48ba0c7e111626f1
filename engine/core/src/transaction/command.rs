//! Commands to a transaction, and the reasons for which it refuses one.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::attempt::{Candidate, Price};
use super::decision::Decision;
use super::model::{ClientContext, Customer};
use super::operator::ByOperator;
use super::outcome::{Captured, Outcome};
use super::state::Status;
use crate::ids::{AttemptId, CaseId, ConnectionId};
use crate::secret::Secret;
use crate::time::Timestamp;

/// Request to a transaction, by an actor of the engine, a merchant, a payer or an operator.
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
        /// When the query that brought the outcome began, or the call-off that brought a decline.
        /// `None`: it was neither.
        asked_at: Option<Timestamp>,
    },
    /// The process died while a gateway's call was away; the journal says whether something may
    /// have left.
    Recover {
        attempt: AttemptId,
        maybe_sent: bool,
        /// The gateway's state when the last request left, as the journal has it.
        gateway_state: Option<serde_json::Value>,
    },
    /// The engine held a submission back: its gateway is in quarantine, or cannot be loaded.
    /// Nothing was sent, and no provider is at fault: the next candidate is tried, else the
    /// transaction waits as it did before.
    Withhold {
        attempt: AttemptId,
        why: String,
    },
    /// The time of [`super::Transaction::wake_at`] has come.
    Wake,
    /// Query now, outside of the schedule: a verify request or an operator.
    Ask,
    /// A provider sent something that proves nothing: ask it, even when it was asked a moment ago.
    Hint,
    /// A verified report names the attempt by this id, and changes nothing else.
    Identify {
        attempt: AttemptId,
        provider_id: String,
    },
    /// Two attempts of one connection have this provider id, so that it identifies neither.
    AmbiguousId {
        attempt: AttemptId,
        provider_id: String,
        /// Money that a verified report names under the id.
        reported: Option<Captured>,
    },
    /// Cancels the payment. An open attempt is called off first, where that is possible.
    Cancel(CancelledBy),
    /// The payer gives up the open attempt to choose a method again.
    GiveUp,
    /// The payer typed the code that the provider asks for. `tried`: how many the page knew of,
    /// which tells an old page and a button pressed twice from a new try. The code goes to the
    /// gateway and is kept nowhere.
    SubmitCode {
        attempt: AttemptId,
        tried: u32,
        code: Secret<String>,
    },
    /// The gateway came back from passing a code on.
    CodeAnswer {
        attempt: AttemptId,
        outcome: Outcome,
        gateway_state: Option<serde_json::Value>,
    },
    /// A person who runs the installation intervenes.
    ByOperator(Box<ByOperator>),
    MarkProcessed,
}

impl Command {
    /// Name in traces.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Confirm(_) => "confirm",
            Self::Dispatch(_) => "dispatch",
            Self::Answer { .. } => "answer",
            Self::Recover { .. } => "recover",
            Self::Withhold { .. } => "withhold",
            Self::Wake => "wake",
            Self::Ask => "ask",
            Self::Hint => "hint",
            Self::Identify { .. } => "identify",
            Self::AmbiguousId { .. } => "ambiguous_id",
            Self::Cancel(_) => "cancel",
            Self::GiveUp => "give_up",
            Self::SubmitCode { .. } => "submit_code",
            Self::CodeAnswer { .. } => "code_answer",
            Self::ByOperator(_) => "by_operator",
            Self::MarkProcessed => "mark_processed",
        }
    }
}

/// Choices of the payer on the checkout page.
#[derive(Clone, Debug)]
pub struct Confirm {
    pub method: String,
    pub country: Option<String>,
    pub phone: Option<String>,
    pub fields: BTreeMap<String, String>,
    /// The customer with what they filled in.
    pub customer: Customer,
    pub context: ClientContext,
    /// In the method's currency, at the rate that holds for this confirmation.
    pub price: Price,
    pub route: Route,
}

/// Result of routing: candidates in order, and the reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    pub candidates: Vec<Candidate>,
    pub decision: Decision,
    /// The open breakers that counted this plan. They forget it if no attempt begins by it.
    pub counted: Vec<Counted>,
}

/// A plan that an open breaker counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    pub connection: ConnectionId,
    /// The breaker of this connection is open, and the attempt tests whether the provider has
    /// recovered.
    pub is_probe: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelledBy {
    Customer,
    Expiry,
    Operator,
    /// The engine itself, because money was reported for another attempt.
    Engine,
}

/// Inputs of a decision besides the transaction and the command.
#[derive(Clone, Debug)]
pub struct Context {
    pub now: Timestamp,
    /// Ids for what this decision may create, drawn before it.
    pub attempt: AttemptId,
    pub reference: Uuid,
    pub case: CaseId,
    /// References of the connections at which an attempt may start. Elsewhere it is `reference`.
    pub references: Vec<(ConnectionId, Uuid)>,
    /// Current state of the connections to which an attempt that may end now could fail over. Plans
    /// are older than that.
    pub onward: Vec<Onward>,
    pub permit: Permit,
}

/// Whether attempts may start. A store that was restored from a backup does not know the attempts
/// that were made after it.
#[derive(Clone, Debug, Default)]
pub struct Permit {
    /// The app waits for its release, or is disabled: no attempt starts.
    pub is_held: bool,
    /// When the app was released. Time before that is no delay of a gateway.
    pub released_at: Option<Timestamp>,
    /// Connections at which unknown attempts may have been made. No attempt starts before each of
    /// them has been asked. Also the connection of the open attempt, under its next reference.
    pub unasked: Vec<Unasked>,
}

/// A connection that is to be asked for an attempt that this store does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unasked {
    pub candidate: Candidate,
    /// Reference that the unknown attempt has if it was made.
    pub reference: Uuid,
    /// A method of the transaction that the connection's gateway serves.
    pub method: String,
    /// Whether its gateway finds an attempt by our reference alone, and *not found* becomes final.
    pub can_be_asked: bool,
}

impl Permit {
    pub fn is_free(&self) -> bool {
        !self.is_held && self.unasked.is_empty()
    }
}

/// A connection of an earlier plan with its current state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Onward {
    pub connection: ConnectionId,
    /// With the version of its gateway that is current now; or why nothing may begin there.
    pub standing: Result<Candidate, &'static str>,
}

impl Context {
    /// Current state of `candidate`'s connection. A connection that was not checked is as it was
    /// planned.
    pub(super) fn standing(&self, candidate: &Candidate) -> Result<Candidate, &'static str> {
        let seen = self
            .onward
            .iter()
            .find(|seen| seen.connection == candidate.connection);
        seen.map_or_else(|| Ok(candidate.clone()), |seen| seen.standing.clone())
    }

    /// The reference of an attempt that starts at `connection` now.
    pub(super) fn reference_at(&self, connection: ConnectionId) -> Uuid {
        let own = self.references.iter().find(|(at, _)| *at == connection);
        own.map_or(self.reference, |(_, reference)| *reference)
    }
}

/// Reason for which a command was refused. When several hold, the first in this order is given.
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
    #[error("Money was reported for an earlier attempt; it is being reviewed. Do not pay again.")]
    Held,
    #[error("Payments are paused while providers are asked about open ones; try again later.")]
    Paused,
    #[error("The time to pay has run out.")]
    Expired,
    #[error("The attempt is too young to be given up: wait for its usual time to pass twice.")]
    TooEarly,
    #[error(
        "The provider can neither cancel this attempt nor does it end by itself: wait for its result."
    )]
    CannotCallOff,
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
    #[error("No code is asked for now.")]
    NoCodeAsked,
    #[error("All tries for the code are used up.")]
    NoMoreCodes,
    #[error(
        "No attempt of it is open at a provider: there is nothing to ask and nothing to settle."
    )]
    NothingOpen,
    #[error("The attempt {0} has ended: an end never changes.")]
    AttemptClosed(AttemptId),
    #[error(
        "Money was reported for the attempt {paid} while {open} is open. If {open} moved no money, settle it as failed: the money \
         of {paid} then settles the transaction. If it moved money too, name it."
    )]
    WhichAttempt { open: AttemptId, paid: AttemptId },
    #[error(
        "The provider has said that it has this attempt, so it was sent: settle it as succeeded or failed."
    )]
    ProviderHasIt,
    #[error("The provider reported another amount: say which amount came in.")]
    AmountNeeded,
    #[error(
        "A success covers what was asked, which is {0}. Less than that is settled as failed, and given back."
    )]
    AmountTooLow(String),
    #[error(
        "A success needs the provider's own id, by which it can be found in the provider's books. \
         Of several reported payments, name the id of the one that has this amount, or enter their \
         sum."
    )]
    ProviderIdNeeded,
    #[error("No case of this transaction has the id {0}.")]
    UnknownCase(CaseId),
    #[error("The case has been closed before.")]
    CaseClosed,
    #[error(
        "The case is about an attempt that is still open: settle the attempt, and the case closes with it."
    )]
    CaseAboutOpenAttempt,
    #[error(
        "The case holds the transaction: settle that as succeeded or failed, and the case closes with it."
    )]
    CaseHolds,
}
