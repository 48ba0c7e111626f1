//! Approval of an upgrade by a second operator.
//!
//! The current version of a gateway is called with the credentials of all its connections. So one
//! operator token must not be able to replace it by other code. An upgrade that widens the hosts or
//! comes from another source becomes current only after a token of another origin has approved it,
//! or when the settings file pins its hash. Until then it is not loaded, and the previous version
//! serves.

use serde::{Deserialize, Serialize};
use switchyard_gateway::manifest::Hosts;

use super::add::covers;
use super::change::{ChangeKind, checked};
use super::record::{Record, StoredVersion};
use super::{ChangeAuthor, LifeError, Overview};
use crate::Gateways;
use switchyard_core::time::Timestamp;

/// Source of a file. Ordered by trust, the least trusted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The operator API. Only the token vouches for it.
    Upload,
    /// The operator's folder.
    Folder,
    /// `gateways.pinned` of the settings file.
    Listed,
}

impl Source {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Upload => "upload",
            Self::Folder => "folder",
            Self::Listed => "listed",
        }
    }
}

/// Rights of an upgrade that the version in use does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Widening {
    /// Hosts that the version in use may not call.
    pub hosts: Hosts,
    /// Source of the version in use, if this one comes from another or is a new upload.
    pub source: Option<Source>,
}

/// A version that waits for its approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaiting {
    pub version: StoredVersion,
    pub widens: Widening,
    /// Origins of the tokens that uploaded it or consented to it.
    pub origins: Vec<String>,
}

/// The two changes that a version may become current by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Adding its file.
    Forward,
    /// Going back to it: its code has had the credentials before.
    Back,
}

/// Rights of `next` beyond those of the version in use, or of the last one of a removed gateway.
/// `None`: nothing that needs an approval. An earlier approval covers the code of a version, and
/// not hosts that the version in use may not call: these may be the reason why it was replaced.
pub(super) fn widening(record: &Record, next: &StoredVersion, step: Step) -> Option<Widening> {
    if is_exempt(next) || (step == Step::Forward && next.source == Source::Listed) {
        return None;
    }
    let used = record.current_version().or_else(|| record.last_version())?;
    let hosts = beyond(&next.hosts, &used.hosts);
    let is_same_file = next.sha256 == used.sha256;
    let is_other_source = match step {
        Step::Forward => next.source != used.source || next.source == Source::Upload,
        Step::Back => next.source < used.source && next.approved_by.is_none(),
    };
    let widens = Widening {
        source: (is_other_source && !is_same_file).then_some(used.source),
        hosts,
    };
    let is_wider = !is_within(&next.hosts, &used.hosts);
    (is_wider || widens.source.is_some()).then_some(widens)
}

/// Rights that a second operator has to approve before `next` becomes current.
pub(super) fn to_approve(record: &Record, next: &StoredVersion) -> Option<Widening> {
    widening(record, next, Step::Forward)
}

/// The hosts of `next` that `used` does not cover.
pub(super) fn beyond(next: &Hosts, used: &Hosts) -> Hosts {
    let fresh = |listed: &[String], used: &[String]| {
        let is_fresh = |host: &&String| !covers(used, host);
        listed.iter().filter(is_fresh).cloned().collect()
    };
    Hosts {
        sandbox: fresh(&next.sandbox, &used.sandbox),
        live: fresh(&next.live, &used.live),
    }
}

pub(super) fn is_within(next: &Hosts, used: &Hosts) -> bool {
    let beyond = beyond(next, used);
    beyond.sandbox.is_empty() && beyond.live.is_empty()
}

/// Rights of a waiting version beside the version that is in use now, if they are more than those
/// that were stored when it was added.
fn widens_more(record: &Record, awaiting: &Awaiting) -> Option<Widening> {
    let now = to_approve(record, &awaiting.version)?;
    is_more(&now, &awaiting.widens).then_some(now)
}

fn is_more(now: &Widening, stored: &Widening) -> bool {
    !is_within(&now.hosts, &stored.hosts) || (now.source.is_some() && now.source != stored.source)
}

/// Development mode and programs that embed the engine take every file as it is.
fn is_exempt(next: &StoredVersion) -> bool {
    matches!(next.consent.as_str(), "development" | "trusted")
}

impl Record {
    /// Version of a removed gateway that was current last.
    pub(super) fn last_version(&self) -> Option<&StoredVersion> {
        self.version(self.previous.last()?)
    }

    /// Stores a version that waits for approval. The same file again adds its operators to those
    /// who cannot approve it; another file takes its place.
    pub(super) fn put_aside(
        &mut self,
        mut awaiting: Awaiting,
        by: &ChangeAuthor<'_>,
        now: Timestamp,
    ) {
        let known = self.awaiting.take();
        if let Some(known) = known.filter(|known| known.version.sha256 == awaiting.version.sha256) {
            awaiting.origins.extend(known.origins);
            awaiting.origins.sort();
            awaiting.origins.dedup();
        }
        let (sha256, version) = (&awaiting.version.sha256, &awaiting.version.version);
        self.note_of(ChangeKind::AwaitsApproval, Some((sha256, version)), by, now);
        self.awaiting = Some(awaiting);
    }

    /// Takes the version with this hash out of its place, for an operator who may approve it.
    fn approved(&mut self, sha256: &str, by: &ChangeAuthor<'_>) -> Result<Awaiting, LifeError> {
        let awaiting = self.awaiting(sha256)?;
        let origin = by.origin.unwrap_or_default();
        // An operator whose token has no origin any more may be any of the others.
        let is_same = |known: &String| known.is_empty() || known == origin;
        if origin.is_empty() || awaiting.origins.iter().any(is_same) {
            return Err(LifeError::NotIndependent {
                name: self.name.clone(),
                sha256: awaiting.version.sha256.clone(),
            });
        }
        let found = awaiting.clone();
        self.awaiting = None;
        Ok(found)
    }

    /// Discards the version with this hash, which waits for approval.
    pub(super) fn reject(
        &mut self,
        sha256: &str,
        by: &ChangeAuthor<'_>,
        now: Timestamp,
    ) -> Result<(), LifeError> {
        let rejected = self.awaiting(sha256)?.version.clone();
        self.awaiting = None;
        let named = (rejected.sha256.as_str(), rejected.version.as_str());
        self.note_of(ChangeKind::Rejected, Some(named), by, now);
        Ok(())
    }

    /// Finds the waiting version by its whole hash: a second file with the same prefix is quickly
    /// made.
    fn awaiting(&self, sha256: &str) -> Result<&Awaiting, LifeError> {
        let sha256 = sha256.trim().to_lowercase();
        let waiting = self.awaiting.as_ref();
        let missing = || LifeError::NothingToApprove {
            name: self.name.clone(),
            sha256: sha256.clone(),
        };
        waiting
            .filter(|waiting| waiting.version.sha256 == sha256)
            .ok_or_else(missing)
    }
}

impl Gateways {
    /// Makes the version with this hash, which waits for approval, the current one.
    ///
    /// # Errors
    /// When the operator's token has the origin of one that uploaded it or consented to it, and
    /// once when the version in use has changed since so that this one widens more.
    pub async fn approve(
        &self,
        name: &str,
        sha256: &str,
        by: &ChangeAuthor<'_>,
    ) -> Result<Overview, LifeError> {
        let by = checked(by)?;
        {
            let life = &self.0.life;
            let _changing = life.changing.lock().await;
            let mut record = life.found(name)?;
            let approved = record.approved(sha256, &by)?;
            if let Some(widens) = widens_more(&record, &approved) {
                let (name, sha256) = (record.name.clone(), approved.version.sha256.clone());
                record.awaiting = Some(Awaiting { widens, ..approved });
                life.keep(record).await?;
                return Err(LifeError::WidensMore { name, sha256 });
            }
            let mut version = approved.version;
            version.approved_by = Some(by.who.to_owned());
            let loaded = self.loaded(&record, &version.sha256).await?;
            self.activate(record, &loaded, version, &by).await?;
        }
        self.overview(name).await
    }

    /// Discards the version with this hash, which waits for approval.
    pub async fn reject(
        &self,
        name: &str,
        sha256: &str,
        by: &ChangeAuthor<'_>,
    ) -> Result<Overview, LifeError> {
        let by = checked(by)?;
        {
            let life = &self.0.life;
            let _changing = life.changing.lock().await;
            let mut record = life.found(name)?;
            record.reject(sha256, &by, self.0.clock.now())?;
            self.keep_and_log(record).await?;
        }
        self.overview(name).await
    }

    /// Stores that a version waits for approval, and returns the error to report. The caller holds
    /// `changing`.
    pub(super) async fn put_aside(
        &self,
        mut record: Record,
        awaiting: Awaiting,
        by: &ChangeAuthor<'_>,
    ) -> Result<LifeError, LifeError> {
        let waits = LifeError::AwaitsApproval {
            name: record.name.clone(),
            version: awaiting.version.version.clone(),
            sha256: awaiting.version.sha256.clone(),
        };
        record.put_aside(awaiting, by, self.0.clock.now());
        self.keep_and_log(record).await?;
        Ok(waits)
    }

    async fn keep_and_log(&self, record: Record) -> Result<(), LifeError> {
        let (name, change) = (record.name.clone(), record.changes.back().cloned());
        self.0.life.keep(record).await?;
        if let Some(change) = change {
            change.log(&name);
        }
        Ok(())
    }

    /// Source of a file: by its hash if that is listed, otherwise by its folder.
    pub(super) fn source(&self, path: &std::path::Path, sha256: &str) -> Source {
        if self.is_pinned_by_settings(sha256) {
            return Source::Listed;
        }
        let folder = self.0.life.book().folder.clone();
        match folder.is_some_and(|folder| path.parent() == Some(folder.as_path())) {
            true => Source::Folder,
            false => Source::Upload,
        }
    }
}

#[cfg(test)]
#[path = "approval_tests.rs"]
mod tests;
