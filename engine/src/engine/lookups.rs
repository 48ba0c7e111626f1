//! Queries of stored objects.

use std::sync::Arc;

use super::{Engine, EngineError};
use crate::ids::{AttemptId, ConnectionId, TransactionId};
use crate::records::{self, ListQuery, Listing};
use crate::transaction::{Recorded, Transaction};

/// A page of what a provider calls attempts.
pub struct ProviderIds {
    pub list: Vec<(String, Arc<Transaction>, AttemptId)>,
    /// The last one, when others are behind it.
    pub more: Option<String>,
}

impl Engine {
    /// A transaction as it is stored.
    pub async fn transaction(
        &self,
        id: TransactionId,
    ) -> Result<Option<Arc<Transaction>>, EngineError> {
        Ok(records::load(self.store(), id).await?.map(Arc::new))
    }

    /// A transaction that was read before, as it is stored now.
    pub async fn transaction_again(
        &self,
        known: &Arc<Transaction>,
    ) -> Result<Option<Arc<Transaction>>, EngineError> {
        Ok(records::load_again(self.store(), known).await?)
    }

    /// A page of an app's transactions, newest first.
    pub async fn list(&self, query: &ListQuery) -> Result<Listing, EngineError> {
        Ok(records::list(self.store(), query).await?)
    }

    /// The provider's ids of a connection's attempts, in order, after `after`, each with its
    /// transaction. Of a crypto gateway these are the addresses. A page has `limit` entries unless
    /// it is the last one.
    pub async fn provider_ids(
        &self,
        connection: ConnectionId,
        after: Option<&str>,
        limit: usize,
    ) -> Result<ProviderIds, EngineError> {
        let mut all = Vec::new();
        let mut behind = after.map(str::to_owned);
        // One more than the page holds: it says whether there is another page.
        while all.len() <= limit {
            let wanted = limit + 1 - all.len();
            let found =
                records::provider_ids(self.store(), connection, behind.as_deref(), wanted).await?;
            let is_end = found.len() < wanted;
            behind = found.last().map(|(id, ..)| id.clone());
            for (id, transaction, attempt) in found {
                // A transaction that was deleted a moment ago has taken its names with it.
                if let Some(transaction) = self.transaction(transaction).await? {
                    all.push((id, transaction, attempt));
                }
            }
            if is_end {
                break;
            }
        }
        let has_more = all.len() > limit;
        all.truncate(limit);
        let more = all.last().filter(|_| has_more).map(|(id, ..)| id.clone());
        Ok(ProviderIds { list: all, more })
    }

    /// All events of a transaction, oldest first.
    pub async fn timeline(&self, id: TransactionId) -> Result<Vec<Recorded>, EngineError> {
        Ok(records::timeline(self.store(), id).await?)
    }
}
