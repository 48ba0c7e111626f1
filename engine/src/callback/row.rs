//! How callbacks lie in the store, all in [`Table::Callback`]. The first byte says what a row is:
//!
//! | key | what |
//! |---|---|
//! | `n<connection><callback>` | the callback, with a version |
//! | `b<connection><callback>` | the sealed request; written once |
//! | `k<connection><state><callback>` | the list of one state |
//! | `q<connection><moment><callback>` | what has to be dealt with, and when; the value is its size |
//! | `p<name of an attempt>\0<callback>` | what waits for a transaction of that name |
//! | `s<connection><callback>` | what its gateway put down because it stumbled; the value is the version that did |
//! | `t<transaction>/<callback>` | what belongs to a transaction; the value is the connection |
//!
//! All rows but these two follow from the first: [`write()`] derives them before and after a change,
//! and writes the difference in one batch.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use crate::access::Sealed;
use crate::clock::Timestamp;
use crate::engine::EngineError;
use crate::environment::Environment;
use crate::gateway::ShownRequest;
use crate::ids::{AppId, AttemptId, CallbackId, ConnectionId, TransactionId};
use crate::records::Name;
use crate::store::{Batch, Store, Table, prefix_end};

/// One request that a provider sent, and what became of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Callback {
    pub id: CallbackId,
    pub connection: ConnectionId,
    pub app: AppId,
    pub environment: Environment,
    pub gateway: String,
    pub received_at: Timestamp,
    /// The address that it came from.
    pub from: Option<String>,
    pub bytes: u32,
    /// The request as it came, sealed. It lies in a row of its own, which is written once.
    #[serde(skip)]
    pub(super) raw: Sealed,
    pub state: CallbackState,
    /// How often the gateway stumbled over it.
    pub tries: u32,
    pub next_try_at: Option<Timestamp>,
    pub dealt_with_at: Option<Timestamp>,
    /// Whether the gateway vouches for it; `None` as long as it has not said.
    pub trusted: Option<bool>,
    pub reference: Option<String>,
    pub provider_id: Option<String>,
    pub transaction: Option<TransactionId>,
    pub attempt: Option<AttemptId>,
    /// What was done with it, or why nothing was.
    pub note: Option<String>,
    /// The request without its secrets, once the gateway has seen it.
    pub request: Option<ShownRequest>,
    /// The version of its gateway, by its SHA-256, that stumbled over it at the last try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stumbled: Option<String>,
    /// Whether it waits for a transaction of its name.
    pub awaits: bool,
    /// How often the row was written.
    #[serde(skip)]
    pub(super) version: u64,
}

/// Where a callback stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallbackState {
    /// To be dealt with.
    Waiting,
    /// It is about a transaction, and was dealt with.
    Matched,
    /// It names nothing that is known.
    Unmatched,
    /// The gateway will have none of it.
    Refused,
    /// From the provider, and about nothing that the engine has to know.
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

    /// On disk: never changes.
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

/// Which callback: its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Which {
    pub connection: ConnectionId,
    pub callback: CallbackId,
}

impl Callback {
    pub(super) fn which(&self) -> Which {
        Which {
            connection: self.connection,
            callback: self.id,
        }
    }

    fn is_put_down(&self) -> bool {
        self.state == CallbackState::Refused
    }

    /// The names by which its attempt can be found.
    pub(super) fn names(&self) -> Vec<Name> {
        let names = [self.reference_name(), self.id_name()];
        names.into_iter().flatten().collect()
    }

    /// Our reference, as the callback has it.
    pub(super) fn reference_name(&self) -> Option<Name> {
        Name::reference(self.connection, self.reference.as_deref()?)
    }

    /// The provider's id, as the callback has it.
    pub(super) fn id_name(&self) -> Option<Name> {
        Name::provider_id(self.connection, self.provider_id.as_deref()?)
    }

    /// The rows that follow from it.
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

/// Adds the change from `before` to `after` to `batch`, which conflicts when the stored row is not `before`.
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
    // A structure of plain fields: it can always be written as JSON.
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

pub(super) async fn load(store: &Store, which: Which) -> Result<Option<Callback>, EngineError> {
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

pub(super) fn damaged(id: CallbackId) -> EngineError {
    EngineError::Damaged(crate::records::RecordError::Damaged {
        what: "callback",
        id: id.to_string(),
    })
}

fn main_key(which: Which) -> Vec<u8> {
    let mut key = main_prefix(which.connection);
    key.extend_from_slice(&which.callback.ulid().to_bytes());
    key
}

fn raw_key(which: Which) -> Vec<u8> {
    let mut key = of_connection(RAW, which.connection);
    key.extend_from_slice(&which.callback.ulid().to_bytes());
    key
}

/// Of all callbacks of a connection, in the order in which they came.
pub(super) fn main_prefix(connection: ConnectionId) -> Vec<u8> {
    of_connection(MAIN, connection)
}

/// Of a connection's callbacks in one state, in the order in which they came.
pub(super) fn state_prefix(connection: ConnectionId, state: CallbackState) -> Vec<u8> {
    let mut key = of_connection(STATE, connection);
    key.push(state.letter());
    key
}

/// Of what waits for an attempt of this name.
pub(super) fn name_prefix(name: &Name) -> Vec<u8> {
    [&[AWAITED][..], &name.key(), &[0]].concat()
}

pub(super) fn transaction_prefix(transaction: TransactionId) -> Vec<u8> {
    [&[TRANSACTION][..], transaction.to_string().as_bytes(), b"/"].concat()
}

fn queue_key(which: Which, at: Timestamp) -> Vec<u8> {
    let mut key = of_connection(QUEUE, which.connection);
    key.extend_from_slice(&moment(at));
    key.extend_from_slice(&which.callback.ulid().to_bytes());
    key
}

/// Of a connection's callbacks that are due at `at` or later: from, to.
pub(super) fn queue(connection: ConnectionId, at: Timestamp) -> (Vec<u8>, Vec<u8>) {
    let queue = of_connection(QUEUE, connection);
    ([&queue[..], &moment(at)].concat(), prefix_end(&queue))
}

/// When what lies under a key of the kind `q` is due.
pub(super) fn due_in(key: &[u8]) -> Option<Timestamp> {
    let micros = u64::from_be_bytes(*key.get(17..)?.first_chunk()?);
    i64::try_from(micros).ok().map(Timestamp::from_micros)
}

/// All rows of one kind from a connection on: from, to.
pub(super) fn from_connection(kind: u8, connection: Option<ConnectionId>) -> (Vec<u8>, Vec<u8>) {
    let from = match connection {
        Some(connection) => prefix_end(&of_connection(kind, connection)),
        None => vec![kind],
    };
    (from, prefix_end(&[kind]))
}

/// The connection in a key of the kinds `n`, `k`, `q` and `s`.
pub(super) fn connection_in(key: &[u8]) -> Option<ConnectionId> {
    let ulid = key.get(1..17)?.try_into().ok()?;
    Some(ConnectionId::new(Ulid::from_bytes(ulid)))
}

/// The state in a key of the kind `k`.
pub(super) fn state_in(key: &[u8]) -> Option<CallbackState> {
    key.get(17).copied().and_then(CallbackState::of_letter)
}

/// The callback at the end of a key of any kind.
pub(super) fn callback_in(key: &[u8]) -> Option<CallbackId> {
    key.last_chunk()
        .map(|ulid| CallbackId::new(Ulid::from_bytes(*ulid)))
}

/// A connection as the value of a row.
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
    use crate::store::Direction;
    use crate::testing::START;

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
        // Were it written again it would be there again.
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
