//! Record of a gateway: its versions, the current one, and all changes. Pure.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use switchyard_gateway::manifest::Hosts;

use super::ChangeAuthor;
use super::approval::{Awaiting, Source, Step, is_within, widening};
use super::change::{Change, ChangeKind};
use super::error::LifeError;
use crate::version::Quarantine;
use switchyard_core::limits::{GATEWAY_CHANGES, GATEWAY_VERSIONS};
use switchyard_core::time::Timestamp;

/// Stored state of a gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub name: String,
    /// Version on which new attempts begin. `None`: the gateway was removed.
    pub current: Option<String>,
    /// Whether no new attempts begin while the open ones finish.
    #[serde(default)]
    pub is_draining: bool,
    /// Earlier current versions, the latest last: targets of a rollback.
    #[serde(default)]
    pub previous: Vec<String>,
    /// Versions in the order in which they were added.
    pub versions: Vec<StoredVersion>,
    #[serde(default)]
    pub changes: VecDeque<Change>,
    /// An upgrade that a second operator has to approve.
    #[serde(default)]
    pub awaiting: Option<Awaiting>,
}

/// Installed version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredVersion {
    pub sha256: String,
    pub version: String,
    pub title: String,
    pub bytes: u64,
    /// Hosts granted by consent, of those in its manifest.
    pub hosts: Hosts,
    pub consented_by: String,
    pub consented_at: Timestamp,
    /// Kind of consent: `pinned`, `asked`, `development` or `trusted`.
    pub consent: String,
    pub source: Source,
    /// The second operator, where one was needed.
    #[serde(default)]
    pub approved_by: Option<String>,
    #[serde(default)]
    pub quarantine: Option<Quarantine>,
    /// Times of its workers' crashes within an hour before the last one. Empty once it is restored
    /// or activated again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deaths: Vec<Timestamp>,
}

impl Record {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            current: None,
            is_draining: false,
            previous: Vec::new(),
            versions: Vec::new(),
            changes: VecDeque::new(),
            awaiting: None,
        }
    }

    pub fn version(&self, sha256: &str) -> Option<&StoredVersion> {
        self.versions.iter().find(|kept| kept.sha256 == sha256)
    }

    pub fn current_version(&self) -> Option<&StoredVersion> {
        self.version(self.current.as_deref()?)
    }

    /// Returns the only version whose hash has this prefix.
    pub(super) fn named(&self, beginning: &str) -> Result<&StoredVersion, LifeError> {
        let beginning = beginning.to_lowercase();
        let mut found = self
            .versions
            .iter()
            .filter(|kept| kept.sha256.starts_with(&beginning));
        let (name, sha256) = (self.name.clone(), beginning.clone());
        match (found.next(), found.next()) {
            (Some(kept), None) => Ok(kept),
            (None, _) => Err(LifeError::NoSuchVersion { name, sha256 }),
            (Some(_), Some(_)) => Err(LifeError::ManyVersions { name, sha256 }),
        }
    }

    /// Makes a version current, and clears its quarantine, crashes and drain. Returns the versions
    /// for which there is no room any more.
    pub(super) fn activate(
        &mut self,
        kept: StoredVersion,
        by: &ChangeAuthor<'_>,
        now: Timestamp,
    ) -> Vec<StoredVersion> {
        let what = match self.versions.is_empty() {
            true => ChangeKind::Added,
            false => ChangeKind::Upgraded,
        };
        let sha256 = kept.sha256.clone();
        self.awaiting = self
            .awaiting
            .take()
            .filter(|other| other.version.sha256 != sha256);
        match self.find(&sha256) {
            Some(known) => {
                let is_approved = is_within(&kept.hosts, &known.hosts);
                let approved_by = known.approved_by.take().filter(|_| is_approved);
                *known = StoredVersion {
                    approved_by: kept.approved_by.clone().or(approved_by),
                    ..kept
                };
            }
            None => self.versions.push(kept),
        }
        if let Some(replaced) = self
            .current
            .replace(sha256.clone())
            .filter(|old| *old != sha256)
        {
            self.previous.retain(|earlier| *earlier != sha256);
            self.previous.push(replaced);
        }
        self.is_draining = false;
        self.note(what, Some(&sha256), by, now);
        self.without_the_oldest()
    }

    /// Makes the previous version current again, or the version `to`.
    pub(super) fn roll_back(
        &mut self,
        to: Option<&str>,
        by: &ChangeAuthor<'_>,
        now: Timestamp,
    ) -> Result<String, LifeError> {
        let name = || self.name.clone();
        if self.current.is_none() {
            return Err(LifeError::WasRemoved(name()));
        }
        let target = match to {
            Some(beginning) => self.named(beginning)?.sha256.clone(),
            None => self
                .previous
                .last()
                .cloned()
                .ok_or_else(|| LifeError::NoEarlier(name()))?,
        };
        if self.current.as_deref() == Some(&target) {
            return Err(LifeError::AlreadyThere { name: name() });
        }
        if let Some(quarantine) = self
            .version(&target)
            .and_then(|kept| kept.quarantine.as_ref())
        {
            return Err(LifeError::InQuarantine {
                name: name(),
                reason: quarantine.reason.clone(),
                sha256: target.chars().take(12).collect(),
            });
        }
        self.check_step_back(&target)?;
        // The entries after the target are dropped; the entries before it stay targets of further
        // rollbacks.
        match self.previous.iter().rposition(|earlier| *earlier == target) {
            Some(place) => self.previous.truncate(place),
            None => self.previous.extend(self.current.take()),
        }
        self.current = Some(target.clone());
        self.is_draining = false;
        self.note(ChangeKind::RolledBack, Some(&target), by, now);
        Ok(target)
    }

    pub(super) fn drain(&mut self, by: &ChangeAuthor<'_>, now: Timestamp) -> Result<(), LifeError> {
        if self.current.is_none() {
            return Err(LifeError::WasRemoved(self.name.clone()));
        }
        if !self.is_draining {
            self.is_draining = true;
            let current = self.current.clone();
            self.note(ChangeKind::Draining, current.as_deref(), by, now);
        }
        Ok(())
    }

    pub(super) fn remove(
        &mut self,
        by: &ChangeAuthor<'_>,
        now: Timestamp,
    ) -> Result<(), LifeError> {
        let Some(current) = self.current.take() else {
            return Err(LifeError::WasRemoved(self.name.clone()));
        };
        self.is_draining = false;
        self.previous.retain(|earlier| *earlier != current);
        self.note(ChangeKind::Removed, Some(&current), by, now);
        self.previous.push(current);
        Ok(())
    }

    /// Quarantines a version.
    pub(super) fn quarantine(
        &mut self,
        sha256: &str,
        quarantine: &Quarantine,
        now: Timestamp,
    ) -> Result<(), LifeError> {
        let missing = LifeError::NoSuchVersion {
            name: self.name.clone(),
            sha256: sha256.to_owned(),
        };
        self.find(sha256).ok_or(missing)?.quarantine = Some(quarantine.clone());
        let by = ChangeAuthor::because(&quarantine.by, &quarantine.reason);
        self.note(ChangeKind::Quarantined, Some(sha256), &by, now);
        Ok(())
    }

    /// Notes the crashes of a version's workers. Returns whether the version is in the record.
    pub(super) fn note_deaths(&mut self, sha256: &str, deaths: Vec<Timestamp>) -> bool {
        let found = self.find(sha256).map(|kept| kept.deaths = deaths);
        found.is_some()
    }

    /// Ends the quarantine, drain or removal of a version. Returns the hash of the version, and
    /// whether anything was changed; if not, there is nothing to log.
    pub(super) fn restore(
        &mut self,
        version: Option<&str>,
        by: &ChangeAuthor<'_>,
        now: Timestamp,
    ) -> Result<(String, bool), LifeError> {
        let target = match (version, &self.current) {
            (Some(beginning), _) => self.named(beginning)?.sha256.clone(),
            (None, Some(current)) => current.clone(),
            (None, None) => self
                .previous
                .last()
                .cloned()
                .ok_or_else(|| LifeError::NoEarlier(self.name.clone()))?,
        };
        if self.current.is_none() {
            self.check_step_back(&target)?;
        }
        let kept = self.find(&target);
        let mut was_kept = kept.is_some_and(|kept| {
            let had_deaths = !std::mem::take(&mut kept.deaths).is_empty();
            kept.quarantine.take().is_some() || had_deaths
        });
        if self.current.is_none() {
            self.previous.retain(|earlier| *earlier != target);
            self.current = Some(target.clone());
            was_kept = true;
        }
        if self.current.as_deref() == Some(&target) {
            was_kept |= std::mem::take(&mut self.is_draining);
        }
        if was_kept {
            self.note(ChangeKind::Restored, Some(&target), by, now);
        }
        Ok((target, was_kept))
    }

    fn find(&mut self, sha256: &str) -> Option<&mut StoredVersion> {
        self.versions.iter_mut().find(|kept| kept.sha256 == sha256)
    }

    /// Checks that an earlier version may become current again. It must not get more rights than
    /// the current one.
    fn check_step_back(&self, target: &str) -> Result<(), LifeError> {
        let target = self.version(target);
        match target.filter(|target| widening(self, target, Step::Back).is_some()) {
            Some(target) => Err(LifeError::WiderThanCurrent {
                name: self.name.clone(),
                sha256: target.sha256.clone(),
            }),
            None => Ok(()),
        }
    }

    fn note(
        &mut self,
        what: ChangeKind,
        sha256: Option<&str>,
        by: &ChangeAuthor<'_>,
        now: Timestamp,
    ) {
        let version = sha256.and_then(|sha256| self.version(sha256));
        let version = version.map(|kept| kept.version.clone());
        let named = sha256.map(|sha256| (sha256, version.as_deref().unwrap_or("-")));
        self.note_of(what, named, by, now);
    }

    /// Appends a change. `version`: hash and version number that the change is about.
    pub(super) fn note_of(
        &mut self,
        what: ChangeKind,
        version: Option<(&str, &str)>,
        by: &ChangeAuthor<'_>,
        now: Timestamp,
    ) {
        self.changes.push_back(Change {
            at: now,
            by: by.who.to_owned(),
            what,
            sha256: version.map(|(sha256, _)| sha256.to_owned()),
            version: version.map(|(_, version)| version.to_owned()),
            why: by.why.map(str::to_owned),
        });
        while self.changes.len() > GATEWAY_CHANGES {
            self.changes.pop_front();
        }
    }

    fn without_the_oldest(&mut self) -> Vec<StoredVersion> {
        let mut past = Vec::new();
        while self.versions.len() > GATEWAY_VERSIONS {
            // The current version and the target of its rollback stay, however old they are.
            let stays = [self.current.clone(), self.previous.last().cloned()];
            let goes =
                |kept: &StoredVersion| stays.iter().flatten().all(|stay| *stay != kept.sha256);
            let Some(oldest) = self.versions.iter().position(goes) else {
                break;
            };
            let gone = self.versions.remove(oldest);
            self.previous.retain(|earlier| *earlier != gone.sha256);
            past.push(gone);
        }
        let surplus = self.previous.len().saturating_sub(GATEWAY_VERSIONS);
        self.previous.drain(..surplus);
        past
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: ChangeAuthor<'_> = ChangeAuthor::new("ada");
    const NOW: Timestamp = Timestamp::from_seconds(1);

    fn kept(sha256: &str) -> StoredVersion {
        StoredVersion {
            sha256: sha256.to_owned(),
            version: format!("1.0.{sha256}"),
            title: "A".to_owned(),
            bytes: 1,
            hosts: Hosts::default(),
            consented_by: "ada".to_owned(),
            consented_at: NOW,
            consent: "asked".to_owned(),
            source: Source::Folder,
            approved_by: None,
            quarantine: None,
            deaths: Vec::new(),
        }
    }

    fn with(versions: &[&str]) -> Record {
        let mut record = Record::new("a");
        for sha256 in versions {
            record.activate(kept(sha256), &ME, NOW);
        }
        record
    }

    #[test]
    fn going_back_goes_one_version_further_each_time_and_then_says_so() {
        let mut record = with(&["1", "2", "3"]);
        assert_eq!(record.roll_back(None, &ME, NOW).unwrap(), "2");
        assert_eq!(record.roll_back(None, &ME, NOW).unwrap(), "1");
        let refused = record.roll_back(None, &ME, NOW).unwrap_err();
        assert!(refused.to_string().contains("no earlier version"));
        // Forward again, by hash.
        assert_eq!(record.roll_back(Some("3"), &ME, NOW).unwrap(), "3");
        assert_eq!(record.roll_back(None, &ME, NOW).unwrap(), "1");
    }

    #[test]
    fn the_same_version_again_is_no_version_to_go_back_to() {
        let mut record = with(&["1", "2", "2", "1"]);
        assert_eq!(record.versions.len(), 2);
        assert_eq!(record.previous, ["2"]);
        assert_eq!(record.roll_back(None, &ME, NOW).unwrap(), "2");
        assert!(record.roll_back(Some("2"), &ME, NOW).is_err());
    }

    #[test]
    fn a_version_in_quarantine_is_no_way_back_until_it_is_restored() {
        let mut record = with(&["1", "2"]);
        let quarantine = Quarantine {
            reason: "it panics".to_owned(),
            at: NOW,
            by: "engine".to_owned(),
        };
        record.quarantine("1", &quarantine, NOW).unwrap();
        let refused = record.roll_back(None, &ME, NOW).unwrap_err().to_string();
        assert!(
            refused.contains("it panics") && refused.contains("restore"),
            "{refused}"
        );
        assert_eq!(record.restore(Some("1"), &ME, NOW).unwrap().0, "1");
        assert_eq!(
            record.current.as_deref(),
            Some("2"),
            "only its quarantine ended"
        );
        assert_eq!(record.roll_back(None, &ME, NOW).unwrap(), "1");
    }

    #[test]
    fn what_was_removed_comes_back_by_restore_or_by_its_file() {
        let mut record = with(&["1", "2"]);
        record.drain(&ME, NOW).unwrap();
        record.remove(&ME, NOW).unwrap();
        assert_eq!(
            (record.current.as_deref(), record.is_draining),
            (None, false)
        );
        assert!(record.remove(&ME, NOW).is_err() && record.drain(&ME, NOW).is_err());
        assert_eq!(record.restore(None, &ME, NOW).unwrap().0, "2");
        assert_eq!(record.roll_back(None, &ME, NOW).unwrap(), "1");
        record.remove(&ME, NOW).unwrap();
        record.activate(kept("2"), &ME, NOW);
        assert_eq!(record.current.as_deref(), Some("2"));
        let told: Vec<_> = record.changes.iter().map(|change| change.what).collect();
        use ChangeKind::*;
        let expected = [
            Added, Upgraded, Draining, Removed, Restored, RolledBack, Removed, Upgraded,
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn restoring_what_serves_is_nothing_to_tell_of() {
        let mut record = with(&["1", "2"]);
        let before = record.clone();
        let (version, was_kept) = record.restore(None, &ME, NOW).unwrap();
        assert_eq!((version.as_str(), was_kept), ("2", false));
        assert_eq!(record, before);
        record.drain(&ME, NOW).unwrap();
        assert!(record.restore(None, &ME, NOW).unwrap().1);
    }

    #[test]
    fn the_way_back_is_kept_however_old_the_version_is_that_it_leads_to() {
        let mut record = Record::new("a");
        for number in 0..2 * GATEWAY_VERSIONS {
            record.activate(kept("the first"), &ME, NOW);
            record.activate(kept(&format!("{number:05}")), &ME, NOW);
            assert_eq!(record.roll_back(None, &ME, NOW).unwrap(), "the first");
        }
        assert_eq!(record.versions.len(), GATEWAY_VERSIONS);
    }

    #[test]
    fn a_record_does_not_grow_without_end() {
        let mut record = Record::new("a");
        for number in 0..2 * GATEWAY_VERSIONS {
            record.activate(kept(&format!("{number:05}")), &ME, NOW);
        }
        assert_eq!(record.versions.len(), GATEWAY_VERSIONS);
        assert!(
            record.changes.len() <= GATEWAY_CHANGES && record.previous.len() <= GATEWAY_VERSIONS
        );
        assert!(record.roll_back(None, &ME, NOW).is_ok());
    }
}
