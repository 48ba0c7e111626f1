//! Batch of payouts that a user uploads as a file and confirms: its head, and its lines.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AccountId, AppId, UserId};
use switchyard_core::time::Timestamp;
use ulid::Ulid;

/// Id of a batch: `bat_` and a lower-case ULID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BatchId(Ulid);

/// A text is not the id of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id of the form bat_<26 characters>")]
pub struct NotABatch;

/// Head of a batch: everything but its lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PayoutBatch {
    pub id: BatchId,
    pub account: AccountId,
    pub app: AppId,
    pub environment: Environment,
    /// Name of the file.
    pub name: String,
    /// Number of its lines, each of which is one payout.
    pub count: u32,
    pub uploaded_by: UserId,
    pub uploaded_at: Timestamp,
    pub state: BatchState,
    /// Lines of which no payout was made, with the reason.
    #[serde(default)]
    pub refused: BTreeMap<u32, RefusedLine>,
}

/// Kind of the proposals of batches. Their payload is a [`ProposedBatch`].
pub const BATCH_PROPOSAL: &str = "payout_batch";

/// Batch that a second person approves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedBatch {
    pub app: AppId,
    pub environment: Environment,
    pub batch: BatchId,
}

/// State of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum BatchState {
    /// Dry run without an order.
    Draft,
    /// The service makes the payouts.
    Confirmed { by: UserId, at: Timestamp },
    /// Each line has a payout or a reason why it has none.
    Done {
        by: UserId,
        at: Timestamp,
        done_at: Timestamp,
    },
}

/// Reason why no payout was made of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedLine {
    /// Code of the error.
    pub code: String,
    /// The error in English.
    pub message: String,
}

/// Line of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchLine {
    /// Number of the line in the file; the heading is line 1.
    pub number: u32,
    /// Request of the merchant API.
    pub request: Value,
}

/// Batch to store.
#[derive(Clone, Debug)]
pub struct NewBatch {
    pub app: AppId,
    pub environment: Environment,
    pub name: String,
    pub lines: Vec<BatchLine>,
}

impl BatchId {
    pub const fn new(ulid: Ulid) -> Self {
        Self(ulid)
    }
}

impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0.to_string().to_lowercase())
    }
}

impl FromStr for BatchId {
    type Err = NotABatch;

    fn from_str(text: &str) -> Result<Self, NotABatch> {
        let rest = text.strip_prefix(PREFIX).ok_or(NotABatch)?;
        let ulid = Ulid::from_string(rest).map_err(|_| NotABatch)?;
        let id = Self(ulid);
        // One spelling only: idempotency keys are made of it.
        (id.to_string() == text).then_some(id).ok_or(NotABatch)
    }
}

impl TryFrom<String> for BatchId {
    type Error = NotABatch;

    fn try_from(text: String) -> Result<Self, NotABatch> {
        text.parse()
    }
}

impl From<BatchId> for String {
    fn from(id: BatchId) -> Self {
        id.to_string()
    }
}

const PREFIX: &str = "bat_";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_spelling() {
        let id = BatchId::new(Ulid::from_parts(1_800_000_000_000, 7));
        let text = id.to_string();
        assert_eq!(text.len(), "bat_".len() + 26);
        assert_eq!(text.parse(), Ok(id));
        for other in [
            text.to_uppercase(),
            text[4..].to_owned(),
            format!("{text}0"),
        ] {
            assert_eq!(other.parse::<BatchId>(), Err(NotABatch), "{other}");
        }
        assert_eq!("bat_".parse::<BatchId>(), Err(NotABatch));
    }
}
