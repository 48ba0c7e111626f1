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
use ulid::Ulid;

use crate::access::Sealed;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, AttemptId, CallbackId, ConnectionId, TransactionId};
use switchyard_core::time::Timestamp;
use switchyard_gateway_host::ShownRequest;
use switchyard_records::{Name, RecordError};
use switchyard_store::{Batch, Store, Table, prefix_end};

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
    pub stumbled: Option<String>,
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
    fn derived(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let id = self.id.ulid().to_bytes();
        let mut rows = BTreeMap::new();
        rows.insert(
            [&state_prefix(self.connection, self.state)[..], &id].concat(),
            Vec::new(),
        );
        if let Some(at) = self.next_try_at {
            rows.insert(queue_key(self.which(), at), self.bytes.to_be_bytes().into());
        }
        if self.awaits {
            for name in self.names() {
                let key = [&name_prefix(&name)[..], &id].concat();
                rows.insert(key, self.connection.ulid().to_bytes().into());
            }
        }
        if let Some(version) = self.stumbled.as_ref().filter(|_| self.is_put_down()) {
            let key = [&of_connection(STUMBLED, self.connection)[..], &id].concat();
            rows.insert(key, version.clone().into_bytes());
        }
        if let Some(transaction) = self.transaction {
            let key = [&transaction_prefix(transaction)[..], &id].concat();
            rows.insert(key, self.connection.ulid().to_bytes().into());
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

fn main_key(which: CallbackKey) -> Vec<u8> {
    let mut key = main_prefix(which.connection);
    key.extend_from_slice(&which.callback.ulid().to_bytes());
    key
}

fn raw_key(which: CallbackKey) -> Vec<u8> {
    let mut key = of_connection(RAW, which.connection);
    key.extend_from_slice(&which.callback.ulid().to_bytes());
    key
}

/// Prefix of all callbacks of a connection, in order of arrival.
pub(super) fn main_prefix(connection: ConnectionId) -> Vec<u8> {
    of_connection(MAIN, connection)
}

/// Prefix of a connection's callbacks in one state, in order of arrival.
pub(super) fn state_prefix(connection: ConnectionId, state: CallbackState) -> Vec<u8> {
    let mut key = of_connection(STATE, connection);
    key.push(state.letter());
    key
}

/// Prefix of the callbacks that are parked for an attempt of this name.
pub(super) fn name_prefix(name: &Name) -> Vec<u8> {
    [&[AWAITED][..], &name.key(), &[0]].concat()
}

pub(super) fn transaction_prefix(transaction: TransactionId) -> Vec<u8> {
    [&[TRANSACTION][..], transaction.to_string().as_bytes(), b"/"].concat()
}

fn queue_key(which: CallbackKey, at: Timestamp) -> Vec<u8> {
    let mut key = of_connection(QUEUE, which.connection);
    key.extend_from_slice(&moment(at));
    key.extend_from_slice(&which.callback.ulid().to_bytes());
    key
}

/// Key range of a connection's callbacks that are due at `at` or later.
pub(super) fn queue(connection: ConnectionId, at: Timestamp) -> (Vec<u8>, Vec<u8>) {
    let queue = of_connection(QUEUE, connection);
    ([&queue[..], &moment(at)].concat(), prefix_end(&queue))
}

/// Due time in a key of kind `q`.
pub(super) fn due_in(key: &[u8]) -> Option<Timestamp> {
    let micros = u64::from_be_bytes(*key.get(17..)?.first_chunk()?);
    i64::try_from(micros).ok().map(Timestamp::from_micros)
}

/// Key range of all rows of one kind after those of `connection`, or of all connections.
pub(super) fn from_connection(kind: u8, connection: Option<ConnectionId>) -> (Vec<u8>, Vec<u8>) {
    let from = match connection {
        Some(connection) => prefix_end(&of_connection(kind, connection)),
        None => vec![kind],
    };
    (from, prefix_end(&[kind]))
}

/// Connection in a key of kind `n`, `k`, `q` or `s`.
pub(super) fn connection_in(key: &[u8]) -> Option<ConnectionId> {
    let ulid = key.get(1..17)?.try_into().ok()?;
    Some(ConnectionId::new(Ulid::from_bytes(ulid)))
}

/// State in a key of kind `k`.
pub(super) fn state_in(key: &[u8]) -> Option<CallbackState> {
    key.get(17).copied().and_then(CallbackState::of_letter)
}

/// Callback at the end of a key of any kind.
pub(super) fn callback_in(key: &[u8]) -> Option<CallbackId> {
    key.last_chunk()
        .map(|ulid| CallbackId::new(Ulid::from_bytes(*ulid)))
}

/// Connection in the value of a row.
pub(super) fn connection_of(value: &[u8]) -> Option<ConnectionId> {
    let ulid = value.try_into().ok()?;
    Some(ConnectionId::new(Ulid::from_bytes(ulid)))
}

fn of_connection(kind: u8, connection: ConnectionId) -> Vec<u8> {
    let mut key = Vec::with_capacity(64);
    key.push(kind);
    key.extend_from_slice(&connection.ulid().to_bytes());
    key
}

fn moment(at: Timestamp) -> [u8; 8] {
    u64::try_from(at.as_micros()).unwrap_or(0).to_be_bytes()
}

pub(super) const MAIN: u8 = b'n';
const RAW: u8 = b'b';
pub(super) const STATE: u8 = b'k';
pub(super) const QUEUE: u8 = b'q';
pub(super) const AWAITED: u8 = b'p';
pub(super) const STUMBLED: u8 = b's';
const TRANSACTION: u8 = b't';

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
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
