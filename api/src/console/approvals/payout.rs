//! Proposals of payouts of an app in live.
//!
//! The approval and the payout are one commit, so that an approved proposal has made its payout.
//! The commit has the idempotency key of the form, too: of two approved proposals from one form, one
//! makes a payout.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, ApprovalId, TransactionId};
use switchyard_core::transaction::ClientContext;
use switchyard_engine::access::Caller;
use switchyard_engine::engine::NewPayout;
use switchyard_store::Batch;
use switchyard_users::{Action, Approval, ApprovalState, Permit, Users, UsersError};

use super::super::installation::sentence;
use super::super::installation::view::{Fact, Section, View};
use super::super::page::{Failed, Page};
use super::super::payouts::{caller, facts, id_of};
use super::{Decided, NotExecuted, impossible, name_of, not_executed};
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
    /// Idempotency key of the form.
    pub key: String,
    /// Request of the merchant API.
    pub request: Value,
}

impl Proposed {
    /// The request, read by the rules of the merchant API.
    fn read(&self, page: &Page, caller: &Caller) -> Result<NewPayout, ApiError> {
        let (body, context) = (self.request.to_string(), ClientContext::default());
        NewPayout::read(body.as_bytes(), page.state.engine(), caller, context)
    }

    /// The amount with its currency.
    pub(super) fn amount(&self, page: &Page) -> String {
        let new = caller(page).map(|caller| self.read(page, &caller));
        match new {
            Ok(Ok(new)) => new.amount.with_code(page.text().language()),
            Ok(Err(_)) | Err(_) => "–".to_owned(),
        }
    }
}

/// Open proposal of the same form, which a browser has sent again.
pub fn of_form(page: &Page, key: &str) -> Option<ApprovalId> {
    let open = super::open(page);
    let same = open
        .iter()
        .find(|approval| match super::Proposed::of(approval) {
            Some(super::Proposed::Payout(one)) => one.key == key,
            _ => false,
        });
    same.map(|approval| approval.id)
}

/// Adds the payout to the page.
pub(super) async fn show(
    page: &Page,
    approval: &Approval,
    proposed: &Proposed,
    view: &mut View,
) -> Result<u64, Failed> {
    let caller = caller(page)?;
    let new = match proposed.read(page, &caller) {
        Ok(new) => new,
        Err(error) => {
            if approval.state == ApprovalState::Open {
                impossible(page, view, &sentence(&error, page.text())?);
            }
            return Ok(0);
        }
    };
    let mut rows = vec![Fact::new(
        page,
        "console-amount",
        new.amount.with_code(page.text().language()),
    )];
    let may_see = page.may(Action::ViewPersonalData);
    let of_payout = facts(page, &new, may_see)?.into_iter();
    rows.extend(of_payout.map(|(name, value)| Fact { name, value }));
    view.sections.push(Section {
        title: Some(page.text().say("console-payout")),
        facts: rows,
        ..Section::default()
    });
    if approval.state == ApprovalState::Open
        && let Err(error) = new.check(page.state.api(), &caller)
    {
        impossible(page, view, &sentence(&error, page.text())?);
    }
    Ok(0)
}

pub(super) async fn approve(
    page: &Page,
    permit: Permit,
    approval: &Approval,
    proposed: Proposed,
) -> Decided {
    let caller = caller(page)?;
    let new = match proposed.read(page, &caller) {
        Ok(new) => new,
        Err(error) => {
            let why = NotExecuted::Change(Refused(error));
            return not_executed(page, &permit, approval.id, why).await;
        }
    };
    let (users, api) = (page.state.users().clone(), page.state.api().clone());
    let (id, signed) = (approval.id, permit.clone());
    let execution = execute(users, api, caller, signed, id, new, proposed.key);
    // A task of its own: the memory follows the commit, also when the reader disconnects.
    let executed = tokio::spawn(execution).await;
    match executed.map_err(|_| Failed::Unavailable)? {
        Ok(payout) => {
            let both = serde_json::json!({
                "proposal": id.to_string(),
                "proposed_by": name_of(page, approval.proposed_by),
            });
            let entry = permit.entry(payout).changing(Value::Null, both);
            page.audit(entry).await?;
            let to = format!("payouts/{payout}?done=payout-approved");
            Ok(Ok(page.in_scope(&to)))
        }
        Err(why) => not_executed(page, &permit, id, why).await,
    }
}

/// Makes the payout and the approval in one commit. Where another proposal of the same form has
/// made the payout, only the approval is stored.
async fn execute(
    users: Users,
    api: ApiState,
    caller: Caller,
    permit: Permit,
    id: ApprovalId,
    new: NewPayout,
    key: String,
) -> Result<TransactionId, NotExecuted> {
    let mut batch = Batch::new();
    let staged = users.stage_approval(&permit, id, &mut batch).await;
    let (_, staged) = staged.map_err(NotExecuted::Users)?;
    let made = initialize_once(&api, &caller, new, key, Some(&batch)).await;
    let answer = match made.map_err(|error| NotExecuted::Change(Refused(error)))? {
        Initialized::First(payout) => {
            staged.committed();
            return Ok(payout);
        }
        Initialized::Replayed(answer) => answer,
    };
    drop(staged);
    let payout = id_of(&answer).ok_or(NotExecuted::Store)?;
    match users.approve(&permit, id, Batch::new()).await {
        // It was stored with the payout, and the answer about that commit was lost.
        Ok(_) | Err(UsersError::Conflict) => Ok(payout),
        Err(error) => Err(NotExecuted::Users(error)),
    }
}
