//! View of a gateway for operators: all its versions, with the calls and attempts on each.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::approval::{Awaiting, to_approve};
use super::record::{Record, StoredVersion};
use super::{LifeError, Lifecycle};
use crate::Gateways;
use crate::version::Version;
use switchyard_core::limits::GATEWAY_OPEN_ATTEMPTS;
use switchyard_records as records;

/// Current state of a gateway.
#[derive(Clone, Debug)]
pub struct Overview {
    pub record: Record,
    pub state: State,
    /// Versions, the latest first.
    pub versions: Vec<VersionView>,
}

#[derive(Clone, Debug)]
pub struct VersionView {
    pub kept: StoredVersion,
    pub is_current: bool,
    /// `None`: it is not loaded in this process, because it was not needed yet.
    pub loaded: Option<Arc<Version>>,
    pub running_calls: usize,
    pub open_attempts: Count,
}

/// Count, which may be a lower bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    pub count: usize,
    pub is_at_least: bool,
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let least = if self.is_at_least { "at least " } else { "" };
        write!(f, "{least}{}", self.count)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Serving,
    /// No new attempts begin; some are still open.
    Draining,
    /// No new attempts begin, and none is open.
    Drained,
    Quarantined,
    Removed,
}

impl State {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Serving => "serving",
            Self::Draining => "draining",
            Self::Drained => "drained",
            Self::Quarantined => "quarantined",
            Self::Removed => "removed",
        }
    }
}

impl Overview {
    /// Number of calls that run on any of its versions.
    pub fn running_calls(&self) -> usize {
        self.versions
            .iter()
            .map(|version| version.running_calls)
            .sum()
    }

    pub fn open_attempts(&self) -> Count {
        let counts = self.versions.iter().map(|version| version.open_attempts);
        counts.fold(Count::default(), |all, one| Count {
            count: all.count + one.count,
            is_at_least: all.is_at_least || one.is_at_least,
        })
    }

    pub fn current(&self) -> Option<&VersionView> {
        self.versions.iter().find(|version| version.is_current)
    }
}

impl Gateways {
    /// Returns one gateway with all its versions.
    pub async fn overview(&self, name: &str) -> Result<Overview, LifeError> {
        let record = self.0.life.found(name)?;
        self.overview_of(record).await
    }

    /// Returns all gateways that were ever installed, in order of name.
    pub async fn overviews(&self) -> Result<Vec<Overview>, LifeError> {
        let records: Vec<Record> = self.0.life.book().records.values().cloned().collect();
        let mut all = Vec::with_capacity(records.len());
        for record in records {
            all.push(self.overview_of(record).await?);
        }
        Ok(all)
    }

    async fn overview_of(&self, mut record: Record) -> Result<Overview, LifeError> {
        // Compare with the version that is in use now.
        if let Some(waiting) = record.awaiting.clone()
            && let Some(widens) = to_approve(&record, &waiting.version)
        {
            record.awaiting = Some(Awaiting { widens, ..waiting });
        }
        let mut versions = Vec::with_capacity(record.versions.len());
        for kept in record.versions.iter().rev() {
            let loaded = self.0.registry.version(&record.name, &kept.sha256);
            versions.push(VersionView {
                is_current: record.current.as_ref() == Some(&kept.sha256),
                running_calls: loaded.as_ref().map_or(0, |version| version.calls()),
                open_attempts: open_attempts(&self.0.life, &kept.sha256).await?,
                kept: kept.clone(),
                loaded,
            });
        }
        let mut overview = Overview {
            record,
            state: State::Serving,
            versions,
        };
        overview.state = state(&overview);
        Ok(overview)
    }
}

fn state(overview: &Overview) -> State {
    let Some(current) = overview.current() else {
        return State::Removed;
    };
    let loaded = current.loaded.as_ref();
    // A loaded version may have a quarantine that is not stored yet.
    if current.kept.quarantine.is_some() || loaded.is_some_and(|version| version.is_in_quarantine())
    {
        return State::Quarantined;
    }
    let is_idle = overview.running_calls() == 0 && overview.open_attempts().count == 0;
    match (overview.record.is_draining, is_idle) {
        (false, _) => State::Serving,
        (true, false) => State::Draining,
        (true, true) => State::Drained,
    }
}

async fn open_attempts(life: &Lifecycle, sha256: &str) -> Result<Count, LifeError> {
    let Some(store) = life.store.get() else {
        return Ok(Count::default());
    };
    let count = records::open_attempts(store, sha256, GATEWAY_OPEN_ATTEMPTS)
        .await
        .map_err(LifeError::Read)?;
    Ok(Count {
        count,
        is_at_least: count == GATEWAY_OPEN_ATTEMPTS,
    })
}
