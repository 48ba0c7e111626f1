//! What the engine's refusals are on the wire.

use switchyard_engine::engine::EngineError;
use switchyard_engine::store::StoreError;
use switchyard_engine::transaction::Refusal;

use crate::error::{ApiError, ErrorCode, Problem};

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Refused(Refusal::NotSuccessful(_)) => {
                Problem::new(ErrorCode::NotSuccessful, error.to_string()).into()
            }
            // What is left of the refusals: the transaction is not in a state for what was asked.
            EngineError::Refused(refusal) => {
                Problem::new(ErrorCode::TransactionChanged, refusal.to_string()).into()
            }
            EngineError::NotFound => Self::payment_not_found(),
            EngineError::Unavailable(reason) => {
                tracing::warn!(%reason, "The store is not available.");
                Self::unavailable()
            }
            EngineError::Stopping | EngineError::Overtaken => Self::unavailable(),
            other => {
                tracing::error!(error = %other, "The engine failed.");
                Self::internal()
            }
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        EngineError::from(error).into()
    }
}
