//! Changes of a gateway with author, time and reason: audit lines in its record and in the log.

use serde::{Deserialize, Serialize};

use super::ChangeAuthor;
use super::error::LifeError;
use switchyard_core::limits::GATEWAY_REASON_CHARACTERS;
use switchyard_core::time::Timestamp;

/// Change of a gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub at: Timestamp,
    /// The operator's name, or `engine`.
    pub by: String,
    pub what: ChangeKind,
    /// Version that it is about.
    pub sha256: Option<String>,
    pub version: Option<String>,
    pub why: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Added,
    Upgraded,
    RolledBack,
    Draining,
    Removed,
    Quarantined,
    Restored,
    AwaitsApproval,
    Rejected,
}

impl ChangeKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Upgraded => "upgraded",
            Self::RolledBack => "rolled back",
            Self::Draining => "draining",
            Self::Removed => "removed",
            Self::Quarantined => "quarantined",
            Self::Restored => "restored",
            Self::AwaitsApproval => "awaits approval",
            Self::Rejected => "rejected",
        }
    }
}

impl Change {
    /// Logs the change. Call it after the change is durable.
    pub(super) fn log(&self, gateway: &str) {
        tracing::info!(
            gateway.name = gateway,
            gateway.version = self.version.as_deref().unwrap_or("-"),
            gateway.sha256 = self.sha256.as_deref().unwrap_or("-"),
            change.kind = self.what.as_str(),
            change.by = self.by,
            change.why = self.why.as_deref().unwrap_or("-"),
            "gateway changed"
        );
        metrics::counter!(
            "switchyard_gateway_changes_total",
            "gateway" => gateway.to_owned(),
            "change" => self.what.as_str()
        )
        .increment(1);
    }
}

/// Checks that the reason is one short line.
pub(super) fn checked<'a>(by: &ChangeAuthor<'a>) -> Result<ChangeAuthor<'a>, LifeError> {
    let too_long = |why: &str| why.chars().count() > GATEWAY_REASON_CHARACTERS;
    match by.why {
        Some(why) if too_long(why) || why.chars().any(char::is_control) => {
            Err(LifeError::BadReason)
        }
        _ => Ok(*by),
    }
}
