//! The restore record: a file beside the store that says that the store came from a backup.
//!
//! `switchyard store restore` writes `<store>.restored` durably before the store is in place. The
//! file stays there until the next record replaces it. A server that finds it serves a store that
//! may lack transactions: providers may have moved money that this store does not know of. A store
//! that is opened although it has lost commits, or may have, gets such a record, too.
//!
//! Each record has another incarnation or time, so a caller that keeps the release of a restore
//! stores the record with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::place::replace_durably;
use crate::clock::Timestamp;

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

/// The restore of the store in `path`, `None` when it was never restored.
///
/// # Errors
/// When the record cannot be read or is damaged. The store was restored then, too.
pub fn restored(path: &Path) -> io::Result<Option<Restored>> {
    let text = match fs::read(record_of(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    Ok(Some(serde_json::from_slice(&text)?))
}

impl Restored {
    /// Writes the record of the store in `path`, in place of an older one.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        replace_durably(&record_of(path), &text)
    }
}

/// `<store>.restored`.
fn record_of(store: &Path) -> PathBuf {
    store.with_added_extension("restored")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_damage_is_no_absence() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("store");
        assert_eq!(restored(&store).unwrap(), None);
        let mut record = Restored {
            store: Ulid::from_parts(1, 2),
            incarnation: Ulid::from_parts(3, 4),
            sequence: 5,
            backup_at: Timestamp::from_seconds(6),
            restored_at: Timestamp::from_seconds(7),
            lost: None,
        };
        for lost in [None, Some(8)] {
            record.lost = lost.map(|sequence| Lost {
                sequence,
                at: Timestamp::from_seconds(9),
            });
            record.write(&store).unwrap();
            assert_eq!(restored(&store).unwrap(), Some(record.clone()));
        }
        let file = directory.path().join("store.restored");
        let whole = fs::read(&file).unwrap();
        for damaged in [&whole[..whole.len() / 2], b""] {
            fs::write(&file, damaged).unwrap();
            assert!(restored(&store).is_err());
        }
    }
}
