//! What is stored, as it is stored.

use std::sync::Arc;

use super::{Engine, EngineError};
use crate::ids::TransactionId;
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

    /// A page of an app's transactions, newest first.
    pub async fn list(&self, query: &ListQuery) -> Result<Listing, EngineError> {
        Ok(records::list(&self.store, query).await?)
    }

    /// All that happened to a transaction, oldest first.
    pub async fn timeline(&self, id: TransactionId) -> Result<Vec<Recorded>, EngineError> {
        Ok(records::timeline(&self.store, id).await?)
    }
}
