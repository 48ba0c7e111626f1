//! Proposals that take effect when a second person approves them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchyard_core::ids::{AccountId, ApprovalId, UserId};
use switchyard_core::time::Timestamp;

use crate::role::Action;

/// A proposal with its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    pub id: ApprovalId,
    /// Account that it concerns; `None`: the installation.
    pub account: Option<AccountId>,
    /// Kind of the payload, such as `payout`. Chosen by the caller.
    pub kind: String,
    /// Change that is executed after the approval, in the form of the caller.
    pub payload: Value,
    pub reason: String,
    /// Action that a role must allow to approve or to reject it.
    pub approving: Action,
    pub proposed_by: UserId,
    pub proposed_at: Timestamp,
    pub expires_at: Timestamp,
    pub state: ApprovalState,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ApprovalState {
    Open,
    /// Approved and executed, in one commit.
    Executed {
        by: UserId,
        at: Timestamp,
    },
    Rejected {
        by: UserId,
        at: Timestamp,
        reason: String,
    },
    /// Taken back by the person who made it.
    Withdrawn {
        at: Timestamp,
    },
    Expired,
}

impl Approval {
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now >= self.expires_at
    }

    pub(crate) fn expired(&self) -> Self {
        self.with_state(ApprovalState::Expired)
    }

    pub(crate) fn with_state(&self, state: ApprovalState) -> Self {
        Self {
            state,
            ..self.clone()
        }
    }
}
