//! The transaction: everything that is known of one payment or payout. Stored whole after each
//! step.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::attempt::{Attempt, AttemptState};
use super::kind::Kind;
use super::operator::Closed;
use super::outcome::PayerAction;
use super::schedule;
use super::state::{State, Status};
use crate::environment::Environment;
use crate::ids::{AppId, AttemptId, CaseId, CustomerId, TransactionId};
use crate::money::Amount;
use crate::time::Timestamp;

/// One payment or payout, from its first request to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transaction {
    pub id: TransactionId,
    /// How many events made it what it is. The store refuses a commit on any other version.
    pub version: u64,
    pub app: AppId,
    pub environment: Environment,
    pub amount: Amount,
    pub description: String,
    pub customer: Customer,
    /// The merchant's own keys and values.
    pub metadata: BTreeMap<String, String>,
    pub details: Details,
    /// Client that made the request: the merchant's server at first, the payer's browser once the
    /// checkout page was confirmed.
    pub context: ClientContext,
    pub state: State,
    /// In order; the last one is the one that counts, and at most one succeeds (P1 of
    /// docs/proofs.md).
    pub attempts: Vec<Attempt>,
    pub cases: Vec<Case>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processed_at: Option<Timestamp>,
}

/// Fields of payments only, and of payouts only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Details {
    Payment(PaymentDetails),
    Payout(PayoutDetails),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaymentDetails {
    /// Address to which the payer returns, as the merchant gave it.
    pub return_url: String,
    /// Codes of the methods that are offered; empty: all eligible methods.
    pub methods: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restriction: Option<Restriction>,
    /// Attempts that the payer has on the checkout page, 1 to 5.
    pub attempts_allowed: u8,
    /// Cancelled then, when no attempt is open.
    pub expires_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PayoutDetails {
    pub method: String,
    /// Fields by which the method finds the recipient: `msisdn`, `account_number`, …
    pub recipient: BTreeMap<String, String>,
}

/// Restriction of the payer: one or the other, never both (docs/contract/requests.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum Restriction {
    /// ISO 3166-1 alpha-2.
    Country { country_code: String },
    /// `number` in E.164 when it parses.
    Phone {
        number: String,
        country_code: String,
    },
}

/// The customer as this transaction knows them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Customer {
    pub id: CustomerId,
    pub first_name: String,
    pub last_name: String,
    pub email: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// ISO 3166-1 alpha-2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zip_code: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Client that made the request, as far as the connection shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientContext {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// ISO 3166-1 alpha-2, from a trusted proxy's header; `None` when unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// `fr`, `en-GB`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
}

/// Something that needs manual review. A case that [`CaseReason::holds`] stops new attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    pub id: CaseId,
    pub opened_at: Timestamp,
    pub reason: CaseReason,
    /// The provider reference of the attempt that it is about.
    pub reference: Uuid,
    pub detail: String,
    /// Amount that the provider reported, for a case about money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<Amount>,
    /// Provider's id under which it reported the money, or the id that is in question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// `None`: it is open.
    #[serde(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<Closed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseReason {
    /// The provider reports money for an attempt that had ended without any: the transaction has
    /// failed or was cancelled, or another attempt is in progress.
    MoneyAfterTheEnd,
    /// The provider has an attempt that counted as not sent, or that a person had called failed.
    /// It may move money for it.
    FoundAfterNotSent,
    /// A success was reported for an attempt that counted as declined or not sent, and ended the
    /// transaction as success. The gateway broke its promise that no money would move.
    LateSuccess,
    /// Money was received for a second attempt: refund it.
    PaidTwice,
    /// More was received than was asked: return the surplus.
    Surplus,
    /// A second success of one attempt under another provider id or of another amount.
    ContradictingSuccess,
    /// The provider uses one id for two attempts, so the id identifies neither.
    AmbiguousProviderId,
    /// The provider took back a success.
    SuccessContradicted,
    /// Less came in than was asked, another currency, or an amount that cannot be read.
    AmountDiffers,
    /// The provider has not given a final answer for three days.
    NoFinalAnswer,
    /// An attempt may have been made after the backup from which the store was restored, and its
    /// gateway cannot find it.
    UnknownAfterRestore,
}

impl CaseReason {
    pub const ALL: [Self; 11] = [
        Self::MoneyAfterTheEnd,
        Self::FoundAfterNotSent,
        Self::LateSuccess,
        Self::PaidTwice,
        Self::Surplus,
        Self::ContradictingSuccess,
        Self::AmbiguousProviderId,
        Self::SuccessContradicted,
        Self::AmountDiffers,
        Self::NoFinalAnswer,
        Self::UnknownAfterRestore,
    ];

    /// Whether money was reported, or may be moving, that settles nothing yet. No attempt starts
    /// while such money is neither settled nor returned.
    pub const fn holds(self) -> bool {
        matches!(
            self,
            Self::MoneyAfterTheEnd
                | Self::FoundAfterNotSent
                | Self::AmountDiffers
                | Self::AmbiguousProviderId
        )
    }

    /// Whether a case of this reason stops holding when it is closed: money is settled otherwise.
    pub const fn ends_when_closed(self) -> bool {
        matches!(self, Self::AmbiguousProviderId)
    }

    /// Whether the case says that a provider received money. Its amount is what was received.
    pub const fn reports_money(self) -> bool {
        match self {
            Self::MoneyAfterTheEnd
            | Self::LateSuccess
            | Self::PaidTwice
            | Self::Surplus
            | Self::ContradictingSuccess
            | Self::SuccessContradicted
            | Self::AmountDiffers => true,
            Self::FoundAfterNotSent
            | Self::AmbiguousProviderId
            | Self::NoFinalAnswer
            | Self::UnknownAfterRestore => false,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MoneyAfterTheEnd => "money_after_the_end",
            Self::FoundAfterNotSent => "found_after_not_sent",
            Self::LateSuccess => "late_success",
            Self::PaidTwice => "paid_twice",
            Self::Surplus => "surplus",
            Self::ContradictingSuccess => "contradicting_success",
            Self::AmbiguousProviderId => "ambiguous_provider_id",
            Self::SuccessContradicted => "success_contradicted",
            Self::AmountDiffers => "amount_differs",
            Self::NoFinalAnswer => "no_final_answer",
            Self::UnknownAfterRestore => "unknown_after_restore",
        }
    }
}

impl Details {
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Payment(_) => Kind::Payment,
            Self::Payout(_) => Kind::Payout,
        }
    }
}

impl Transaction {
    pub const fn kind(&self) -> Kind {
        self.details.kind()
    }

    pub fn status(&self) -> Status {
        match &self.state {
            State::AwaitingCustomer | State::AwaitingDispatch
                if self.attempts.iter().all(Attempt::was_never_made) =>
            {
                Status::Initiated
            }
            State::AwaitingCustomer
            | State::AwaitingDispatch
            | State::AwaitingGateway
            | State::AwaitingProvider
            | State::InDoubt
            | State::OnHold => Status::Pending,
            State::Succeeded => Status::Success,
            State::Failed(_) => Status::Failed,
            State::Cancelled => Status::Cancelled,
        }
    }

    pub fn payment(&self) -> Option<&PaymentDetails> {
        match &self.details {
            Details::Payment(details) => Some(details),
            Details::Payout(_) => None,
        }
    }

    pub fn payout(&self) -> Option<&PayoutDetails> {
        match &self.details {
            Details::Payout(details) => Some(details),
            Details::Payment(_) => None,
        }
    }

    /// The attempt that counts: the last one that was started. A presumed one that was never made
    /// does not count.
    pub fn current_attempt(&self) -> Option<&Attempt> {
        let mut latest = self.attempts.iter().rev();
        latest.find(|attempt| !attempt.was_never_made())
    }

    /// The attempt that decides the transaction's outcome: the one that succeeded, else the one
    /// whose reported money holds the transaction or came after its end, else the last.
    pub fn deciding_attempt(&self) -> Option<&Attempt> {
        let succeeded = |attempt: &&Attempt| attempt.state == AttemptState::Succeeded;
        let done = self.attempts.iter().find(succeeded);
        let is_over = self.state.is_final();
        let held = || self.held_attempt().filter(|_| !is_over);
        let paid = || self.paid_attempt().filter(|_| is_over);
        done.or_else(held)
            .or_else(paid)
            .or_else(|| self.current_attempt())
    }

    pub fn attempt(&self, id: AttemptId) -> Option<&Attempt> {
        self.attempts.iter().find(|attempt| attempt.id == id)
    }

    /// Whether a provider may still say something about an attempt of it.
    pub fn has_open_attempt(&self) -> bool {
        matches!(
            self.state,
            State::AwaitingGateway | State::AwaitingProvider | State::InDoubt
        )
    }

    /// The attempt for which the payer is to type a code now. `None` as well while one is on its
    /// way.
    pub fn asks_for_code(&self) -> Option<&Attempt> {
        let attempt = self.current_attempt()?;
        let asks = self.state == State::AwaitingProvider
            && matches!(attempt.payer_action, Some(PayerAction::EnterCode { .. }))
            && attempt.code_away_since.is_none();
        asks.then_some(attempt)
    }

    /// Attempts that the payer still has. A confirmation that reached no provider has used up none,
    /// nor has one that the payer gave up for another method, nor one whose input was refused
    /// before anything was sent.
    pub fn attempts_left(&self) -> usize {
        self.attempts_left_after(None)
    }

    /// The same, when `declining` is being declined.
    pub(super) fn attempts_left_after(&self, declining: Option<AttemptId>) -> usize {
        let used = self.rounds().filter(|round| {
            round.iter().any(|attempt| {
                let declined =
                    attempt.state == AttemptState::Declined && attempt.refused_field().is_none();
                (declined || Some(attempt.id) == declining) && !attempt.was_given_up()
            })
        });
        let allowed = self
            .payment()
            .map_or(0, |payment| usize::from(payment.attempts_allowed));
        allowed.saturating_sub(used.count())
    }

    /// Attempts by the confirmation or dispatch that they belong to: fail-over inside one is one
    /// round.
    fn rounds(&self) -> impl Iterator<Item = &[Attempt]> {
        self.attempts.chunk_by(|_, next| next.follows.is_some())
    }

    /// The method in use: the current attempt's, else the payout's own.
    pub fn method(&self) -> Option<&str> {
        match self.deciding_attempt() {
            Some(attempt) => Some(&attempt.method),
            None => self.payout().map(|payout| payout.method.as_str()),
        }
    }

    /// Time of the next wake-up if nothing happens before. `None` exactly when the transaction is
    /// final (P5 of docs/proofs.md).
    pub fn wake_at(&self) -> Option<Timestamp> {
        match &self.state {
            State::AwaitingCustomer => self.payment().map(|payment| payment.expires_at),
            State::AwaitingDispatch => {
                let is_made = |round: &&[Attempt]| !round.iter().all(|attempt| attempt.presumed);
                let rounds = self.rounds().filter(is_made).count();
                Some(self.updated_at.plus(schedule::wait_before_dispatch(rounds)))
            }
            State::AwaitingGateway => Some(self.updated_at.plus(schedule::GATEWAY_WATCH)),
            State::AwaitingProvider | State::InDoubt => {
                let attempt = self.current_attempt();
                let query = attempt.and_then(|attempt| attempt.next_query_at);
                let code = attempt.and_then(|attempt| attempt.code_away_since);
                let code = code.map(|since| since.plus(schedule::CODE_WATCH));
                let end = attempt.and_then(Attempt::unconfirmed_end);
                Some(
                    query
                        .into_iter()
                        .chain(code)
                        .chain(end)
                        .min()
                        .unwrap_or(self.updated_at),
                )
            }
            State::OnHold => {
                let attempt = self.held_attempt();
                let query = attempt.and_then(|attempt| attempt.next_query_at);
                Some(query.unwrap_or(self.updated_at.plus(schedule::HELD_QUERY)))
            }
            State::Succeeded | State::Failed(_) | State::Cancelled => None,
        }
    }
}
