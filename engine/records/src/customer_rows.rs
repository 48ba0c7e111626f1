//! Customers of an app: their list, one by id or e-mail address, and deletion.

use super::customers::{Stored, id_in, load};
use super::{RecordError, keys};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, CustomerId};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Customer;
use switchyard_store::{Batch, Direction, Store, Table};

/// Which customers, and which page of them.
#[derive(Clone, Copy, Debug)]
pub struct CustomerQuery {
    pub app: AppId,
    pub environment: Environment,
    /// Exclusive upper bound: only customers that were created before this one.
    pub before: Option<CustomerId>,
    /// Customers a page, at least 1.
    pub limit: usize,
}

/// A customer as requests described them, all together.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCustomer {
    pub customer: Customer,
    /// Time of the last request about them, to about a day.
    pub seen_at: Timestamp,
}

/// The customers of an app, newest first.
///
/// # Errors
/// When the store cannot be read.
pub async fn customers(
    store: &Store,
    query: &CustomerQuery,
) -> Result<Vec<StoredCustomer>, RecordError> {
    let start = keys::customer_prefix(query.app, query.environment);
    let end = match query.before {
        Some(before) => keys::customer(query.app, query.environment, before),
        None => keys::after(&start),
    };
    let rows = store.scan(
        Table::Customer,
        &start,
        &end,
        Direction::Backward,
        query.limit,
    );
    let read = |(key, row): &(Vec<u8>, Vec<u8>)| {
        let stored: Stored = serde_json::from_slice(row)
            .map_err(|_| RecordError::damaged("customer", format!("{key:02x?}")))?;
        Ok(StoredCustomer::from(stored))
    };
    rows.await?.iter().map(read).collect()
}

/// A customer of an app.
///
/// # Errors
/// When the store cannot be read.
pub async fn customer(
    store: &Store,
    owner: (AppId, Environment),
    id: CustomerId,
) -> Result<Option<StoredCustomer>, RecordError> {
    Ok(load(store, owner, id).await?.map(StoredCustomer::from))
}

/// The customer of an app who has this e-mail address, in any case of its letters.
///
/// # Errors
/// When the store cannot be read.
pub async fn customer_with_email(
    store: &Store,
    owner: (AppId, Environment),
    email: &str,
) -> Result<Option<StoredCustomer>, RecordError> {
    let (app, environment) = owner;
    let index = keys::email(app, environment, email);
    match store.get(Table::Index, &index).await? {
        Some(entry) => customer(store, owner, id_in(&entry, email)?).await,
        None => Ok(None),
    }
}

/// Adds the deletion of the e-mail address of a customer to `batch`: later requests with it make
/// another customer. The commit conflicts when the entry changes until then.
///
/// # Errors
/// When the store cannot be read.
pub async fn forget_email(
    store: &Store,
    batch: &mut Batch,
    (app, environment): (AppId, Environment),
    customer: &Customer,
) -> Result<(), RecordError> {
    let index = keys::email(app, environment, &customer.email);
    let Some(entry) = store.get(Table::Index, &index).await? else {
        return Ok(());
    };
    // It may be that of a customer who came later.
    if id_in(&entry, &customer.email)? == customer.id {
        batch.require_value(Table::Index, &index, entry);
        batch.delete(Table::Index, index);
    }
    Ok(())
}

/// Adds the deletion of the row of a customer to `batch`.
pub fn delete_customer(
    batch: &mut Batch,
    (app, environment): (AppId, Environment),
    id: CustomerId,
) {
    batch.delete(Table::Customer, keys::customer(app, environment, id));
}

impl From<Stored> for StoredCustomer {
    fn from(stored: Stored) -> Self {
        Self {
            seen_at: stored.seen_at(),
            customer: stored.customer,
        }
    }
}
