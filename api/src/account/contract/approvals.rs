//! Proposals that a second person approves.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchyard_core::ids::{ApprovalId, TransactionId, UserId};
use switchyard_core::routing::{FeeRow, Rule};
use switchyard_users::{Action, BatchId};
use utoipa::{IntoParams, ToSchema};

use crate::iso_timestamp::IsoTimestamp;
use crate::operator::contract::Amount;

/// Open or decided proposals.
#[derive(Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ApprovalFilter {
    /// `open` (default) or `decided`.
    pub state: Option<String>,
    /// `more` of the last page of decided proposals.
    #[param(value_type = Option<String>)]
    pub before: Option<ApprovalId>,
}

/// Page of proposals.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Approvals {
    /// Open ones oldest first, decided ones newest first.
    pub approvals: Vec<Approval>,
    /// Start of the next page.
    #[schema(value_type = Option<String>)]
    pub more: Option<ApprovalId>,
}

/// Proposal.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Approval {
    #[schema(value_type = String)]
    pub id: ApprovalId,
    /// `open`, `executed`, `rejected`, `withdrawn` or `expired`.
    pub state: String,
    /// Action that a role must include to approve or to reject it.
    #[schema(value_type = String)]
    pub approving: Action,
    pub reason: String,
    #[schema(value_type = String)]
    pub proposed_by: UserId,
    pub proposed_by_name: String,
    pub proposed_at: IsoTimestamp,
    pub expires_at: IsoTimestamp,
    #[schema(value_type = Option<String>)]
    pub decided_by: Option<UserId>,
    pub decided_at: Option<IsoTimestamp>,
    /// Reason of a rejection.
    pub rejected_because: Option<String>,
    /// The proposed payout; null for another change.
    pub payout: Option<ProposedPayout>,
    /// The proposed batch of payouts; null for another change.
    #[schema(value_type = Option<String>)]
    pub batch: Option<BatchId>,
    /// The proposed routing rules; null for another change.
    pub routing: Option<ProposedRules>,
}

/// Proposed payout. Without the action `view_personal_data` names and numbers are masked.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct ProposedPayout {
    pub amount: Amount,
    pub method: String,
    pub description: String,
    pub recipient: BTreeMap<String, String>,
    pub first_name: String,
    pub last_name: String,
    pub email: String,
}

/// Proposed routing rules.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct ProposedRules {
    /// Version that the proposer saw. They are refused unless it is still active.
    pub replaces: u64,
    #[schema(value_type = Vec<Object>)]
    pub rules: Vec<Rule>,
    #[schema(value_type = Vec<Object>)]
    pub fees: Vec<FeeRow>,
}

/// Rejection of a proposal.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rejection {
    #[schema(min_length = 1, max_length = 1000)]
    pub reason: String,
}

/// Approved proposal.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Approved {
    /// The payout that was made; null for another change.
    #[schema(value_type = Option<String>)]
    pub payout: Option<TransactionId>,
}
