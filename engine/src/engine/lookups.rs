//! What is stored, as it is stored.

use std::sync::Arc;

use super::{Engine, EngineError};
use crate::ids::{AttemptId, ConnectionId, TransactionId};
use crate::records::{self, ListQuery, Listing};
use crate::transaction::{Recorded, Transaction};

impl Engine {
    /// A transaction as it is stored.
    pub async fn transaction(
        &self,
        id: TransactionId,
    ) -> Result<Option<Arc<Transaction>>, EngineError> {
        Ok(records::load(&self.store, id).await?.map(Arc::new))
    }

    /// A transaction that was read before, as it is stored now.
    pub async fn transaction_again(
        &self,
        known: &Arc<Transaction>,
    ) -> Result<Option<Arc<Transaction>>, EngineError> {
        Ok(records::load_again(&self.store, known).await?)
    }

    /// A page of an app's transactions, newest first.
    pub async fn list(&self, query: &ListQuery) -> Result<Listing, EngineError> {
        Ok(records::list(&self.store, query).await?)
    }

    /// What the provider of a connection calls its attempts, in the order of those ids, from behind `after` on; each with its
    /// transaction. Of a crypto gateway these are the addresses.
    pub async fn provider_ids(
        &self,
        connection: ConnectionId,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Arc<Transaction>, AttemptId)>, EngineError> {
        let found = records::provider_ids(&self.store, connection, after, limit).await?;
        let mut all = Vec::with_capacity(found.len());
        for (id, transaction, attempt) in found {
            // One that was deleted a moment ago has taken its names with it.
            if let Some(transaction) = self.transaction(transaction).await? {
                all.push((id, transaction, attempt));
            }
        }
        Ok(all)
    }

    /// All that happened to a transaction, oldest first.
    pub async fn timeline(&self, id: TransactionId) -> Result<Vec<Recorded>, EngineError> {
        Ok(records::timeline(&self.store, id).await?)
    }
}
