//! Codes that a provider sent to the payer, sent back to the provider.

use std::sync::Arc;

use super::prompt::Step;
use super::{Engine, EngineError};
use switchyard_core::ids::{AttemptId, TransactionId};
use switchyard_core::secret::Secret;
use switchyard_core::transaction::{Command, Transaction};

impl Engine {
    /// Passes a code on, and waits a moment for what the provider says of it. `tried`: how many
    /// codes the page knew of, so that the same form sent twice passes one on. `address`: the
    /// client's, for the limits.
    pub async fn submit_code(
        &self,
        id: TransactionId,
        attempt: AttemptId,
        tried: u32,
        code: Secret<String>,
        address: Option<&str>,
    ) -> Result<Arc<Transaction>, EngineError> {
        let tx = self.transaction(id).await?.ok_or(EngineError::NotFound)?;
        let number = tx
            .attempt(attempt)
            .and_then(|attempt| attempt.phone.as_deref());
        let step = Step {
            number,
            address,
            is_code: true,
        };
        let counted = self.count_prompt(&tx, step).await?;
        let command = Command::SubmitCode {
            attempt,
            tried,
            code,
        };
        let result = self
            .send_and_wait(id, None, command, |tx| {
                tx.attempt(attempt)
                    .is_some_and(|attempt| attempt.code_away_since.is_some())
            })
            .await;
        self.uncount_refused(counted, &result).await;
        result
    }
}
