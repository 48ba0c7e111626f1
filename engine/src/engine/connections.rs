//! The end of a connection, which waits for the attempts that are open there.

use super::Engine;
use crate::access::AccessError;
use switchyard_core::ids::ConnectionId;
use switchyard_core::limits::GATEWAY_OPEN_ATTEMPTS;
use switchyard_gateway_host::Count;
use switchyard_records as records;

impl Engine {
    /// Deletes a connection with its credentials. Transactions that went through it keep its id.
    ///
    /// # Errors
    /// [`AccessError::OpenAttempts`] while an attempt is open there, and
    /// [`AccessError::NeededAfterRestore`] while one that the store does not know may be: only with
    /// the connection's credentials can its provider be asked.
    pub async fn delete_connection(&self, id: ConnectionId) -> Result<(), AccessError> {
        // A connection that still has open attempts stays.
        if self.access().connection(id).is_some() {
            self.refuse_open_attempts(id).await?;
        }
        let deletion = self.access().begin_deletion(id).await?;
        // An attempt that passed the door before it was closed was committed before that, and is
        // seen here.
        self.refuse_open_attempts(id).await?;
        deletion.commit().await
    }

    async fn refuse_open_attempts(&self, id: ConnectionId) -> Result<(), AccessError> {
        let count = records::open_attempts_at(self.store(), id, GATEWAY_OPEN_ATTEMPTS)
            .await
            .map_err(AccessError::Read)?;
        let is_needed = self
            .may_have_unknown_at(id)
            .await
            .map_err(AccessError::Read)?;
        match count {
            0 if is_needed => Err(AccessError::NeededAfterRestore),
            0 => Ok(()),
            count => Err(AccessError::OpenAttempts(Count {
                count,
                is_at_least: count == GATEWAY_OPEN_ATTEMPTS,
            })),
        }
    }
}
