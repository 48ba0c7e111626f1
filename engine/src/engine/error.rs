//! Errors of the engine for its callers.

use super::fields::FieldProblem;
use crate::access::AccessError;
use crate::quota::{Exceeded, QuotaError};
use crate::webhook::{EraseError, LogError};
use switchyard_core::money::Currency;
use switchyard_core::transaction::Refusal;
use switchyard_records::RecordError;
use switchyard_store::{CommitError, StoreError};

/// A request to the engine that was not carried out. Nothing was changed, unless a variant says
/// otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("There is no such transaction.")]
    NotFound,
    /// A rate moved between the page and the button.
    #[error("The price has changed since it was shown.")]
    PriceChanged,
    /// The transaction has another version than the caller has read.
    #[error("The transaction has changed since it was read.")]
    Changed,
    /// A value that the gateway's manifest does not allow. Nothing was begun.
    #[error("The field {field} has a value that its gateway does not take.")]
    FieldRefused {
        field: String,
        problem: FieldProblem,
    },
    /// The operator disabled the app: it accepts no new transactions.
    #[error("The app is disabled: it takes no payments and sends no payouts.")]
    AppDisabled,
    /// Too many confirmations or codes in a short time.
    #[error("Too many attempts: limit {} of {} is reached.", .0.limit, .0.most)]
    TooManyPrompts(Exceeded),
    /// The app has paid out as much, or as often, as it may in a day.
    #[error("Payout limit {} of {} in 24 hours is reached.", .0.limit, .0.most)]
    PayoutLimit(Exceeded),
    /// The store cannot write or read now (full, read-only, being reopened). It recovers
    /// automatically.
    #[error("The store is not available now: {0}")]
    Unavailable(String),
    #[error("A stored row is not readable: {0}")]
    Damaged(RecordError),
    /// A sum of many amounts is larger than an amount can be.
    #[error("The sum of the amounts in {0} is too large: ask for a shorter time.")]
    SumTooLarge(Currency),
    #[error("The credentials of the connection could not be opened.")]
    Credentials(#[from] AccessError),
    /// A defect of ours, caught where it happened. The transaction is as it was before.
    #[error("The engine failed inside; the log says where.")]
    Internal,
    /// Another process has carried out the same request under the same idempotency key, a moment
    /// before.
    #[error("The same request was carried out by another process.")]
    Overtaken,
    #[error("The engine is stopping.")]
    Stopping,
}

impl EngineError {
    /// Error of a limit whose use was not reserved; `exceeded` makes the error of a limit that is
    /// reached.
    pub(super) fn of_quota(error: QuotaError, exceeded: fn(Exceeded) -> Self) -> Self {
        match error {
            QuotaError::Exceeded(limit) => exceeded(limit),
            QuotaError::Read(error) => error.into(),
            QuotaError::Write(error) => error.into(),
        }
    }
}

impl From<RecordError> for EngineError {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Read(StoreError::Unavailable { reason }) => Self::Unavailable(reason),
            other => Self::Damaged(other),
        }
    }
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        RecordError::Read(error).into()
    }
}

impl From<CommitError> for EngineError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Unavailable { reason } => Self::Unavailable(reason),
            // Whoever commits meets conflicts by deciding again; one that is left over means that
            // the transaction never came to rest.
            CommitError::Conflict => {
                Self::Unavailable("too many changes of one transaction at once".to_owned())
            }
        }
    }
}

impl From<EraseError> for EngineError {
    fn from(error: EraseError) -> Self {
        match error {
            EraseError::Commit(error) => error.into(),
            EraseError::Log(LogError::Store(error)) => error.into(),
            EraseError::Log(LogError::Unreadable(_)) => Self::Damaged(RecordError::Damaged {
                what: "delivery log",
                id: "of a webhook".to_owned(),
            }),
        }
    }
}
