//! Verify: the current state, after a query of the provider when that is due.

use std::sync::Arc;

use super::{Engine, EngineError};
use switchyard_core::ids::TransactionId;
use switchyard_core::limits::VERIFY_DEADLINE;
use switchyard_core::transaction::{Attempt, Command, State, Transaction};

impl Engine {
    /// The transaction, after asking its provider if it is not final and was not asked for ten
    /// seconds. Waits five seconds at most, and answers what is stored when the provider has not
    /// answered by then.
    pub async fn verify(&self, id: TransactionId) -> Result<Option<Arc<Transaction>>, EngineError> {
        match self.transaction(id).await? {
            Some(tx) => self.verify_as_seen(tx).await,
            None => Ok(None),
        }
    }

    /// The same for a transaction that the caller has just read.
    pub async fn verify_as_seen(
        &self,
        tx: Arc<Transaction>,
    ) -> Result<Option<Arc<Transaction>>, EngineError> {
        let id = tx.id;
        if !matches!(tx.state, State::AwaitingProvider | State::InDoubt) {
            return Ok(Some(tx));
        }
        match self.ask(id, Command::Ask).await {
            // A store that takes no writes now still answers what it has.
            Err(EngineError::Unavailable(_)) => Ok(Some(tx)),
            Err(error) => Err(error),
            Ok(_) => self.transaction(id).await,
        }
    }

    /// Queries the provider by `command`, and waits for its gateway. `None`: the command started no
    /// query; otherwise whether the query returned.
    pub(super) async fn ask(
        &self,
        id: TransactionId,
        command: Command,
    ) -> Result<Option<bool>, EngineError> {
        let before = self.transaction(id).await?.ok_or(EngineError::NotFound)?;
        let mut live = self.watch(id);
        let answers = live.borrow_and_update().answers;
        let after = self.registry().send(self, id, command).await?;
        // The commit of another transaction may have changed it, which starts no query.
        let is_asked = |attempt: &Attempt| {
            let known = before.attempt(attempt.id);
            known.is_none_or(|known| known.last_query_at != attempt.last_query_at)
        };
        if !after.attempts.iter().any(is_asked) {
            return Ok(None);
        }
        let came_back = live.wait_for(|live| live.answers > answers);
        let came_back = tokio::time::timeout(VERIFY_DEADLINE, came_back).await;
        Ok(Some(matches!(came_back, Ok(Ok(_)))))
    }
}
