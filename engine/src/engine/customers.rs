//! Customers of an app, and the erasure of their personal data.

use std::collections::BTreeSet;

use super::{Engine, EngineError};
use crate::mail;
use crate::webhook::EraseError;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, CustomerId, TransactionId};
use switchyard_core::transaction::{Operator, Transaction};
use switchyard_gateway_host::erase_calls;
use switchyard_records::{
    self as records, CustomerQuery, SearchPage, SearchQuery, SearchText, StoredCustomer,
};
use switchyard_store::{Batch, CommitError};

/// Result of an erasure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erasure {
    /// Number of transactions whose personal data was erased now.
    pub erased: u64,
    /// Transactions that keep their personal data for now: they have not ended, have an open case,
    /// or their webhooks or mails are still to be sent. At most [`LISTED`].
    pub kept: Vec<TransactionId>,
    /// Number of the transactions that keep their personal data.
    pub kept_count: u64,
}

/// Result of the request to erase a customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErasedCustomer {
    /// There is no such customer.
    Unknown,
    /// The engine is held after a restore: providers are still asked about transactions.
    Held,
    Erased(Erasure),
}

impl Engine {
    /// The customers of an app, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn customers(
        &self,
        query: &CustomerQuery,
    ) -> Result<Vec<StoredCustomer>, EngineError> {
        Ok(records::customers(self.store(), query).await?)
    }

    /// A customer of an app.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn customer(
        &self,
        owner: (AppId, Environment),
        id: CustomerId,
    ) -> Result<Option<StoredCustomer>, EngineError> {
        Ok(records::customer(self.store(), owner, id).await?)
    }

    /// The customer of an app with this e-mail address, in any case of its letters.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn customer_with_email(
        &self,
        owner: (AppId, Environment),
        email: &str,
    ) -> Result<Option<StoredCustomer>, EngineError> {
        Ok(records::customer_with_email(self.store(), owner, email).await?)
    }

    /// A page of the payments and payouts of a customer, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn transactions_of_customer(
        &self,
        (app, environment): (AppId, Environment),
        customer: CustomerId,
        before: Option<TransactionId>,
        limit: usize,
    ) -> Result<SearchPage, EngineError> {
        let query = SearchQuery {
            app,
            environment,
            kind: None,
            text: SearchText::of_customer(customer),
            before,
            limit,
        };
        self.search(&query).await
    }

    /// Erases the personal data of a customer from their ended transactions and from the calls to
    /// providers, webhooks and mails about them, and deletes the callbacks. The customer is deleted
    /// when no transaction needs the data any more. Calling it again continues. `by`: the person,
    /// for the timeline.
    ///
    /// # Errors
    /// When the store cannot be read or written. A part may be erased then.
    pub async fn erase_customer(
        &self,
        owner: (AppId, Environment),
        id: CustomerId,
        by: &Operator,
    ) -> Result<ErasedCustomer, EngineError> {
        if self.hold().state().is_some() {
            return Ok(ErasedCustomer::Held);
        }
        let Some(known) = self.customer(owner, id).await? else {
            return Ok(ErasedCustomer::Unknown);
        };
        // After this commit no new transaction is of this customer.
        let mut batch = Batch::new();
        records::forget_email(self.store(), &mut batch, owner, &known.customer).await?;
        if !batch.is_empty() {
            self.store().commit(batch).await?;
        }
        let waiting = self.with_waiting_messages(owner.0).await?;
        let mut erasure = Erasure::default();
        let mut ended = BTreeSet::new();
        for tx in self.all_of_customer(owner, id).await? {
            let Some(tx) = self.transaction(tx).await? else {
                continue;
            };
            match records::needs_personal_data(&tx) || waiting.contains(&tx.id.ulid()) {
                true => erasure.keep(tx.id),
                false => drop(ended.insert(tx.id)),
            }
        }
        // The transactions are last: the search finds them by the data that is erased.
        self.erase_webhooks(owner, &ended).await?;
        mail::erase(self.store(), owner.1, &ended).await?;
        for id in ended {
            self.delete_callbacks_about(id).await?;
            match self.erase_transaction(id, by).await? {
                true => erasure.erased += 1,
                false => erasure.keep(id),
            }
        }
        if erasure.kept_count == 0 {
            let mut batch = Batch::new();
            records::delete_customer(&mut batch, owner, id);
            self.store().commit(batch).await?;
        }
        Ok(ErasedCustomer::Erased(erasure))
    }

    /// Ids of all transactions of a customer.
    async fn all_of_customer(
        &self,
        owner: (AppId, Environment),
        id: CustomerId,
    ) -> Result<Vec<TransactionId>, EngineError> {
        let (mut all, mut before) = (Vec::new(), None);
        loop {
            let page = self
                .transactions_of_customer(owner, id, before, PAGE)
                .await?;
            all.extend(page.items.iter().map(|tx| tx.id));
            before = page.more;
            if before.is_none() {
                return Ok(all);
            }
        }
    }

    /// Ulids of the transactions with webhooks of the app, or mails, that are still to be sent.
    async fn with_waiting_messages(&self, app: AppId) -> Result<BTreeSet<ulid::Ulid>, EngineError> {
        let mut waiting = mail::waiting(self.store()).await?;
        for webhook in self.access().webhooks(app)? {
            let of_webhook = self.webhooks().waiting(webhook.id).await;
            waiting.extend(of_webhook.map_err(EraseError::from)?);
        }
        Ok(waiting)
    }

    async fn erase_webhooks(
        &self,
        (app, environment): (AppId, Environment),
        transactions: &BTreeSet<TransactionId>,
    ) -> Result<(), EngineError> {
        if transactions.is_empty() {
            return Ok(());
        }
        for webhook in self.access().webhooks(app)? {
            let of = (webhook.id, environment);
            self.webhooks().erase_bodies(of, transactions).await?;
        }
        Ok(())
    }

    /// `false`: the transaction needs its personal data again, or changed each time.
    async fn erase_transaction(
        &self,
        id: TransactionId,
        by: &Operator,
    ) -> Result<bool, EngineError> {
        for _ in 0..TRIES {
            let Some(tx) = records::load(self.store(), id).await? else {
                return Ok(true);
            };
            if records::needs_personal_data(&tx) {
                return Ok(false);
            }
            match self.store().commit(self.erased(&tx, by).await?).await {
                Err(CommitError::Conflict) => {}
                committed => {
                    committed?;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    async fn erased(&self, tx: &Transaction, by: &Operator) -> Result<Batch, EngineError> {
        let mut batch = Batch::new();
        let now = self.clock().now();
        records::erase(self.store(), &mut batch, tx, by.clone(), now).await?;
        for attempt in &tx.attempts {
            erase_calls(self.store(), &mut batch, tx.id, attempt.id).await?;
        }
        Ok(batch)
    }
}

impl Erasure {
    fn keep(&mut self, id: TransactionId) {
        self.kept_count += 1;
        if self.kept.len() < LISTED {
            self.kept.push(id);
        }
    }
}

/// Transactions that are named in a result.
pub const LISTED: usize = 20;
/// Transactions that are read at once.
const PAGE: usize = 100;
const TRIES: usize = 5;
