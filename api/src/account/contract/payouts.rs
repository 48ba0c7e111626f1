//! Orders of payouts.

use serde::{Deserialize, Serialize};
use switchyard_core::ids::{ApprovalId, TransactionId};
use utoipa::ToSchema;

/// Ordered payout, or the proposal of one. One of the two fields has a value.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct OrderedPayout {
    /// The payout, which is sent in the background.
    #[schema(value_type = Option<String>)]
    pub payout: Option<TransactionId>,
    /// The proposal, which a second person of the account approves.
    #[schema(value_type = Option<String>)]
    pub approval: Option<ApprovalId>,
}
