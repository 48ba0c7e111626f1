//! Rows of callbacks in [`Table::Callback`]. The first byte of a key is the kind of the row:
//!
//! | key | row |
//! |---|---|
//! | `n<connection><callback>` | the callback, with a version |
//! | `b<connection><callback>` | the sealed request; written once |
//! | `k<connection><state><callback>` | list of one state |
//! | `q<connection><due time><callback>` | queue; the value is the size in bytes |
//! | `p<name of an attempt>\0<callback>` | callback parked for a transaction of that name |
//! | `s<connection><callback>` | dead letter; the value is the gateway version that failed |
//! | `t<transaction>/<callback>` | callback of a transaction; the value is the connection |
//!
//! All rows but the first two are derived from the first: [`write()`] computes them before and
//! after a change and writes the difference in one batch.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::access::Sealed;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, AttemptId, CallbackId, ConnectionId, TransactionId};
use switchyard_core::limits::CALLBACKS_PER_TRANSACTION;
use switchyard_core::time::Timestamp;
use switchyard_gateway_host::ShownRequest;
use switchyard_records::{Name, RecordError};
use switchyard_store::{Batch, Direction, Key, KeyRange, KeyReader, Store, StoreError, Table};

/// Request from a provider, with the result of its processing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Callback {
    pub id: CallbackId,
    pub connection: ConnectionId,
    pub app: AppId,
    pub environment: Environment,
    pub gateway: String,
    pub received_at: Timestamp,
    /// Address of the sender.
    pub from: Option<String>,
    pub bytes: u32,
    /// Request as received, sealed. Stored in a row of its own, which is written once.
    #[serde(skip)]
    pub(super) raw: Sealed,
    pub state: CallbackState,
    /// Number of tries at which the gateway failed.
    pub tries: u32,
    pub next_try_at: Option<Timestamp>,
    pub dealt_with_at: Option<Timestamp>,
    /// Whether the gateway verified the callback; `None` until it has answered.
    pub trusted: Option<bool>,
    pub reference: Option<String>,
    pub provider_id: Option<String>,
    pub transaction: Option<TransactionId>,
    pub attempt: Option<AttemptId>,
    /// Result of the processing, or the reason why it had no effect.
    pub note: Option<String>,
    /// Request without its secrets, once the gateway has read it.
    pub request: Option<ShownRequest>,
    /// SHA-256 of the gateway version that failed at the last try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_version: Option<String>,
    /// Whether the callback is parked until a transaction with its name appears.
    pub awaits: bool,
    /// Version of the row: number of writes.
    #[serde(skip)]
    pub(super) version: u64,
}

/// State of a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallbackState {
    /// Queued.
    Waiting,
    /// Processed, with a known transaction.
    Matched,
    /// Processed, without a known attempt.
    Unmatched,
    /// Rejected by the gateway, or dead-lettered after the last try.
    Refused,
    /// Sent by the provider, but irrelevant to the engine.
    Ignored,
}

impl CallbackState {
    pub const ALL: [Self; 5] = [
        Self::Waiting,
        Self::Matched,
        Self::Unmatched,
        Self::Refused,
        Self::Ignored,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Matched => "matched",
            Self::Unmatched => "unmatched",
            Self::Refused => "refused",
            Self::Ignored => "ignored",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Byte of the state on disk. Never changes.
    const fn letter(self) -> u8 {
        match self {
            Self::Waiting => b'w',
            Self::Matched => b'm',
            Self::Unmatched => b'u',
            Self::Refused => b'r',
            Self::Ignored => b'i',
        }
    }

    fn of_letter(letter: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.letter() == letter)
    }
}

/// Key of a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CallbackKey {
    pub connection: ConnectionId,
    pub callback: CallbackId,
}

impl Callback {
    pub(super) fn which(&self) -> CallbackKey {
        CallbackKey {
            connection: self.connection,
            callback: self.id,
        }
    }

    fn is_put_down(&self) -> bool {
        self.state == CallbackState::Refused
    }

    /// Names that identify the attempt.
    pub(super) fn names(&self) -> Vec<Name> {
        let names = [self.reference_name(), self.id_name()];
        names.into_iter().flatten().collect()
    }

    /// Our reference, as given in the callback.
    pub(super) fn reference_name(&self) -> Option<Name> {
        Name::reference(self.connection, self.reference.as_deref()?)
    }

    /// The provider's id, as given in the callback.
    pub(super) fn id_name(&self) -> Option<Name> {
        Name::provider_id(self.connection, self.provider_id.as_deref()?)
    }

    /// Rows derived from the callback.
    fn derived(&self) -> BTreeMap<Key, Vec<u8>> {
        let connection = || Key::new().with(self.connection).into();
        let mut rows = BTreeMap::new();
        let in_state = state_prefix(self.connection, self.state);
        rows.insert(in_state.with(self.id), Vec::new());
        if let Some(at) = self.next_try_at {
            let size = Key::new().with(self.bytes);
            rows.insert(queue_key(self.which(), at), size.into());
        }
        if self.awaits {
            for name in self.names() {
                rows.insert(name_prefix(&name).with(self.id), connection());
            }
        }
        if let Some(version) = self.failed_version.as_ref().filter(|_| self.is_put_down()) {
            let key = of_connection(FAILED_VERSION, self.connection).with(self.id);
            rows.insert(key, version.clone().into_bytes());
        }
        if let Some(transaction) = self.transaction {
            let key = transaction_prefix(transaction).with(self.id);
            rows.insert(key, connection());
        }
        rows
    }
}

/// Adds the change from `before` to `after` to `batch`, which conflicts when the stored row is not
/// `before`.
pub(super) fn write(batch: &mut Batch, before: Option<&Callback>, after: &Callback) {
    let key = main_key(after.which());
    let version = match before {
        Some(before) => {
            batch.require_version(Table::Callback, &key, before.version);
            before.version + 1
        }
        None => {
            batch.require_absent(Table::Callback, &key);
            1
        }
    };
    if before.is_none() {
        let raw = serde_json::to_vec(&after.raw).unwrap_or_default();
        batch.put(Table::Callback, raw_key(after.which()), raw);
    }
    // A struct of plain fields always serializes.
    let row = serde_json::to_vec(after).unwrap_or_default();
    batch.put_versioned(Table::Callback, &key, version, row);
    let mut old = before.map(Callback::derived).unwrap_or_default();
    for (key, value) in after.derived() {
        if old.remove(&key).is_none() {
            batch.put(Table::Callback, key, value);
        }
    }
    for key in old.into_keys() {
        batch.delete(Table::Callback, key);
    }
}

/// Adds the deletion of all rows of `callback` to `batch`.
pub(super) fn delete(batch: &mut Batch, callback: &Callback) {
    let key = main_key(callback.which());
    batch.require_version(Table::Callback, &key, callback.version);
    batch.delete(Table::Callback, &key);
    batch.delete(Table::Callback, raw_key(callback.which()));
    for key in callback.derived().into_keys() {
        batch.delete(Table::Callback, key);
    }
}

pub(super) async fn load(
    store: &Store,
    which: CallbackKey,
) -> Result<Option<Callback>, RecordError> {
    let Some((version, row)) = store
        .get_versioned(Table::Callback, &main_key(which))
        .await?
    else {
        return Ok(None);
    };
    let read = serde_json::from_slice::<Callback>(&row);
    let mut callback = read.map_err(|_| damaged(which.callback))?;
    callback.version = version;
    let raw = store.get(Table::Callback, &raw_key(which)).await?;
    // Both rows may be deleted between the two reads.
    if raw.is_none()
        && store
            .get(Table::Callback, &main_key(which))
            .await?
            .is_none()
    {
        return Ok(None);
    }
    let raw = raw.and_then(|row| serde_json::from_slice(&row).ok());
    callback.raw = raw.ok_or_else(|| damaged(which.callback))?;
    Ok(Some(callback))
}

pub(super) fn damaged(id: CallbackId) -> RecordError {
    RecordError::Damaged {
        what: "callback",
        id: id.to_string(),
    }
}

fn main_key(which: CallbackKey) -> Key {
    main_prefix(which.connection).with(which.callback)
}

fn raw_key(which: CallbackKey) -> Key {
    of_connection(RAW, which.connection).with(which.callback)
}

/// Beginning of the keys of all callbacks of a connection, in order of arrival.
pub(super) fn main_prefix(connection: ConnectionId) -> Key {
    of_connection(MAIN, connection)
}

/// Beginning of the keys of a connection's callbacks in one state, in order of arrival.
pub(super) fn state_prefix(connection: ConnectionId, state: CallbackState) -> Key {
    of_connection(STATE, connection).with(state.letter())
}

/// Beginning of the keys of the callbacks that are parked for an attempt of this name.
pub(super) fn name_prefix(name: &Name) -> Key {
    Key::of(AWAITED).row(&name.key()).with(NAME_END)
}

/// Rows of kind `t` of a transaction, the oldest first, as many as are kept.
pub(super) async fn of_transaction(
    store: &Store,
    transaction: TransactionId,
) -> Result<Vec<(Vec<u8>, Vec<u8>)>, StoreError> {
    let range = transaction_prefix(transaction).range();
    let (from, to, most) = (range.from(), range.to(), CALLBACKS_PER_TRANSACTION);
    store
        .scan(Table::Callback, from, to, Direction::Forward, most)
        .await
}

pub(super) fn transaction_prefix(transaction: TransactionId) -> Key {
    Key::of(TRANSACTION).text(transaction).child("")
}

fn queue_key(which: CallbackKey, at: Timestamp) -> Key {
    let queue = of_connection(QUEUE, which.connection);
    queue.with(at).with(which.callback)
}

/// Key range of a connection's callbacks that are due at `at` or later.
pub(super) fn queue(connection: ConnectionId, at: Timestamp) -> KeyRange {
    let queue = of_connection(QUEUE, connection);
    queue.range().starting_at(queue.with(at))
}

/// Key range of all rows of one kind.
pub(super) fn of_kind(kind: u8) -> KeyRange {
    Key::of(kind).range()
}

/// Due time in a key of kind `q`.
pub(super) fn due_in(key: &[u8]) -> Option<Timestamp> {
    behind_connection(key)?.1.take()
}

/// Connection and callback in a key of kind `n`, `k`, `q` or `s`.
pub(super) fn which_in(key: &[u8]) -> Option<CallbackKey> {
    Some(CallbackKey {
        connection: behind_connection(key)?.0,
        callback: callback_in(key)?,
    })
}

/// Connection and state in a key of kind `k`.
pub(super) fn state_in(key: &[u8]) -> Option<(ConnectionId, CallbackState)> {
    let (connection, mut rest) = behind_connection(key)?;
    Some((connection, CallbackState::of_letter(rest.take()?)?))
}

/// Name and callback in a key of kind `p`. The name is the key of its row in the index table.
pub(super) fn parked_in(key: &[u8]) -> Option<(&[u8], CallbackId)> {
    let mut key = KeyReader::of(AWAITED, key)?;
    let callback = key.take_last()?;
    (key.take_last::<u8>()? == NAME_END).then_some((key.rest(), callback))
}

/// Callback at the end of a key of any kind.
pub(super) fn callback_in(key: &[u8]) -> Option<CallbackId> {
    KeyReader::new(key).take_last()
}

/// Connection in the value of a row.
pub(super) fn connection_of(value: &[u8]) -> Option<ConnectionId> {
    let mut value = KeyReader::new(value);
    value.take().filter(|_| value.rest().is_empty())
}

fn of_connection(kind: u8, connection: ConnectionId) -> Key {
    Key::of(kind).with(connection)
}

/// Connection in a key, and the parts behind it.
fn behind_connection(key: &[u8]) -> Option<(ConnectionId, KeyReader<'_>)> {
    let mut key = KeyReader::new(key);
    key.take::<u8>()?;
    Some((key.take()?, key))
}

/// Byte between the name and the callback in a key of kind `p`.
const NAME_END: u8 = 0;
pub(super) const MAIN: u8 = b'n';
const RAW: u8 = b'b';
pub(super) const STATE: u8 = b'k';
pub(super) const QUEUE: u8 = b'q';
pub(super) const AWAITED: u8 = b'p';
pub(super) const FAILED_VERSION: u8 = b's';
const TRANSACTION: u8 = b't';

#[cfg(test)]
mod tests {
    use serde_json::json;
    use ulid::Ulid;

    use super::*;
    use switchyard_core::ids::PaymentId;
    use switchyard_core::testing::START;
    use switchyard_store::Direction;

    fn callback() -> Callback {
        let text = json!({
            "id": CallbackId::new(Ulid::from_parts(1, 1)),
            "connection": ConnectionId::new(Ulid::from_parts(1, 2)),
            "app": AppId::new(Ulid::from_parts(1, 3)),
            "environment": "live", "gateway": "demo", "received_at": START, "bytes": 5,
            "state": "waiting", "tries": 0, "awaits": false,
        });
        let raw = serde_json::from_value(json!("v1.sealed")).unwrap();
        let callback = serde_json::from_value::<Callback>(text).unwrap();
        Callback { raw, ..callback }
    }

    async fn put(store: &Store, before: Option<&Callback>, after: &Callback) {
        let mut batch = Batch::new();
        write(&mut batch, before, after);
        store.commit(batch).await.unwrap();
    }

    #[test]
    fn the_keys_of_a_callback_have_their_stored_bytes() {
        let at = Timestamp::from_micros(0x0102_0304);
        let all = Callback {
            next_try_at: Some(at),
            awaits: true,
            provider_id: Some("ch_1".to_owned()),
            transaction: Some(TransactionId::Payment(PaymentId::new(Ulid::nil()))),
            ..callback()
        };
        let [connection, id] = [2, 1].map(|low| Ulid::from_parts(1, low).to_bytes());
        let name = all.id_name().unwrap().key();
        let payment = b"tpy_00000000000000000000000000/";
        let keys = [
            [&b"k"[..], &connection, &[all.state.letter()], &id].concat(),
            [&b"p"[..], &name, &[0], &id].concat(),
            [&b"q"[..], &connection, &[0, 0, 0, 0, 1, 2, 3, 4], &id].concat(),
            [&payment[..], &id].concat(),
        ];
        let derived: Vec<Vec<u8>> = all.derived().into_keys().map(Key::into).collect();
        assert_eq!(derived, keys);
        let main = main_key(all.which());
        assert_eq!(*main, [&b"n"[..], &connection, &id].concat());
        assert_eq!(
            *raw_key(all.which()),
            [&b"b"[..], &connection, &id].concat()
        );
        let [in_state, parked, queued, _] = &keys;
        assert_eq!(state_in(in_state), Some((all.connection, all.state)));
        assert_eq!(parked_in(parked), Some((&name[..], all.id)));
        assert_eq!(
            (which_in(queued), due_in(queued)),
            (Some(all.which()), Some(at))
        );
        assert_eq!(connection_of(&connection), Some(all.connection));
        assert_eq!(connection_of(b"short"), None);
    }

    #[tokio::test]
    async fn the_request_is_written_once_however_often_the_state_changes() {
        let store = Store::memory();
        let first = callback();
        let which = first.which();
        put(&store, None, &first).await;
        let before = load(&store, which).await.unwrap().unwrap();
        assert_eq!(before.raw, first.raw);
        let matched = Callback {
            state: CallbackState::Matched,
            ..before.clone()
        };
        // A second write would create the row again.
        let mut batch = Batch::new();
        batch.delete(Table::Callback, raw_key(which));
        store.commit(batch).await.unwrap();
        put(&store, Some(&before), &matched).await;
        let raw = store.get(Table::Callback, &raw_key(which)).await.unwrap();
        assert_eq!(raw, None);
        assert!(
            load(&store, which).await.is_err(),
            "a request that is lost is told"
        );
    }

    #[tokio::test]
    async fn the_request_is_deleted_with_its_callback() {
        let store = Store::memory();
        let first = callback();
        put(&store, None, &first).await;
        let stored = load(&store, first.which()).await.unwrap().unwrap();
        let mut batch = Batch::new();
        delete(&mut batch, &stored);
        store.commit(batch).await.unwrap();
        let left = store.scan(Table::Callback, &[0], &[u8::MAX], Direction::Forward, 10);
        assert_eq!(left.await.unwrap(), Vec::new());
    }
}
