//! The restore record: a row of the store that says that the store came from a backup.
//!
//! `switchyard store restore` writes it in the commit that gives the restored store its identity,
//! so neither is found without the other. It stays until the next record replaces it. A server that
//! finds it serves a store that may lack transactions: providers may have moved money that this
//! store does not know of. A store that is opened although it has lost commits, or may have, gets
//! such a record and a new identity, too.
//!
//! Each record has another incarnation or time, so a caller that keeps the release of a restore
//! stores the record with it.

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::batch::Change;
use super::kv::{Kv, WriteFailed};
use super::point::Point;
use super::table::Table;
use super::{Store, StoreError};
use switchyard_core::time::Timestamp;

/// The last restore of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restored {
    /// Identity of the store. Each restore gives a new one.
    pub store: Ulid,
    /// Incarnation of the backup: each backup has its own, and each accepted loss.
    pub incarnation: Ulid,
    /// Last commit group in the backup, or in what is left of the store.
    pub sequence: u64,
    /// Time of the last commit group in the backup, in microseconds since 1970. Everything that was
    /// acknowledged later is missing.
    pub backup_at: Timestamp,
    /// Time of the restore.
    pub restored_at: Timestamp,
    /// End of the lost span, as the mark of the replaced store tells; its time is `backup_at` when
    /// nothing is lost. `None`: no readable mark of this store, so the span may reach until the
    /// restore.
    pub lost: Option<Lost>,
}

/// The last commit group that the replaced store had acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lost {
    pub sequence: u64,
    pub at: Timestamp,
}

/// The fields of a [`Restored`] that name the last group before it, in its order.
#[derive(Serialize)]
struct After {
    sequence: u64,
    backup_at: Timestamp,
}

impl Restored {
    /// The record of a store, if it has one that can be read.
    pub(super) fn read(kv: &dyn Kv) -> Option<Self> {
        let record = kv.get_on_writer(Table::Meta, KEY).ok()??;
        serde_json::from_slice(&record).ok()
    }

    /// Part of the bytes of a record that gives a store its identity right after the group `end`.
    pub(super) fn mark_after(end: Point) -> Vec<u8> {
        let after = After {
            sequence: end.sequence,
            backup_at: end.at,
        };
        let text = serde_json::to_string(&after).unwrap_or_default();
        text.trim_matches(['{', '}']).as_bytes().to_vec()
    }

    /// Gives a store its identity and this record, by a commit group of its own.
    pub(super) fn write(&self, kv: &dyn Kv, identity: Point) -> Result<(), WriteFailed> {
        // Ids, numbers and times, which can always be written.
        let record = serde_json::to_vec(self).unwrap_or_default();
        let record = Change {
            table: Table::Meta,
            key: KEY,
            value: Some(&record),
        };
        kv.write(&[Point::change(&identity.row()), record])
    }
}

impl Store {
    /// The last restore of this store; `None`: it was never restored.
    ///
    /// # Errors
    /// When the record cannot be read or is damaged. The store was restored then, too.
    pub async fn restored(&self) -> Result<Option<Restored>, StoreError> {
        let Some(record) = self.get(Table::Meta, KEY).await? else {
            return Ok(None);
        };
        let read = serde_json::from_slice(&record).map(Some);
        read.map_err(|_| StoreError::Damaged {
            table: Table::Meta.name(),
            kind: "restored".to_owned(),
        })
    }
}

/// Key of the record, in [`Table::Meta`].
const KEY: &[u8] = b"restored";
