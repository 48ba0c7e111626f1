//! Batches of payouts: a CSV file that is examined line by line, stored, confirmed once and then
//! carried out, one payout a line.
//!
//! Promises: nothing is ordered before the confirmation; a line makes at most one payout, whatever
//! is repeated, reloaded or killed: its idempotency key is made of the id of the batch and the
//! number of the line, and its payout names both in its metadata, in the same commit. Where the
//! app's settings ask for a second person for one of the lines, they decide about the whole batch.

mod examine;
mod file;
mod progress;
mod run;

use serde_json::Value;
use switchyard_core::ids::{AccountId, ApprovalId};
use switchyard_engine::access::Caller;
use switchyard_engine::engine::NewPayout;
pub use switchyard_users::{BATCH_PROPOSAL as KIND, ProposedBatch as Proposed};
use switchyard_users::{BatchId, BatchLine, PayoutBatch, Permit, Users, UsersError};

pub use self::examine::{Examined, LineProblem, examine, examine_lines};
pub use self::file::{COLUMNS, FILE_BYTES};
pub use self::progress::{LineProgress, LineState, Progress, progress};
pub use self::run::{resume, start};
use crate::operator::Refused;
use crate::proposals::{self, NotExecuted, payout};
use crate::state::{ApiState, ConsoleAccess};

/// Keys of the metadata by which a payout names its line.
const BATCH: &str = "batch";
const LINE: &str = "batch_line";
/// Key of the metadata with the merchant's own reference.
const REFERENCE: &str = "reference";

/// Result of a confirmation.
pub enum Confirmed {
    /// The service makes the payouts.
    Started,
    /// A second person has to approve it.
    Proposed(ApprovalId),
}

/// Request of a line with its place in the metadata.
fn request_of(batch: BatchId, line: &BatchLine) -> Value {
    let mut request = line.request.clone();
    request["metadata"][BATCH] = batch.to_string().into();
    request["metadata"][LINE] = line.number.to_string().into();
    request
}

/// Idempotency key of a line.
fn key_of(batch: BatchId, line: u32) -> String {
    format!("{batch}-{line}")
}

/// Open proposal of a batch.
pub fn open_proposal(users: &Users, account: AccountId, id: BatchId) -> Option<ApprovalId> {
    let open = users.proposal_of_batch(account, id);
    open.map(|approval| approval.id)
}

/// Whether a second person approves one of the payouts.
pub fn needs_second_person(caller: &Caller, payouts: &[NewPayout]) -> bool {
    let mut payouts = payouts.iter();
    payouts.any(|new| payout::needs_second_person(caller, new))
}

/// Confirms a batch: its payouts are made, or it becomes a proposal. A batch that was confirmed
/// before only goes on.
pub async fn confirm(
    state: &ApiState,
    console: &ConsoleAccess,
    permit: &Permit,
    caller: &Caller,
    head: &PayoutBatch,
    examined: &Examined,
) -> Result<Confirmed, Refused> {
    if needs_second_person(caller, &examined.payouts) {
        return propose(state, console, permit, head).await;
    }
    match console.users.confirm_batch(permit, head.id).await {
        Ok(_) | Err(UsersError::Conflict) => {}
        Err(error) => return Err(error.into()),
    }
    start(state, &console.users, head.id);
    Ok(Confirmed::Started)
}

async fn propose(
    state: &ApiState,
    console: &ConsoleAccess,
    permit: &Permit,
    head: &PayoutBatch,
) -> Result<Confirmed, Refused> {
    if let Some(id) = open_proposal(&console.users, head.account, head.id) {
        return Ok(Confirmed::Proposed(id));
    }
    let approval = match console.users.propose_batch(permit, head).await {
        // The same request was sent twice at once.
        Err(UsersError::Conflict) => {
            let open = open_proposal(&console.users, head.account, head.id);
            return Ok(Confirmed::Proposed(open.ok_or(UsersError::Conflict)?));
        }
        proposed => proposed?,
    };
    let path = proposals::page_path(head.app, head.environment, approval.id);
    proposals::announce(state, console, &approval, &path).await;
    Ok(Confirmed::Proposed(approval.id))
}

/// Confirms the batch of a proposal in one commit with its approval, and makes its payouts.
pub async fn approve(
    state: &ApiState,
    users: &Users,
    permit: &Permit,
    approval: ApprovalId,
    batch: BatchId,
) -> Result<(), NotExecuted> {
    let approved = users.approve_batch(permit, approval, batch).await;
    approved.map_err(NotExecuted::Users)?;
    start(state, users, batch);
    Ok(())
}
