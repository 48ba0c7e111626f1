//! The pure core: the model of payments and payouts, and each of their transitions.
//!
//! ```text
//! decide(&Transaction, Command, &Context) -> Result<Vec<Event>, Refusal>
//! evolve(Transaction, &Event, now)        -> Transaction
//! actions(&Transaction, &Event)           -> Vec<Action>
//! ```
//!
//! Promises: final states never change; at most one attempt succeeds; an unknown outcome is never
//! called failed; every transaction that is not final has a wake-up time. There is no I/O, no
//! clock, no randomness and no async code: the actors provide them.

mod action;
mod attempt;
mod case_facts;
mod charges;
mod command;
mod decide;
mod decision;
mod due;
mod event;
mod evolve;
mod identity;
mod initiate;
mod kind;
mod model;
mod next;
mod operator;
mod outcome;
mod received;
mod schedule;
mod state;
#[cfg(test)]
mod tests;

pub use action::{Action, MailTo, actions};
pub use attempt::{
    AfterCallOff, Attempt, AttemptState, CancelRequest, Candidate, Conversion, Price,
};
pub use case_facts::Difference;
pub use charges::{Charge, MoneyReport};
pub use command::{
    CancelledBy, Command, Confirm, Context, Counted, Onward, Permit, Refusal, Route, Unasked,
};
pub use decide::decide;
pub use decision::{Considered, Decision, HealthNumbers, RuleUsed, Skipped};
pub use due::{Due, due, may_recover, recovery};
pub use event::{Event, EventName, Recorded};
pub use evolve::evolve;
pub use identity::{AttemptKey, Identity, identify, is_unmistakable};
pub use initiate::{NewTransaction, initiate};
pub use kind::Kind;
pub use model::{
    Case, CaseReason, ClientContext, Customer, Details, PaymentDetails, PayoutDetails, Restriction,
    Transaction,
};
pub use next::next_candidates;
pub use operator::{
    ByOperator, Closed, EntryKind, Operator, OperatorCommand, OperatorEvent, Resolution, Settled,
    Verdict,
};
pub use outcome::{Captured, Decline, DeclineReason, LocalizedText, Outcome, PayerAction};
pub use received::{Received, TakenBack};
pub use schedule::GATEWAY_WATCH;
pub use schedule::USUAL_TIME;
pub use state::{Failure, State, Status};
