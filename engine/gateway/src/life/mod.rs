//! Lifecycle of gateways: add, upgrade, roll back, drain and remove, while payments flow.
//!
//! Guarantees:
//! - The engine's own copies, by their hash, and one record for each gateway are the source of
//!   truth. The operator's files are only where versions come from: a restart loads the versions
//!   that were current, whatever files are in the folder then.
//! - A change is durable before it takes effect, and records its author, time and reason.
//! - An upgrade that widens the hosts or comes from another source needs two operators: see
//!   [`approval`].
//! - A version is installed by consent only: its hash is pinned, an operator consented to this very
//!   file, or development mode consents to every file in the folder.
//! - Attempts end on the version that they began on, also after an upgrade, a rollback and a
//!   removal.
//!
//! Each operation has its own file. [`record`] holds the changes to a record, and is pure.

mod add;
mod approval;
mod change;
mod drain;
mod error;
mod folder;
mod propose;
mod quarantine;
mod record;
mod remove;
mod restart;
mod restore;
mod rollback;
mod rows;
#[cfg(any(feature = "simulation", feature = "fuzzing"))]
mod shelf;
mod show;
#[cfg(any(test, feature = "testing"))]
mod transitions;
mod upload;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use parking_lot::{Mutex, MutexGuard};

pub use self::add::Consent;
pub use self::approval::{Awaiting, Source, Widening};
pub use self::change::{Change, ChangeKind};
pub use self::error::LifeError;
pub use self::folder::{FileStatus, FolderFile, FolderWatch};
pub use self::propose::Proposal;
pub use self::record::{Record, StoredVersion};
#[cfg(any(feature = "simulation", feature = "fuzzing"))]
pub use self::shelf::StaticGateways;
pub use self::show::{Count, Overview, State, VersionView};
#[cfg(any(test, feature = "testing"))]
pub use self::transitions::{VersionState, VersionTransition, version_transitions};
pub use self::upload::Incoming;
use crate::version::Quarantine;
use switchyard_core::time::Timestamp;
use switchyard_store::Store;

/// Author of a change, and the reason.
#[derive(Clone, Copy, Debug)]
pub struct ChangeAuthor<'a> {
    pub who: &'a str,
    pub why: Option<&'a str>,
    /// Origin of the operator's token; `None`: the author is not an operator.
    pub origin: Option<&'a str>,
}

impl<'a> ChangeAuthor<'a> {
    pub const fn new(who: &'a str) -> Self {
        Self {
            who,
            why: None,
            origin: None,
        }
    }

    pub(super) const fn because(who: &'a str, why: &'a str) -> Self {
        Self {
            who,
            why: Some(why),
            origin: None,
        }
    }
}

/// Records of gateways, apart from the loaded versions themselves.
#[derive(Default)]
pub(super) struct Lifecycle {
    /// `None`: nothing is stored, as in tests of the host alone.
    store: OnceLock<Store>,
    /// Held during a change: changes happen one after the other.
    changing: tokio::sync::Mutex<()>,
    book: Mutex<GatewayRecords>,
}

#[derive(Default)]
struct GatewayRecords {
    records: BTreeMap<String, Record>,
    /// Versions removed from a full record, by name and hash. Their copies stay, because an attempt
    /// may still need one.
    past: BTreeMap<(String, String), StoredVersion>,
    /// Hashes that operators pinned.
    pins: BTreeMap<String, Pin>,
    folder: Option<PathBuf>,
    files: BTreeMap<String, folder::SeenFile>,
}

/// Hash whose file is installed without further consent.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Pin {
    pub sha256: String,
    pub by: String,
    pub at: Timestamp,
    /// Origin of the operator's token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

impl Lifecycle {
    fn book(&self) -> MutexGuard<'_, GatewayRecords> {
        self.book.lock()
    }

    fn record(&self, name: &str) -> Option<Record> {
        self.book().records.get(name).cloned()
    }

    /// Hash of the version of a gateway that was current before.
    pub(super) fn last(&self, name: &str) -> Option<String> {
        self.book().records.get(name)?.previous.last().cloned()
    }

    fn found(&self, name: &str) -> Result<Record, LifeError> {
        let missing = || LifeError::NotFound(name.to_owned());
        self.record(name).ok_or_else(missing)
    }

    /// Granted hosts and quarantine of a version, also of one that was removed from a full record.
    fn remembered(&self, name: &str, sha256: &str) -> Option<StoredVersion> {
        let book = self.book();
        let recorded = book
            .records
            .get(name)
            .and_then(|record| record.version(sha256));
        let past = || book.past.get(&(name.to_owned(), sha256.to_owned()));
        recorded.or_else(past).cloned()
    }

    /// Stores a changed record, then makes it the current one.
    async fn keep(&self, record: Record) -> Result<(), LifeError> {
        self.keep_with(record, Vec::new()).await
    }

    /// Stores a changed record and, in the same commit, the versions that it has no room for any
    /// more.
    async fn keep_with(&self, record: Record, past: Vec<StoredVersion>) -> Result<(), LifeError> {
        if let Some(store) = self.store.get() {
            rows::write(store, &record, &past).await?;
        }
        let mut book = self.book();
        for kept in past {
            book.past
                .insert((record.name.clone(), kept.sha256.clone()), kept);
        }
        book.records.insert(record.name.clone(), record);
        Ok(())
    }

    /// Quarantines a version that was removed from its full record. `None`: the version is unknown.
    async fn quarantine_past(
        &self,
        name: &str,
        sha256: &str,
        quarantine: &Quarantine,
    ) -> Result<Option<()>, LifeError> {
        let quarantine = Some(quarantine.clone());
        self.change_past(name, sha256, |kept| kept.quarantine = quarantine)
            .await
    }

    /// Stores the crashes of a version's workers. The caller holds `changing`.
    async fn write_deaths(
        &self,
        name: &str,
        sha256: &str,
        deaths: Vec<Timestamp>,
    ) -> Result<(), LifeError> {
        let mut record = self.found(name)?;
        if record.note_deaths(sha256, deaths.clone()) {
            return self.keep(record).await;
        }
        let changed = self.change_past(name, sha256, |kept| kept.deaths = deaths);
        changed.await.map(|_| ())
    }

    /// Changes a version that was removed from its full record. `None`: the version is unknown.
    async fn change_past(
        &self,
        name: &str,
        sha256: &str,
        change: impl FnOnce(&mut StoredVersion),
    ) -> Result<Option<()>, LifeError> {
        let key = (name.to_owned(), sha256.to_owned());
        let Some(mut kept) = self.book().past.get(&key).cloned() else {
            return Ok(None);
        };
        change(&mut kept);
        if let Some(store) = self.store.get() {
            rows::write_past(store, name, &kept).await?;
        }
        self.book().past.insert(key, kept);
        Ok(Some(()))
    }
}

#[cfg(test)]
mod tests {
    use switchyard_gateway::manifest::Hosts;

    use super::*;
    use switchyard_core::limits::GATEWAY_VERSIONS;

    const NOW: Timestamp = Timestamp::from_seconds(1);

    fn kept(number: usize) -> StoredVersion {
        StoredVersion {
            sha256: format!("{number:064}"),
            version: format!("1.0.{number}"),
            title: "A".to_owned(),
            bytes: 1,
            hosts: Hosts {
                sandbox: Vec::new(),
                live: vec![format!("{number}.acme.example")],
            },
            consented_by: "ada".to_owned(),
            consented_at: NOW,
            consent: "asked".to_owned(),
            source: Source::Folder,
            approved_by: None,
            quarantine: None,
            deaths: Vec::new(),
        }
    }

    fn quarantine(reason: &str) -> Quarantine {
        Quarantine {
            reason: reason.to_owned(),
            at: NOW,
            by: "engine".to_owned(),
        }
    }

    #[tokio::test]
    async fn what_was_granted_and_a_quarantine_outlive_a_versions_place_in_its_record() {
        let store = Store::memory();
        let life = Lifecycle::default();
        assert!(life.store.set(store.clone()).is_ok());
        let mut record = Record::new("a");
        for number in 0..GATEWAY_VERSIONS + 2 {
            let past = record.activate(kept(number), &ChangeAuthor::new("ada"), NOW);
            if number == 0 {
                let sha256 = kept(0).sha256;
                record
                    .quarantine(&sha256, &quarantine("it panics"), NOW)
                    .unwrap();
            }
            life.keep_with(record.clone(), past).await.unwrap();
        }
        let late = quarantine("it stalls");
        let sha256 = kept(1).sha256;
        let known = life.quarantine_past("a", &sha256, &late).await.unwrap();
        assert!(known.is_some());

        let restarted = Lifecycle::default();
        let mut book = GatewayRecords::default();
        rows::read(&store, &mut book).await.unwrap();
        *restarted.book() = book;
        for (number, reason) in [(0, "it panics"), (1, "it stalls")] {
            let sha256 = kept(number).sha256;
            assert!(
                record.version(&sha256).is_none(),
                "its record has no room for it"
            );
            let found = restarted.remembered("a", &sha256).unwrap();
            assert_eq!(found.hosts, kept(number).hosts);
            assert_eq!(found.quarantine.unwrap().reason, reason);
        }
        // Installed once more, it is a version like any other.
        let past = record.activate(kept(0), &ChangeAuthor::new("ada"), NOW);
        life.keep_with(record, past).await.unwrap();
        let found = life.remembered("a", &kept(0).sha256).unwrap();
        assert_eq!(found.quarantine, None);
    }
}
