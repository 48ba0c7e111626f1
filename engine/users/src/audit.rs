//! Entries of the audit log and the chain of their hashes.
//!
//! The log is append-only. Entries are numbered from 1, and each holds the SHA-256 of the stored
//! bytes of the entry before it, so that a changed, removed or inserted entry breaks the chain. An
//! entry is stored in the commit of the change that it records. The end of the chain is protected
//! only by copies of its [`ChainHead`] elsewhere, such as in a log file or in a backup.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchyard_core::ids::{AccountId, UserId, UserTokenId};
use switchyard_core::limits::AUDIT_CHANGE_BYTES;
use switchyard_core::time::Timestamp;
use switchyard_store::{Batch, Direction, Store, StoreError, Table};

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
    /// Last stored entry.
    pub(crate) async fn load(store: &Store) -> Result<Self, UsersError> {
        let (from, to) = (key(0), key(u64::MAX));
        let last = store.scan(Table::Audit, &from, &to, Direction::Backward, 1);
        let Some((key, value)) = last.await?.into_iter().next() else {
            return Ok(Self::default());
        };
        let entry = parse(&key, &value)?;
        Ok(Self {
            number: entry.number,
            hash: Fingerprint::of(&value),
            at: entry.at,
        })
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
pub(crate) fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

pub(crate) fn parse(key: &[u8], value: &[u8]) -> Result<Entry, UsersError> {
    let number = key.first_chunk().copied().map(u64::from_be_bytes);
    serde_json::from_slice(value).map_err(|why| UsersError::Row {
        table: Table::Audit.name(),
        key: number.unwrap_or_default().to_string(),
        why,
    })
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

/// First fault of the chain.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainReport {
    /// Intact entries before the first fault.
    pub entries: u64,
    /// Last intact entry, to compare with a head that was recorded elsewhere.
    pub head: ChainHead,
    pub fault: Option<ChainFault>,
}

/// Reads the whole log, oldest first, up to the first fault.
pub(crate) async fn verify(store: &Store) -> Result<ChainReport, StoreError> {
    let mut head = ChainHead::default();
    let report = |head: ChainHead, fault| ChainReport {
        entries: head.number,
        head,
        fault,
    };
    loop {
        let (from, to) = (key(head.number + 1), key(u64::MAX));
        let page = store.scan(Table::Audit, &from, &to, Direction::Forward, PAGE);
        let page = page.await?;
        let is_last = page.len() < PAGE;
        for (found, value) in page {
            let number = head.number + 1;
            if found != key(number) {
                return Ok(report(head, Some(ChainFault::Missing(number))));
            }
            let entry = match parse(&found, &value) {
                Ok(entry) if entry.number == number => entry,
                _ => return Ok(report(head, Some(ChainFault::Damaged(number)))),
            };
            if entry.previous != head.hash {
                return Ok(report(head, Some(ChainFault::Altered(number))));
            }
            head = ChainHead {
                number,
                hash: Fingerprint::of(&value),
                at: entry.at,
            };
        }
        if is_last {
            return Ok(report(head, None));
        }
    }
}

/// Rows read at a time.
const PAGE: usize = 500;
