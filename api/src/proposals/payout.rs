//! Proposals of payouts of an app in live.
//!
//! The approval and the payout are one commit, so that an approved proposal has made its payout.
//! The commit has the idempotency key of the order, too: of two approved proposals with one key, one
//! makes a payout.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AccountId, AppId, ApprovalId, PayoutId, TransactionId};
use switchyard_core::transaction::ClientContext;
use switchyard_engine::access::Caller;
use switchyard_engine::engine::{Engine, NewPayout};
use switchyard_engine::idempotency::Answer;
use switchyard_store::Batch;
use switchyard_users::{Approval, Permit, Users, UsersError};

use super::{NotExecuted, name_of, read};
use crate::error::ApiError;
use crate::merchant::initialize::{Initialization as _, Initialized, initialize_once};
use crate::operator::Refused;
use crate::state::ApiState;

/// Kind of these proposals.
pub const KIND: &str = "payout";

/// Payout that a second person approves.
#[derive(Serialize, Deserialize)]
pub struct Proposed {
    pub app: AppId,
    pub environment: Environment,
    /// Idempotency key of the order.
    pub key: String,
    /// Request of the merchant API.
    pub request: Value,
}

impl Proposed {
    /// The request, read by the rules of the merchant API.
    pub fn read(&self, engine: &Engine, caller: &Caller) -> Result<NewPayout, ApiError> {
        let (body, context) = (self.request.to_string(), ClientContext::default());
        NewPayout::read(body.as_bytes(), engine, caller, context)
    }
}

/// Whether a second person approves the payout.
pub fn needs_second_person(caller: &Caller, new: &NewPayout) -> bool {
    let settings = &caller.app.settings.second_person;
    settings.is_needed_for_payout(caller.environment, new.amount)
}

/// Open proposal of an order that was sent before, under the same key, and its request.
pub fn open_with_key(
    users: &Users,
    account: Option<AccountId>,
    caller: &Caller,
    key: &str,
) -> Option<(ApprovalId, Value)> {
    let mut open = users.open_approvals(account).into_iter();
    open.find_map(|approval| {
        let proposed = read::<Proposed>(&approval).filter(|_| approval.kind == KIND)?;
        let is_same = proposed.key == key
            && proposed.app == caller.app.id
            && proposed.environment == caller.environment;
        is_same.then_some((approval.id, proposed.request))
    })
}

/// The payout that the first request with the same key made.
pub fn id_of(answer: &Answer) -> Option<TransactionId> {
    #[derive(Deserialize)]
    struct Body {
        data: Data,
    }
    #[derive(Deserialize)]
    struct Data {
        id: PayoutId,
    }
    let body: Body = serde_json::from_str(&answer.body).ok()?;
    Some(TransactionId::Payout(body.data.id))
}

/// Makes the payout of a proposal and its approval in one commit, and writes the entry of the audit
/// log with both people. Runs in a task of its own: the memory follows the commit, also when the
/// client hangs up.
pub async fn approve(
    api: &ApiState,
    users: &Users,
    caller: Caller,
    permit: &Permit,
    approval: &Approval,
    proposed: Proposed,
) -> Result<TransactionId, NotExecuted> {
    let new = proposed.read(api.engine(), &caller);
    let new = new.map_err(|error| NotExecuted::Change(Refused(error)))?;
    let both = serde_json::json!({
        "proposal": approval.id.to_string(),
        "proposed_by": name_of(users, approval.proposed_by),
    });
    let (users, api, permit) = (users.clone(), api.clone(), permit.clone());
    let (id, key) = (approval.id, proposed.key);
    let executed = tokio::spawn(async move {
        let payout = execute(&users, &api, &caller, &permit, id, new, key).await?;
        let entry = permit.entry(payout).changing(Value::Null, both);
        let audited = users.commit_audited(Batch::new(), vec![entry]).await;
        audited.map_err(NotExecuted::Users)?;
        Ok(payout)
    });
    executed.await.map_err(|_| NotExecuted::Store)?
}

/// Makes the payout and the approval in one commit. Where another proposal of the same order has
/// made the payout, only the approval is stored.
async fn execute(
    users: &Users,
    api: &ApiState,
    caller: &Caller,
    permit: &Permit,
    id: ApprovalId,
    new: NewPayout,
    key: String,
) -> Result<TransactionId, NotExecuted> {
    let mut batch = Batch::new();
    let staged = users.stage_approval(permit, id, &mut batch).await;
    let (_, staged) = staged.map_err(NotExecuted::Users)?;
    let add = |commit: &mut Batch, _| commit.append(&batch);
    let made = initialize_once(api, caller, new, key, Some(&add)).await;
    let answer = match made.map_err(|error| NotExecuted::Change(Refused(error)))? {
        Initialized::First(payout) => {
            staged.committed();
            return Ok(payout);
        }
        Initialized::Replayed(answer) => answer,
    };
    drop(staged);
    let payout = id_of(&answer).ok_or(NotExecuted::Store)?;
    match users.approve(permit, id, Batch::new()).await {
        // It was stored with the payout, and the answer about that commit was lost.
        Ok(_) | Err(UsersError::Conflict) => Ok(payout),
        Err(error) => Err(NotExecuted::Users(error)),
    }
}
