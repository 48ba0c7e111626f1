//! Lifecycle of a version of a gateway as a table, found by running the changes of its record.

use std::collections::BTreeSet;

use switchyard_gateway::manifest::Hosts;

use super::ChangeAuthor;
use super::approval::{Awaiting, Source, Widening};
use super::record::{Record, StoredVersion};
use crate::version::Quarantine;
use switchyard_core::time::Timestamp;

/// State of a version in the record of its gateway, in the order of its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VersionState {
    /// Not in the record: not added yet, or rejected.
    Unknown,
    /// A second operator has to approve it.
    AwaitsApproval,
    /// Attempts begin on it.
    Serving,
    /// No attempts begin; open ones end on it.
    Draining,
    /// Another version serves, or the gateway was removed. Open attempts end on it, and it can
    /// become current again.
    Earlier,
    /// Stopped after faults: its open attempts are only queried.
    Quarantined,
}

/// State before, change in the record, state after.
pub type VersionTransition = (VersionState, &'static str, VersionState);

impl VersionState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::AwaitsApproval => "awaits_approval",
            Self::Serving => "serving",
            Self::Draining => "draining",
            Self::Earlier => "earlier",
            Self::Quarantined => "quarantined",
        }
    }

    fn of(record: &Record, sha256: &str) -> Self {
        let Some(kept) = record.version(sha256) else {
            let waiting = record.awaiting.as_ref();
            return match waiting.is_some_and(|waiting| waiting.version.sha256 == sha256) {
                true => Self::AwaitsApproval,
                false => Self::Unknown,
            };
        };
        let is_current = record.current.as_deref() == Some(sha256);
        match (kept.quarantine.is_some(), is_current, record.is_draining) {
            (true, _, _) => Self::Quarantined,
            (false, true, false) => Self::Serving,
            (false, true, true) => Self::Draining,
            (false, false, _) => Self::Earlier,
        }
    }
}

/// Changes of a record with two versions. Each is tried after each.
#[derive(Clone, Copy)]
enum Step {
    Activate(&'static str),
    PutAside(&'static str),
    Reject,
    RollBack,
    Drain,
    Remove,
    Quarantine(&'static str),
    Restore(Option<&'static str>),
}

const SUBJECT: &str = "a";
const OTHER: &str = "b";
const STEPS: [Step; 12] = [
    Step::Activate(SUBJECT),
    Step::Activate(OTHER),
    Step::PutAside(SUBJECT),
    Step::PutAside(OTHER),
    Step::Reject,
    Step::RollBack,
    Step::Drain,
    Step::Remove,
    Step::Quarantine(SUBJECT),
    Step::Quarantine(OTHER),
    Step::Restore(None),
    Step::Restore(Some(SUBJECT)),
];
/// Steps of the longest histories.
const DEPTH: usize = 5;
const BY: ChangeAuthor<'_> = ChangeAuthor::new("ada");
const NOW: Timestamp = Timestamp::from_seconds(1);

/// Transitions of one version in every history of two versions up to a fixed length.
pub fn version_transitions() -> BTreeSet<VersionTransition> {
    let mut found = BTreeSet::new();
    let mut records = vec![Record::new("gateway")];
    for _ in 0..DEPTH {
        let mut next: Vec<Record> = Vec::new();
        for record in &records {
            for step in STEPS {
                let mut after = record.clone();
                after.changes.clear();
                if !apply(&mut after, step) {
                    continue;
                }
                let states = [record, &after].map(|record| VersionState::of(record, SUBJECT));
                if let ([before, now], Some(change)) = (states, after.changes.back())
                    && before != now
                {
                    found.insert((before, change.what.as_str(), now));
                }
                after.changes.clear();
                if !next.contains(&after) {
                    next.push(after);
                }
            }
        }
        records = next;
    }
    found
}

/// Whether the change is possible.
fn apply(record: &mut Record, step: Step) -> bool {
    match step {
        Step::Activate(sha256) => {
            record.activate(version(sha256), &BY, NOW);
            true
        }
        // Only an upgrade needs approval.
        Step::PutAside(_) if record.versions.is_empty() => false,
        Step::PutAside(sha256) => {
            let awaiting = Awaiting {
                version: version(sha256),
                widens: Widening {
                    hosts: Hosts::default(),
                    source: None,
                },
                origins: Vec::new(),
            };
            record.put_aside(awaiting, &BY, NOW);
            true
        }
        Step::Reject => match record.awaiting.clone() {
            Some(waiting) => record.reject(&waiting.version.sha256, &BY, NOW).is_ok(),
            None => false,
        },
        Step::RollBack => record.roll_back(None, &BY, NOW).is_ok(),
        Step::Drain => record.drain(&BY, NOW).is_ok(),
        Step::Remove => record.remove(&BY, NOW).is_ok(),
        Step::Quarantine(sha256) => {
            let quarantine = Quarantine {
                reason: "it crashed".to_owned(),
                at: NOW,
                by: "engine".to_owned(),
            };
            record.quarantine(sha256, &quarantine, NOW).is_ok()
        }
        Step::Restore(sha256) => record.restore(sha256, &BY, NOW).is_ok(),
    }
}

fn version(sha256: &str) -> StoredVersion {
    StoredVersion {
        sha256: sha256.to_owned(),
        version: "1.0.0".to_owned(),
        title: "A gateway".to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_serves_only_after_consent_and_a_quarantine_ends_only_by_a_decision() {
        let found = version_transitions();
        for expected in [
            (VersionState::Unknown, "added", VersionState::Serving),
            (
                VersionState::AwaitsApproval,
                "upgraded",
                VersionState::Serving,
            ),
            (VersionState::Serving, "upgraded", VersionState::Earlier),
            (VersionState::Earlier, "rolled back", VersionState::Serving),
            (
                VersionState::Serving,
                "quarantined",
                VersionState::Quarantined,
            ),
        ] {
            assert!(found.contains(&expected), "{expected:?}: {found:?}");
        }
        for (from, change, to) in found {
            if from == VersionState::Quarantined {
                assert!(
                    ["restored", "upgraded"].contains(&change),
                    "{change} {to:?}"
                );
            }
            if from == VersionState::Unknown {
                let is_known = to == VersionState::AwaitsApproval;
                let is_added = ["added", "upgraded"].contains(&change);
                assert!(is_known || is_added, "{change} {to:?}");
            }
        }
    }
}
