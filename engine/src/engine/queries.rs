//! Queries of stored objects.

use std::sync::Arc;

use super::{Engine, EngineError};
use switchyard_core::ids::{AttemptId, ConnectionId, TransactionId};
use switchyard_core::transaction::{Recorded, Transaction};
use switchyard_records::{self as records, ListQuery, Listing, SearchPage, SearchQuery};

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

    /// The transactions of a query one after the other, newest first, for an export. A page may
    /// have fewer items than the query's limit before the end.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn older(
        &self,
        query: &ListQuery,
        before: Option<TransactionId>,
    ) -> Result<SearchPage, EngineError> {
        Ok(records::older(self.store(), query, before).await?)
    }

    /// A page of an app's payments and payouts that a text names, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn search(&self, query: &SearchQuery) -> Result<SearchPage, EngineError> {
        let connections = self.access().connections(query.app, query.environment);
        let connections: Vec<_> = connections.iter().map(|one| one.id).collect();
        Ok(records::search(self.store(), query, &connections).await?)
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

#[cfg(test)]
mod tests {
    use switchyard_core::ids::{AttemptId, PaymentId};
    use switchyard_core::testing::amount;
    use switchyard_core::transaction::ClientContext;
    use switchyard_gateway_host::Gateways;
    use switchyard_records::Name;
    use switchyard_store::{Batch, Table};
    use ulid::Ulid;

    use super::*;
    use crate::engine::NewPayment;
    use crate::testing::{TestEngineBuilder, customer};

    #[tokio::test(flavor = "multi_thread")]
    async fn a_page_of_provider_ids_is_full_unless_it_is_the_last_whatever_was_deleted_meanwhile() {
        let test = TestEngineBuilder::with(Gateways::default()).start().await;
        let new = NewPayment {
            amount: amount(2_500, "USD"),
            description: "Two coffees".to_owned(),
            return_url: "https://shop.example/return".to_owned(),
            customer: customer(),
            metadata: std::collections::BTreeMap::new(),
            methods: Vec::new(),
            restriction: None,
            expires_in: None,
            context: ClientContext::default(),
        };
        let caller = test.caller();
        let payment = test.engine.initialize_payment(&caller, new, None).await;
        let kept = payment.unwrap().id;
        let gone = TransactionId::Payment(PaymentId::new(Ulid::from_parts(1, 9)));
        let connection = ConnectionId::new(Ulid::from_parts(1, 1));
        let attempt = AttemptId::new(Ulid::from_parts(1, 2));
        // The names of one that is being deleted stand between those of others.
        let mut batch = Batch::new();
        for (id, transaction) in [
            ("a", gone),
            ("b", kept),
            ("c", gone),
            ("d", kept),
            ("e", gone),
            ("f", kept),
            ("g", gone),
        ] {
            let name = Name::provider_id(connection, id).unwrap();
            for (key, value) in name.rows(transaction, attempt) {
                batch.put(Table::Index, key, value);
            }
        }
        test.engine.store().commit(batch).await.unwrap();
        for (limit, pages) in [
            (1, vec!["b", "d", "f"]),
            (2, vec!["bd", "f"]),
            (3, vec!["bdf"]),
            (7, vec!["bdf"]),
        ] {
            let (mut seen, mut after) = (Vec::new(), None::<String>);
            loop {
                let page = test
                    .engine
                    .provider_ids(connection, after.as_deref(), limit);
                let page = page.await.unwrap();
                seen.push(
                    page.list
                        .iter()
                        .map(|(id, ..)| id.as_str())
                        .collect::<String>(),
                );
                match page.more {
                    Some(more) => after = Some(more),
                    None => break,
                }
            }
            assert_eq!(seen, pages, "{limit} a page");
        }
    }
}
