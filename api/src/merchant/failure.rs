//! Error responses for refusals of the engine.

use switchyard_core::transaction::{Kind, Refusal};
use switchyard_engine::engine::EngineError;
use switchyard_engine::quota::Exceeded;
use switchyard_records::RecordError;
use switchyard_store::StoreError;

use crate::error::{ApiError, ErrorCode, Problem};

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Refused(Refusal::NotSuccessful(_)) => {
                Problem::new(ErrorCode::NotSuccessful, error.to_string()).into()
            }
            EngineError::Refused(refusal @ Refusal::Paused) => {
                let problem = Problem::new(ErrorCode::ServiceUnavailable, refusal.to_string());
                Self::new(problem).retry_after(PAUSED_RETRY_SECONDS)
            }
            // Remaining refusals: the transaction's state does not allow the operation.
            EngineError::Refused(refusal) => {
                Problem::new(ErrorCode::TransactionChanged, refusal.to_string()).into()
            }
            EngineError::PayoutLimit(exceeded) => payout_limit(exceeded),
            EngineError::NotFound => Self::transaction_not_found(Kind::Payment),
            EngineError::Unavailable(reason) => {
                tracing::warn!(%reason, "store unavailable");
                Self::unavailable()
            }
            // The store has noted the damage. Nothing is done until it is repaired.
            EngineError::Damaged(RecordError::Read(damage @ StoreError::Damaged { .. })) => {
                tracing::warn!(reason = %damage, "store unavailable");
                Self::unavailable()
            }
            EngineError::Stopping | EngineError::Overtaken => Self::unavailable(),
            other => {
                tracing::error!(error = %other, "engine failed");
                Self::internal()
            }
        }
    }
}

/// A hold is ended by a person.
const PAUSED_RETRY_SECONDS: u32 = 60;

/// A velocity limit of payouts that this payout would exceed.
fn payout_limit(exceeded: Exceeded) -> ApiError {
    let (what, scope) = match exceeded.limit {
        "payouts_per_recipient" => ("payouts to this recipient", "recipient"),
        "payouts_per_day" => ("payouts of this app", "method"),
        _ => (
            "the amount that this app pays out in this currency",
            "amount",
        ),
    };
    let problem = Problem::new(
        ErrorCode::PayoutLimitReached,
        format!("The limit on {what} in 24 hours is reached. Nothing was sent."),
    )
    .at(scope);
    let Some(wait) = exceeded.retry_after else {
        let hint = "This payout alone is larger than the limit: ask the operator to raise it.";
        return problem.hint(hint).into();
    };
    let seconds = u32::try_from(wait.as_secs() + 1).unwrap_or(u32::MAX);
    let hint = "Send it again after `Retry-After` seconds, or ask the operator to raise the limit.";
    ApiError::new(problem.hint(hint)).retry_after(seconds)
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        EngineError::from(error).into()
    }
}
