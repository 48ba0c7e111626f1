//! Verify: what is known now, after asking the provider when that is due.

use std::sync::Arc;

use super::{Engine, EngineError};
use crate::ids::TransactionId;
use crate::limits::VERIFY_DEADLINE;
use crate::transaction::{Command, State, Transaction};

impl Engine {
    /// The transaction, after asking its provider if it is not final and was not asked for ten seconds. Waits five seconds at most, and
    /// answers what is stored when the provider has not answered by then.
    pub async fn verify(&self, id: TransactionId) -> Result<Option<Arc<Transaction>>, EngineError> {
        let Some(tx) = self.transaction(id).await? else {
            return Ok(None);
        };
        if !matches!(tx.state, State::AwaitingProvider | State::InDoubt) {
            return Ok(Some(tx));
        }
        let mut live = self.watch(id);
        let answers = live.borrow_and_update().answers;
        let asked = self.registry.tell(self, id, Command::Ask).await;
        match asked {
            // A store that takes no writes now still answers what it has.
            Err(EngineError::Unavailable(_)) => return Ok(Some(tx)),
            Err(error) => return Err(error),
            Ok(after) if after.version == tx.version => return Ok(Some(after)),
            Ok(_) => {}
        }
        let _ = tokio::time::timeout(
            VERIFY_DEADLINE,
            live.wait_for(|live| live.answers > answers),
        )
        .await;
        self.transaction(id).await
    }
}
