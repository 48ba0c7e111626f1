//! Customers: one for each e-mail address, app and environment.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{RecordError, keys};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, CustomerId};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Customer;
use switchyard_store::{Batch, Store, Table};
use switchyard_system::ids::Ids;

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
    /// Customer as this request describes them: data of other requests is not shown to a client
    /// that only has the e-mail address.
    pub customer: Customer,
}

/// Finds or makes the customer with this e-mail address and adds what changed to `batch`. Two
/// requests for a new address at once: the second commit is a conflict, and its caller begins
/// again.
///
/// A returning customer with unchanged details, the usual case, is served from the index entry
/// alone: it has the time of creation and a digest of the last request.
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
    let content = digest(&new);
    let known = store.get(Table::Index, &index).await?;
    let Some(known) = known else {
        let line = IndexEntry {
            id: CustomerId::new(ids.ulid(now)),
            last: Some(CustomerSummary {
                created_at: now,
                seen_at: now,
                content,
                updated_at: now,
            }),
        };
        let customer = new.into_customer(line.id, now, now);
        batch.require_absent(Table::Index, &index);
        batch.put(Table::Index, index, line.to_bytes());
        put(batch, owner, Stored::at(customer.clone(), now))?;
        return Ok(Registered { customer });
    };
    // An erasure deletes the entry first, so that it finds each transaction of the customer.
    batch.require_value(Table::Index, &index, &known);
    let damaged = || RecordError::damaged("customer with e-mail", &new.email);
    let IndexEntry { id, last } = IndexEntry::read(&known).ok_or_else(damaged)?;
    if let Some(last) = last.filter(|last| last.content == content && !is_stale(last.seen_at, now))
    {
        let customer = new.into_customer(id, last.created_at, last.updated_at);
        return Ok(Registered { customer });
    }
    let stored = load(store, owner, id).await?;
    let seen_at = stored.as_ref().map_or(now, Stored::seen_at);
    let stored = stored.map(|stored| stored.customer);
    let created_at = stored.as_ref().map_or(now, |stored| stored.created_at);
    let customer = new.into_customer(id, created_at, now);
    let merged = merge(stored.clone(), customer.clone());
    let updated_at = match &stored {
        Some(stored) if is_same(stored, &merged) => stored.updated_at,
        _ => now,
    };
    // The row is written again when something is new, or once a day: the day a sandbox customer was
    // last seen counts for deletion.
    let writes = updated_at == now || is_stale(seen_at, now);
    let seen_at = if writes { now } else { seen_at };
    if writes {
        let merged = Customer {
            updated_at,
            ..merged
        };
        put(batch, owner, Stored::at(merged, seen_at))?;
    }
    let last = Some(CustomerSummary {
        created_at,
        seen_at,
        content,
        updated_at,
    });
    batch.put(Table::Index, index, IndexEntry { id, last }.to_bytes());
    Ok(Registered {
        customer: Customer {
            updated_at,
            ..customer
        },
    })
}

pub(super) async fn load(
    store: &Store,
    (app, environment): (AppId, Environment),
    id: CustomerId,
) -> Result<Option<Stored>, RecordError> {
    let row = store
        .get(Table::Customer, &keys::customer(app, environment, id))
        .await?;
    row.map(|row| serde_json::from_slice(&row))
        .transpose()
        .map_err(|_| RecordError::damaged("customer", id))
}

/// The e-mail address of a customer.
pub(super) async fn email_of(
    store: &Store,
    owner: (AppId, Environment),
    id: CustomerId,
) -> Result<Option<String>, RecordError> {
    let stored = load(store, owner, id).await?;
    Ok(stored.map(|stored| stored.customer.email))
}

/// The customer of an entry of the index by e-mail address.
pub(super) fn id_in(entry: &[u8], email: &str) -> Result<CustomerId, RecordError> {
    let entry = IndexEntry::read(entry);
    let entry = entry.ok_or_else(|| RecordError::damaged("customer with e-mail", email))?;
    Ok(entry.id)
}

/// A customer's row.
#[derive(Serialize, Deserialize)]
pub(super) struct Stored {
    #[serde(flatten)]
    pub customer: Customer,
    /// When they were last seen, to about a day. Rows of earlier versions have none: then every
    /// visit was an update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen_at: Option<Timestamp>,
}

impl Stored {
    pub fn at(customer: Customer, seen_at: Timestamp) -> Self {
        Self {
            customer,
            seen_at: Some(seen_at),
        }
    }

    pub fn seen_at(&self) -> Timestamp {
        self.seen_at.unwrap_or(self.customer.updated_at)
    }
}

/// A customer's line in the e-mail index.
struct IndexEntry {
    id: CustomerId,
    /// Lines of earlier versions have none.
    last: Option<CustomerSummary>,
}

/// Summary of a customer without a read of their row.
struct CustomerSummary {
    created_at: Timestamp,
    /// When the row was written last.
    seen_at: Timestamp,
    /// The [`digest`] of what the last request said.
    content: u64,
    /// When the customer's details changed last.
    updated_at: Timestamp,
}

impl IndexEntry {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.id.ulid().to_bytes().to_vec();
        if let Some(last) = &self.last {
            bytes.extend(last.created_at.as_micros().to_be_bytes());
            bytes.extend(last.seen_at.as_micros().to_be_bytes());
            bytes.extend(last.content.to_be_bytes());
            bytes.extend(last.updated_at.as_micros().to_be_bytes());
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (id, rest) = bytes.split_first_chunk()?;
        let id = CustomerId::new(ulid::Ulid::from_bytes(*id));
        if rest.is_empty() {
            return Some(Self { id, last: None });
        }
        let (created_at, rest) = rest.split_first_chunk()?;
        let (seen_at, rest) = rest.split_first_chunk()?;
        let (content, rest) = rest.split_first_chunk()?;
        // An earlier version wrote the row when it saw the customer, and called that an update.
        let updated_at = if rest.is_empty() {
            seen_at
        } else {
            rest.try_into().ok()?
        };
        let last = CustomerSummary {
            created_at: Timestamp::from_micros(i64::from_be_bytes(*created_at)),
            seen_at: Timestamp::from_micros(i64::from_be_bytes(*seen_at)),
            content: u64::from_be_bytes(*content),
            updated_at: Timestamp::from_micros(i64::from_be_bytes(*updated_at)),
        };
        let last = Some(last);
        Some(Self { id, last })
    }
}

/// Digest of a request's customer fields. Different requests share one about never; in that case
/// the later request's changes wait for the next day's write of the row, and its own transaction
/// has them nevertheless.
fn digest(new: &NewCustomer) -> u64 {
    let given = [&new.first_name, &new.last_name, &new.email].map(Some);
    let may_be_given = [
        new.phone.as_ref(),
        new.address.as_ref(),
        new.city.as_ref(),
        new.state.as_ref(),
        new.country_code.as_ref(),
        new.zip_code.as_ref(),
    ];
    // The digest of one field is the seed of the next. No text is the byte 255, so a missing field
    // differs from an empty one.
    let fields = given.into_iter().chain(may_be_given);
    fields.fold(0, |so_far, field| {
        xxh3_64_with_seed(field.map_or(&[u8::MAX][..], |text| text.as_bytes()), so_far)
    })
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

impl From<Customer> for NewCustomer {
    fn from(customer: Customer) -> Self {
        Self {
            first_name: customer.first_name,
            last_name: customer.last_name,
            email: customer.email,
            phone: customer.phone,
            address: customer.address,
            city: customer.city,
            state: customer.state,
            country_code: customer.country_code,
            zip_code: customer.zip_code,
        }
    }
}

/// Whether they differ in nothing but the time of the last update.
fn is_same(stored: &Customer, merged: &Customer) -> bool {
    let merged = Customer {
        updated_at: stored.updated_at,
        ..merged.clone()
    };
    merged == *stored
}

fn is_stale(seen_at: Timestamp, now: Timestamp) -> bool {
    now.since(seen_at) > Duration::from_secs(24 * 60 * 60)
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
    (app, environment): (AppId, Environment),
    stored: Stored,
) -> Result<(), RecordError> {
    let id = stored.customer.id;
    let row = serde_json::to_vec(&stored).map_err(|_| RecordError::damaged("customer", id))?;
    batch.put(Table::Customer, keys::customer(app, environment, id), row);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::customer_rows::forget_email;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn new(phone: Option<&str>) -> NewCustomer {
        NewCustomer {
            first_name: "Awa".to_owned(),
            last_name: "Diop".to_owned(),
            email: "awa@example.com".to_owned(),
            phone: phone.map(str::to_owned),
            ..NewCustomer::default()
        }
    }

    struct Fixture {
        store: Store,
        ids: Ids,
        owner: (AppId, Environment),
    }

    impl Fixture {
        fn open() -> Self {
            let ids = Ids::seeded(1);
            let app = AppId::new(ids.ulid(at(0)));
            Self {
                store: Store::memory(),
                owner: (app, Environment::Live),
                ids,
            }
        }

        /// The customer as the request sees them, and whether anything was written.
        async fn register(&self, new: NewCustomer, now: Timestamp) -> (Customer, bool) {
            let mut batch = Batch::new();
            let index = keys::email(self.owner.0, self.owner.1, &new.email);
            let before = self.store.get(Table::Index, &index).await.unwrap();
            let made = register(&self.store, &mut batch, self.owner, new, now, &self.ids);
            let customer = made.await.unwrap().customer;
            self.store.commit(batch).await.unwrap();
            let after = self.store.get(Table::Index, &index).await.unwrap();
            (customer, before != after)
        }

        async fn row(&self, id: CustomerId) -> Stored {
            let key = keys::customer(self.owner.0, self.owner.1, id);
            let row = self.store.get(Table::Customer, &key).await.unwrap();
            serde_json::from_slice(&row.unwrap()).unwrap()
        }

        async fn stored(&self, id: CustomerId) -> Customer {
            self.row(id).await.customer
        }
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_seconds(1_700_000_000).plus(Duration::from_secs(seconds))
    }

    #[tokio::test]
    async fn who_comes_back_with_the_same_details_writes_nothing() {
        let fixture = Fixture::open();
        let (first, _) = fixture.register(new(Some("+22997000001")), at(0)).await;
        let (again, wrote) = fixture.register(new(Some("+22997000001")), at(60)).await;
        assert_eq!((again.id, again.created_at), (first.id, first.created_at));
        assert_eq!(again.updated_at, at(0), "nothing changed");
        assert!(!wrote);
    }

    #[tokio::test]
    async fn a_customer_is_updated_when_their_details_change_and_at_no_other_time() {
        let fixture = Fixture::open();
        let (phone, other) = (Some("+22997000001"), Some("+22997000002"));
        let table = [
            (phone, at(0), at(0)),
            (phone, at(60), at(0)),
            // Silence takes nothing back, and is no news.
            (None, at(120), at(0)),
            (None, at(180), at(0)),
            (other, at(240), at(240)),
            (other, at(300), at(240)),
            (other, at(300).plus(DAY * 2), at(240)),
            (other, at(360).plus(DAY * 2), at(240)),
        ];
        for (phone, now, updated_at) in table {
            let (customer, _) = fixture.register(new(phone), now).await;
            assert_eq!(customer.updated_at, updated_at, "{phone:?} {now:?}");
            assert_eq!(fixture.stored(customer.id).await.updated_at, updated_at);
        }
    }

    #[tokio::test]
    async fn rows_and_lines_of_an_earlier_version_are_read() {
        let fixture = Fixture::open();
        let (first, _) = fixture.register(new(None), at(0)).await;
        let index = keys::email(fixture.owner.0, fixture.owner.1, "awa@example.com");
        let line = fixture
            .store
            .get(Table::Index, &index)
            .await
            .unwrap()
            .unwrap();
        let mut batch = Batch::new();
        batch.put(Table::Index, &index, &line[..40]);
        let row = serde_json::to_vec(&first).unwrap();
        batch.put(
            Table::Customer,
            keys::customer(fixture.owner.0, fixture.owner.1, first.id),
            row,
        );
        fixture.store.commit(batch).await.unwrap();
        assert_eq!(fixture.row(first.id).await.seen_at(), at(0));
        let (again, wrote) = fixture.register(new(None), at(60)).await;
        assert_eq!((again, wrote), (first, false));
    }

    #[tokio::test]
    async fn news_of_a_customer_is_kept_and_silence_takes_nothing_back() {
        let fixture = Fixture::open();
        let (first, _) = fixture.register(new(Some("+22997000001")), at(0)).await;
        let (silent, _) = fixture.register(new(None), at(60)).await;
        assert_eq!((silent.id, silent.phone), (first.id, None));
        assert_eq!(fixture.stored(first.id).await, first);
        let (_, wrote) = fixture.register(new(Some("+22997000002")), at(120)).await;
        assert!(wrote);
        let stored = fixture.stored(first.id).await;
        assert_eq!(stored.phone.as_deref(), Some("+22997000002"));
        assert_eq!(
            (stored.created_at, stored.updated_at),
            (first.created_at, at(120))
        );
    }

    #[tokio::test]
    async fn a_day_later_the_row_says_when_the_customer_was_seen() {
        let fixture = Fixture::open();
        let (first, _) = fixture.register(new(None), at(0)).await;
        let later = at(1).plus(DAY);
        fixture.register(new(None), later).await;
        assert_eq!(fixture.row(first.id).await.seen_at(), later);
        assert_eq!(fixture.stored(first.id).await.updated_at, at(0));
        let (_, wrote) = fixture.register(new(None), later).await;
        assert!(!wrote);
    }

    #[tokio::test]
    async fn a_line_of_an_earlier_version_finds_its_customer() {
        let fixture = Fixture::open();
        let (first, _) = fixture.register(new(None), at(0)).await;
        let index = keys::email(fixture.owner.0, fixture.owner.1, "awa@example.com");
        let mut batch = Batch::new();
        batch.put(Table::Index, &index, first.id.ulid().to_bytes());
        fixture.store.commit(batch).await.unwrap();
        let (again, _) = fixture.register(new(None), at(60)).await;
        assert_eq!((again.id, again.created_at), (first.id, first.created_at));
    }

    #[tokio::test]
    async fn a_request_that_was_read_before_its_customer_was_forgotten_begins_again() {
        let fixture = Fixture::open();
        let (first, _) = fixture.register(new(None), at(0)).await;
        let (store, owner) = (&fixture.store, fixture.owner);
        let mut late = Batch::new();
        register(store, &mut late, owner, new(None), at(60), &fixture.ids)
            .await
            .unwrap();
        let mut batch = Batch::new();
        forget_email(store, &mut batch, owner, &first)
            .await
            .unwrap();
        store.commit(batch).await.unwrap();
        assert!(
            store.commit(late).await.is_err(),
            "it would name the customer"
        );
        let (again, _) = fixture.register(new(None), at(60)).await;
        assert_ne!(again.id, first.id);
        // The entry of the other one stays.
        let mut batch = Batch::new();
        forget_email(store, &mut batch, owner, &first)
            .await
            .unwrap();
        assert!(batch.is_empty());
    }

    #[test]
    fn borders_between_fields_count_in_a_digest() {
        let moved = NewCustomer {
            address: Some("+22997000001".to_owned()),
            ..new(None)
        };
        let all = [new(None), new(Some("")), new(Some("+22997000001")), moved];
        let digests: std::collections::BTreeSet<u64> = all.iter().map(digest).collect();
        assert_eq!(digests.len(), all.len());
    }
}
