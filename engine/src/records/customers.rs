//! Customers: one for each e-mail address, app and environment.

use super::{RecordError, keys};
use crate::clock::Timestamp;
use crate::environment::Environment;
use crate::ids::{AppId, CustomerId, Ids};
use crate::store::{Batch, Store, Table};
use crate::transaction::Customer;

/// A customer as a request gives them, already checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewCustomer {
    pub first_name: String,
    pub last_name: String,
    pub email: String,
    pub phone: Option<String>,
    pub address: Option<String>,
    pub city: Option<String>,
    pub state: Option<String>,
    /// ISO 3166-1 alpha-2.
    pub country_code: Option<String>,
    pub zip_code: Option<String>,
}

/// A customer with their id.
pub struct Registered {
    /// What this request says of them, and no more: another request's address is not shown to whoever knows the e-mail address.
    pub customer: Customer,
}

/// Finds or makes the customer with this e-mail address and adds what changed to `batch`. Two requests for a new address at once: the
/// second commit is a conflict, and its caller begins again.
pub async fn register(
    store: &Store,
    batch: &mut Batch,
    owner: (AppId, Environment),
    new: NewCustomer,
    now: Timestamp,
    ids: &Ids,
) -> Result<Registered, RecordError> {
    let (app, environment) = owner;
    let index = keys::email(app, environment, &new.email);
    let known = store.get(Table::Index, &index).await?;
    let Some(known) = known else {
        let id = CustomerId::new(ids.ulid(now));
        let customer = new.into_customer(id, now, now);
        batch.require_absent(Table::Index, index.clone());
        batch.put(Table::Index, index, id.ulid().to_bytes());
        put(batch, app, environment, &customer)?;
        return Ok(Registered { customer });
    };
    let damaged = || RecordError::damaged("customer with e-mail", &new.email);
    let id = CustomerId::new(ulid::Ulid::from_bytes(
        known.as_slice().try_into().map_err(|_| damaged())?,
    ));
    let row = store
        .get(Table::Customer, &keys::customer(app, environment, id))
        .await?;
    let stored: Option<Customer> = row
        .map(|row| serde_json::from_slice(&row))
        .transpose()
        .map_err(|_| damaged())?;
    let created_at = stored.as_ref().map_or(now, |stored| stored.created_at);
    let customer = new.into_customer(id, created_at, now);
    match stored {
        Some(stored) if !brings_news(&stored, &customer, now) => {}
        stored => put(batch, app, environment, &merge(stored, customer.clone()))?,
    }
    Ok(Registered { customer })
}

impl NewCustomer {
    fn into_customer(
        self,
        id: CustomerId,
        created_at: Timestamp,
        updated_at: Timestamp,
    ) -> Customer {
        Customer {
            id,
            first_name: self.first_name,
            last_name: self.last_name,
            email: self.email,
            phone: self.phone,
            address: self.address,
            city: self.city,
            state: self.state,
            country_code: self.country_code,
            zip_code: self.zip_code,
            created_at,
            updated_at,
        }
    }
}

/// The stored row is written again when something is new, or once a day: the day a sandbox customer was last seen counts for deletion.
fn brings_news(stored: &Customer, now_known: &Customer, now: Timestamp) -> bool {
    let merged = merge(Some(stored.clone()), now_known.clone());
    let same = Customer {
        updated_at: stored.updated_at,
        ..merged
    } == *stored;
    !same || now.since(stored.updated_at) > std::time::Duration::from_secs(24 * 60 * 60)
}

fn merge(stored: Option<Customer>, new: Customer) -> Customer {
    let Some(stored) = stored else { return new };
    Customer {
        phone: new.phone.or(stored.phone),
        address: new.address.or(stored.address),
        city: new.city.or(stored.city),
        state: new.state.or(stored.state),
        country_code: new.country_code.or(stored.country_code),
        zip_code: new.zip_code.or(stored.zip_code),
        ..new
    }
}

fn put(
    batch: &mut Batch,
    app: AppId,
    environment: Environment,
    customer: &Customer,
) -> Result<(), RecordError> {
    let row =
        serde_json::to_vec(customer).map_err(|_| RecordError::damaged("customer", customer.id))?;
    batch.put(
        Table::Customer,
        keys::customer(app, environment, customer.id),
        row,
    );
    Ok(())
}
