//! Entries of the audit log and the chain of their hashes.
//!
//! The log is append-only. Entries are numbered from 1, and each holds the SHA-256 of the stored
//! bytes of the entry before it, so that a changed, removed or inserted entry breaks the chain. An
//! entry is stored in the commit of the change that it records. The end of the chain is protected
//! only by copies of its [`ChainHead`] elsewhere, such as in a log file or in a backup.
//!
//! An unreadable entry hides no other. When the last one is unreadable, the chain continues with an
//! entry `audit_chain_broken` that names it.

use std::net::IpAddr;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchyard_core::ids::{AccountId, UserId, UserTokenId};
use switchyard_core::limits::{AUDIT_CHANGE_BYTES, AUDIT_FAULTS};
use switchyard_core::time::Timestamp;
use switchyard_store::{Batch, Direction, Key, KeyReader, Store, StoreError, Table};

use crate::error::UsersError;
use switchyard_system::secrets::Fingerprint;

/// One entry of the audit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub number: u64,
    /// SHA-256 of the stored bytes of the entry before; zeros in the first one.
    pub previous: Fingerprint,
    /// Never earlier than the time of the entry before.
    pub at: Timestamp,
    pub actor: Actor,
    pub channel: Channel,
    pub address: Option<IpAddr>,
    /// Account that the entry concerns; `None`: the installation.
    pub account: Option<AccountId>,
    /// Name of an [`Action`](crate::Action), or one of this crate such as `sign_in`.
    pub action: String,
    /// Id or name of the object, such as a payment or a user.
    pub object: String,
    #[serde(default)]
    pub before: Value,
    #[serde(default)]
    pub after: Value,
    pub result: AuditResult,
}

/// Author of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Actor {
    User {
        id: UserId,
    },
    /// A token of a user.
    UserToken {
        id: UserTokenId,
        user: UserId,
    },
    /// An operator token, by its name.
    OperatorToken {
        name: String,
    },
    /// The command line on the server, or the engine itself.
    System,
    /// A client that is not signed in.
    Anonymous,
}

impl Actor {
    /// User behind a session or a token.
    pub const fn user(&self) -> Option<UserId> {
        match self {
            Self::User { id } => Some(*id),
            Self::UserToken { user, .. } => Some(*user),
            Self::OperatorToken { .. } | Self::System | Self::Anonymous => None,
        }
    }
}

/// Interface through which a request came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    #[default]
    Console,
    Api,
    CommandLine,
}

/// Client of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    pub channel: Channel,
    pub address: Option<IpAddr>,
    pub user_agent: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditResult {
    Succeeded,
    Refused,
    Failed,
}

/// Entry to append. Number, hash and time are added when it is stored. The caller leaves secrets
/// out.
#[derive(Clone, Debug)]
pub struct NewEntry {
    pub actor: Actor,
    pub origin: Origin,
    pub account: Option<AccountId>,
    pub action: String,
    pub object: String,
    /// Changed values before and after; `Null` where there are none.
    pub before: Value,
    pub after: Value,
    pub result: AuditResult,
}

impl NewEntry {
    /// An entry about a success without changed values.
    pub fn new(
        actor: Actor,
        origin: &Origin,
        action: impl Into<String>,
        object: impl ToString,
    ) -> Self {
        Self {
            actor,
            origin: origin.clone(),
            account: None,
            action: action.into(),
            object: object.to_string(),
            before: Value::Null,
            after: Value::Null,
            result: AuditResult::Succeeded,
        }
    }

    #[must_use]
    pub fn about(mut self, account: Option<AccountId>) -> Self {
        self.account = account;
        self
    }

    #[must_use]
    pub fn changing(mut self, before: Value, after: Value) -> Self {
        (self.before, self.after) = (before, after);
        self
    }

    #[must_use]
    pub fn with_result(mut self, result: AuditResult) -> Self {
        self.result = result;
        self
    }
}

/// Last entry of the chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainHead {
    /// Number of the last entry; 0: there is none.
    pub number: u64,
    pub hash: Fingerprint,
    pub at: Timestamp,
}

impl ChainHead {
    /// Last stored entry. When it is unreadable, the second value marks the break of the chain: it
    /// is appended before any other entry.
    pub(crate) async fn load(store: &Store) -> Result<(Self, Option<NewEntry>), StoreError> {
        let last = rows(store, 0, u64::MAX, Direction::Backward, 1).await?;
        let Some((number, value)) = last.into_iter().next() else {
            return Ok((Self::default(), None));
        };
        let hash = value.as_ref().map(Fingerprint::of).unwrap_or_default();
        match readable(number, value.as_deref()) {
            Some(Entry { at, .. }) => Ok((Self { number, hash, at }, None)),
            None => {
                let at = Timestamp::default();
                Ok((Self { number, hash, at }, Some(mark_of_break(number))))
            }
        }
    }

    /// Adds an entry to `batch`, and returns the head after the commit of it.
    pub(crate) fn append(
        self,
        batch: &mut Batch,
        new: NewEntry,
        now: Timestamp,
    ) -> Result<Self, UsersError> {
        let number = self.number + 1;
        let entry = Entry {
            number,
            previous: self.hash,
            at: now.max(self.at),
            actor: new.actor,
            channel: new.origin.channel,
            address: new.origin.address,
            account: new.account,
            action: new.action,
            object: new.object,
            before: bounded(new.before),
            after: bounded(new.after),
            result: new.result,
        };
        let value = serde_json::to_vec(&entry).map_err(|why| UsersError::Row {
            table: Table::Audit.name(),
            key: number.to_string(),
            why,
        })?;
        batch.require_absent(Table::Audit, key(number));
        batch.put(Table::Audit, key(number), &value);
        Ok(Self {
            number,
            hash: Fingerprint::of(&value),
            at: entry.at,
        })
    }
}

/// Key of an entry: its number, big endian.
pub(crate) fn key(number: u64) -> Key {
    Key::new().with(number)
}

/// Entry with this number. `None`: the row is damaged, of another version, or of another entry.
pub(crate) fn readable(number: u64, row: Option<&[u8]>) -> Option<Entry> {
    let entry: Entry = serde_json::from_slice(row?).ok()?;
    (entry.number == number).then_some(entry)
}

/// Entry that follows an unreadable one.
fn mark_of_break(unreadable: u64) -> NewEntry {
    let origin = Origin {
        channel: Channel::CommandLine,
        ..Origin::default()
    };
    let after = serde_json::json!({ "unreadable_entry": unreadable });
    NewEntry::new(Actor::System, &origin, "audit_chain_broken", unreadable)
        .changing(Value::Null, after)
        .with_result(AuditResult::Failed)
}

/// A value as it is, or its hash when it is too large.
fn bounded(value: Value) -> Value {
    let text = value.to_string();
    match text.len() <= AUDIT_CHANGE_BYTES {
        true => value,
        false => serde_json::json!({
            "sha256": Fingerprint::of(&text),
            "bytes": text.len(),
        }),
    }
}

/// Fault of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainFault {
    /// No entry has this number, although later ones exist.
    Missing(u64),
    /// The entry is not readable, or holds another number.
    Damaged(u64),
    /// The entry before this one is not the one that it was appended to.
    Altered(u64),
}

/// Result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainReport {
    /// Readable entries.
    pub entries: u64,
    /// Last readable entry, to compare with a head that was recorded elsewhere.
    pub head: ChainHead,
    /// Faults, oldest first, at most 100. A fault that was marked at a start stays one.
    pub faults: Vec<ChainFault>,
}

/// Reads the whole log, oldest first, up to the largest number of faults.
pub(crate) async fn verify(store: &Store) -> Result<ChainReport, StoreError> {
    let mut report = ChainReport::default();
    let mut next = 1;
    // `None` after a fault: the entry before is not known.
    let mut previous = Some(Fingerprint::ZERO);
    loop {
        let page = rows(store, next, u64::MAX, Direction::Forward, PAGE).await?;
        let is_last = page.len() < PAGE;
        for (number, value) in page {
            if number > next {
                report.faults.push(ChainFault::Missing(next));
                previous = None;
            }
            next = number + 1;
            match readable(number, value.as_deref()) {
                Some(entry) => {
                    if previous.is_some_and(|hash| hash != entry.previous) {
                        report.faults.push(ChainFault::Altered(number));
                    }
                    let hash = value.as_ref().map(Fingerprint::of).unwrap_or_default();
                    let at = entry.at;
                    report.entries += 1;
                    report.head = ChainHead { number, hash, at };
                    previous = Some(hash);
                }
                None => {
                    report.faults.push(ChainFault::Damaged(number));
                    previous = None;
                }
            }
        }
        if is_last || report.faults.len() >= AUDIT_FAULTS {
            report.faults.truncate(AUDIT_FAULTS);
            return Ok(report);
        }
    }
}

/// Number of a row, and its bytes; `None`: the row is damaged.
pub(crate) type Row = (u64, Option<Vec<u8>>);

/// Rows with numbers in `from..to`, at most `limit`. A damaged row hides no other, unless the store
/// has lost the whole end of the log: then forward the next number is the last row, and backward
/// there is an error.
pub(crate) async fn rows(
    store: &Store,
    from: u64,
    to: u64,
    direction: Direction,
    limit: usize,
) -> Result<Vec<Row>, StoreError> {
    match scan(store, from..to, direction, limit).await {
        Err(StoreError::Damaged { .. }) => {}
        found => return found,
    }
    let (mut left, mut rows) = (from..to, Vec::new());
    while rows.len() < limit {
        let row = match scan(store, left.clone(), direction, 1).await {
            Ok(found) => found.into_iter().next(),
            Err(damaged @ StoreError::Damaged { .. }) => {
                match damaged_number(store, left.clone(), direction).await? {
                    Some(number) => Some((number, None)),
                    None if direction == Direction::Backward => return Err(damaged),
                    None => {
                        rows.push((left.start, None));
                        break;
                    }
                }
            }
            Err(error) => return Err(error),
        };
        let Some(row) = row else {
            break;
        };
        match direction {
            Direction::Forward => left.start = row.0.saturating_add(1),
            Direction::Backward => left.end = row.0,
        }
        rows.push(row);
    }
    Ok(rows)
}

async fn scan(
    store: &Store,
    numbers: Range<u64>,
    direction: Direction,
    limit: usize,
) -> Result<Vec<Row>, StoreError> {
    let (from, to) = (key(numbers.start), key(numbers.end));
    let rows = store.scan(Table::Audit, &from, &to, direction, limit);
    let rows = rows.await?.into_iter();
    let rows = rows.map(|(key, value)| (number_of(&key), Some(value)));
    Ok(rows.collect())
}

/// Number of the first row in this direction, which is damaged, by bisection: an error does not
/// have the key. `None`: no number is known, since a whole page of the store is damaged and with it
/// the place of later rows.
async fn damaged_number(
    store: &Store,
    mut numbers: Range<u64>,
    direction: Direction,
) -> Result<Option<u64>, StoreError> {
    if !matches!(has_row(store, LAST..u64::MAX).await?, Some(false)) {
        return Ok(None);
    }
    while numbers.end - numbers.start > 1 {
        let middle = numbers.start + (numbers.end - numbers.start) / 2;
        let (near, far) = match direction {
            Direction::Forward => (numbers.start..middle, middle..numbers.end),
            Direction::Backward => (middle..numbers.end, numbers.start..middle),
        };
        numbers = match has_row(store, near.clone()).await? {
            Some(false) => far,
            Some(true) | None => near,
        };
    }
    Ok(Some(numbers.start))
}

/// Whether there is a row in the range; `None`: it is damaged.
async fn has_row(store: &Store, numbers: Range<u64>) -> Result<Option<bool>, StoreError> {
    match scan(store, numbers, Direction::Forward, 1).await {
        Ok(rows) => Ok(Some(!rows.is_empty())),
        Err(StoreError::Damaged { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Number in a key; a longer or shorter key is none of ours, and takes the nearest number.
fn number_of(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(bytes.len());
    bytes[..length].copy_from_slice(&key[..length]);
    KeyReader::new(&bytes).take().unwrap_or(0)
}

/// Largest number of a row, which no entry reaches.
const LAST: u64 = u64::MAX - 1;
/// Rows read at a time.
const PAGE: usize = 500;
