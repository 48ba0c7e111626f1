//! Index of attempts by name: our reference, and the provider's own id, each within one connection.
//! The rows are written in the commit that makes the name known.
//!
//! A reference belongs to one attempt. A provider may use one id for several attempts, so an id has
//! a row of its own for each of them beside the row that says that the id is known. A message by id
//! alone may mean a payment or a payout, so one id of both is one id of two attempts.

use super::{RecordError, keys};
use switchyard_core::ids::{AttemptId, ConnectionId, TransactionId};
use switchyard_core::limits::ATTEMPTS_PER_ID;
use switchyard_core::transaction::{Kind, Transaction};
use switchyard_store::{Batch, Direction, Store, StoreError, Table};

/// Provider's id of an attempt at one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    connection: ConnectionId,
    kind: NameKind,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameKind {
    Reference,
    ProviderId,
}

impl Name {
    /// Our reference, however the provider writes it: without dashes, in capitals. `None`: nothing
    /// is left of it, or too much.
    pub fn reference(connection: ConnectionId, text: &str) -> Option<Self> {
        let text: String = text
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|char| char.to_ascii_lowercase())
            .collect();
        Self::new(connection, NameKind::Reference, text)
    }

    /// The provider's id, as it is.
    pub fn provider_id(connection: ConnectionId, text: &str) -> Option<Self> {
        Self::new(connection, NameKind::ProviderId, text.to_owned())
    }

    fn new(connection: ConnectionId, kind: NameKind, text: String) -> Option<Self> {
        (1..=NAME_BYTES).contains(&text.len()).then_some(Self {
            connection,
            kind,
            text,
        })
    }

    /// Key of its row in the index table.
    pub fn key(&self) -> Vec<u8> {
        let kind = match self.kind {
            NameKind::Reference => REFERENCE,
            NameKind::ProviderId => PROVIDER_ID,
        };
        keys::name(self.connection, kind, &self.text)
    }

    /// All rows that `attempt` has under this name.
    pub fn rows(
        &self,
        transaction: TransactionId,
        attempt: AttemptId,
    ) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
        let owner = row(transaction, attempt);
        let member = (self.kind == NameKind::ProviderId)
            .then(|| ([&self.members()[..], &owner[..]].concat(), Vec::new()));
        std::iter::once((self.key(), owner)).chain(member)
    }

    /// Prefix of the rows of all attempts that have this provider id.
    fn members(&self) -> Vec<u8> {
        let mut prefix = keys::name(self.connection, MEMBER, &self.text);
        prefix.push(0);
        prefix
    }

    /// The commit conflicts if an attempt has this name.
    pub fn require_unknown(&self, batch: &mut Batch) {
        batch.require_absent(Table::Index, self.key());
    }
}

/// Whether an attempt has this name. A row that cannot be read is one of an attempt, too.
pub async fn is_named(store: &Store, name: &Name) -> Result<bool, StoreError> {
    match store.get(Table::Index, &name.key()).await {
        Ok(row) => Ok(row.is_some()),
        Err(StoreError::Damaged { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

/// The attempt of this name.
pub async fn attempt_named(
    store: &Store,
    name: &Name,
) -> Result<Option<(TransactionId, AttemptId)>, RecordError> {
    let Some(row) = store.get(Table::Index, &name.key()).await? else {
        return Ok(None);
    };
    read(&row)
        .map(Some)
        .ok_or_else(|| RecordError::damaged("name", &name.text))
}

/// The attempts that have a provider id: see [`attempts_with_id`].
pub async fn all_with_id(
    store: &Store,
    name: &Name,
) -> Result<Vec<(TransactionId, AttemptId)>, RecordError> {
    let mut all = Vec::new();
    for kind in Kind::ALL {
        all.extend(attempts_with_id(store, name, kind).await?);
    }
    Ok(all)
}

/// The attempts of payments, or of payouts, that have a provider id: those of the newest
/// transactions first, at most [`ATTEMPTS_PER_ID`] of them. Old ones have ended long ago.
pub async fn attempts_with_id(
    store: &Store,
    name: &Name,
    kind: Kind,
) -> Result<Vec<(TransactionId, AttemptId)>, RecordError> {
    let prefix = name.members();
    let from = [&prefix[..], &[keys::kind_byte(kind)]].concat();
    let end = keys::after(&from);
    let (newest_first, limit) = (Direction::Backward, ATTEMPTS_PER_ID);
    let rows = store
        .scan(Table::Index, &from, &end, newest_first, limit)
        .await?;
    // A longer id that begins like this one, with a zero byte behind it, has longer keys.
    let owners = rows
        .iter()
        .filter_map(|(key, _)| read(&key[prefix.len()..]));
    Ok(owners.collect())
}

/// The provider's ids of the attempts at one connection, in order, after `after`.
pub async fn provider_ids(
    store: &Store,
    connection: ConnectionId,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<(String, TransactionId, AttemptId)>, RecordError> {
    let prefix = keys::name(connection, PROVIDER_ID, "");
    let behind =
        after.map(|after| [&keys::name(connection, PROVIDER_ID, after)[..], &[0]].concat());
    let from = behind.unwrap_or_else(|| prefix.clone());
    let end = keys::after(&prefix);
    let rows = store
        .scan(Table::Index, &from, &end, Direction::Forward, limit)
        .await?;
    rows.iter()
        .map(|(key, value)| {
            let name = String::from_utf8_lossy(&key[prefix.len()..]).into_owned();
            match read(value) {
                Some((transaction, attempt)) => Ok((name, transaction, attempt)),
                None => Err(RecordError::damaged("name", name)),
            }
        })
        .collect()
}

/// The names that `after` has and `before` had not; all of them without `before`.
pub fn new_names(before: Option<&Transaction>, after: &Transaction) -> Vec<(Name, AttemptId)> {
    let mut names = Vec::new();
    for attempt in &after.attempts {
        let known = before.and_then(|before| before.attempt(attempt.id));
        let connection = attempt.candidate.connection;
        let reference = known
            .is_none()
            .then(|| Name::reference(connection, &attempt.reference.to_string()));
        let ids_before = match (before, known) {
            (Some(before), Some(known)) => before.ids_of(known),
            _ => Vec::new(),
        };
        let mut ids = after.ids_of(attempt);
        ids.retain(|id| !ids_before.contains(id));
        let ids = ids.into_iter().map(|id| Name::provider_id(connection, id));
        let all = reference.into_iter().chain(ids).flatten();
        names.extend(all.map(|name| (name, attempt.id)));
    }
    names
}

/// Value of a name's row in the index.
pub(super) fn row(transaction: TransactionId, attempt: AttemptId) -> Vec<u8> {
    [
        &keys::transaction(transaction)[..],
        &attempt.ulid().to_bytes(),
    ]
    .concat()
}

pub(super) fn read(row: &[u8]) -> Option<(TransactionId, AttemptId)> {
    let (transaction, attempt) = row.split_at_checked(keys::TRANSACTION_BYTES)?;
    let attempt = ulid::Ulid::from_bytes(attempt.try_into().ok()?);
    Some((
        keys::read_transaction(transaction)?,
        AttemptId::new(attempt),
    ))
}

const REFERENCE: u8 = b'r';
const PROVIDER_ID: u8 = b'p';
const MEMBER: u8 = b'm';
/// Longer than any provider's id that the engine keeps.
const NAME_BYTES: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use switchyard_core::ids::{PaymentId, PayoutId};
    use switchyard_store::Batch;

    #[tokio::test]
    async fn of_many_attempts_of_an_id_the_newest_of_each_kind_are_read() {
        let store = Store::memory();
        let connection = ConnectionId::new(ulid::Ulid::from_parts(1, 1));
        let name = Name::provider_id(connection, "7").unwrap();
        let ulid = |n| ulid::Ulid::from_parts(n, 0);
        let id = |kind, n| super::super::list::id(kind, ulid(n));
        let put = |kind, n| {
            let mut batch = Batch::new();
            for (key, value) in name.rows(id(kind, n), AttemptId::new(ulid(n))) {
                batch.put(Table::Index, key, value);
            }
            batch
        };
        for kind in Kind::ALL {
            store.commit(put(kind, 1)).await.unwrap();
            let mut batch = put(kind, 2);
            name.require_unknown(&mut batch);
            assert!(store.commit(batch).await.is_err(), "{kind:?}");
        }
        let many = ATTEMPTS_PER_ID as u64 + 5;
        for n in 2..=many {
            let mut batch = Batch::new();
            let id = TransactionId::Payment(PaymentId::new(ulid(n)));
            for (key, value) in name.rows(id, AttemptId::new(ulid(n))) {
                batch.put(Table::Index, key, value);
            }
            store.commit(batch).await.unwrap();
        }
        let payouts = attempts_with_id(&store, &name, Kind::Payout).await.unwrap();
        let payout = TransactionId::Payout(PayoutId::new(ulid(1)));
        assert_eq!(payouts, [(payout, AttemptId::new(ulid(1)))]);
        let payments = attempts_with_id(&store, &name, Kind::Payment).await;
        let read: Vec<_> = payments.unwrap().iter().map(|one| one.1.ulid()).collect();
        let newest = (6..=many).rev().map(ulid);
        assert_eq!(read, newest.collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn an_id_that_a_provider_uses_twice_names_both_attempts() {
        let store = Store::memory();
        let connection = ConnectionId::new(ulid::Ulid::from_parts(1, 1));
        let payment = |n| TransactionId::Payment(PaymentId::new(ulid::Ulid::from_parts(1, n)));
        let attempt = |n| AttemptId::new(ulid::Ulid::from_parts(2, n));
        let mut batch = Batch::new();
        for (id, number) in [("7", 1), ("7", 2), ("7\0x", 3), ("77", 4)] {
            let name = Name::provider_id(connection, id).unwrap();
            for (key, value) in name.rows(payment(number), attempt(number)) {
                batch.put(Table::Index, key, value);
            }
        }
        store.commit(batch).await.unwrap();
        for (id, numbers) in [("7", vec![2, 1]), ("7\0x", vec![3]), ("77", vec![4])] {
            let name = Name::provider_id(connection, id).unwrap();
            let found = attempts_with_id(&store, &name, Kind::Payment);
            let found = found.await.unwrap();
            let owners: Vec<_> = numbers
                .into_iter()
                .map(|n| (payment(n), attempt(n)))
                .collect();
            assert_eq!(found, owners, "{id:?}");
        }
    }

    #[test]
    fn a_reference_is_the_same_name_however_the_provider_writes_it() {
        let connection = ConnectionId::new(ulid::Ulid::from_parts(1, 1));
        let ours = Name::reference(connection, "7d3f0c9e-5b1a-4a52-9d6e-0f3c8a1b2c4d");
        assert!(ours.is_some());
        let theirs = Name::reference(connection, "7D3F0C9E5B1A4A529D6E0F3C8A1B2C4D");
        assert_eq!(ours, theirs);
        assert_eq!(Name::reference(connection, "--"), None);
        assert_ne!(
            ours.map(|name| name.key()),
            Name::provider_id(connection, "7d3f0c9e5b1a4a529d6e0f3c8a1b2c4d")
                .map(|name| name.key()),
            "what one calls it and what the other calls it do not meet"
        );
    }
}
