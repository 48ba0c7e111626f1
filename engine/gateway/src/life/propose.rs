//! Preview of installing a file, without running any of it.

use std::path::Path;

use switchyard_gateway::manifest::Hosts;

use super::approval::{Source, Widening, beyond, to_approve};
use super::record::Record;
use super::{LifeError, add};
use crate::inspect::Inspection;
use crate::{Gateways, inspect};

/// File and the changes of installing it, to which an operator consents.
#[derive(Clone, Debug)]
pub struct Proposal {
    pub inspection: Inspection,
    /// Version that it would replace.
    pub replaces: Option<Replaced>,
    /// Whether it is one of the gateway's versions already.
    pub is_known: bool,
    /// Whether consent is given already: its hash is pinned, or development mode is on.
    pub needs_no_consent: bool,
    /// Rights that a second operator would have to approve.
    pub needs_approval: Option<Widening>,
}

#[derive(Clone, Debug)]
pub struct Replaced {
    pub version: String,
    pub sha256: String,
    /// Hosts that the current version may not call.
    pub new_hosts: Hosts,
}

impl Gateways {
    /// Inspects a file without running any of it, and returns the changes of installing it.
    pub async fn propose(&self, path: &Path) -> Result<Proposal, LifeError> {
        let (looked, pace) = (path.to_owned(), self.0.pace());
        let task = tokio::task::spawn_blocking(move || inspect::inspect_new(&looked, pace));
        let inspection = task.await.map_err(|_| LifeError::Stopping)??.inspection;
        let source = self.source(path, &inspection.sha256);
        Ok(self.proposal(inspection, source))
    }

    pub(super) fn proposal(&self, inspection: Inspection, source: Source) -> Proposal {
        let record = self.0.life.record(&inspection.manifest.name);
        let standing = self.standing_consent(&inspection.sha256);
        let granted = (
            standing.unwrap_or("asked"),
            inspection.manifest.hosts.clone(),
            source,
        );
        let kept = add::kept(&inspection, granted, ("", self.0.clock.now()));
        let replaced = record.as_ref().and_then(Record::current_version);
        Proposal {
            replaces: replaced.map(|kept| Replaced {
                version: kept.version.clone(),
                sha256: kept.sha256.clone(),
                new_hosts: beyond(&inspection.manifest.hosts, &kept.hosts),
            }),
            needs_approval: match &record {
                Some(record) => to_approve(record, &kept),
                None => to_approve(&Record::new(&kept.title), &kept),
            },
            is_known: record.is_some_and(|record| record.version(&inspection.sha256).is_some()),
            needs_no_consent: standing.is_some(),
            inspection,
        }
    }
}
