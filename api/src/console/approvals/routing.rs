//! Proposals of routing rules of an app in live.

use serde::{Deserialize, Serialize};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, ApprovalId};
use switchyard_core::routing::RuleSet;
use switchyard_store::Batch;
use switchyard_users::{Approval, ApprovalState, Permit, Users};

use super::super::installation::view::{Fact, View};
use super::super::page::{Failed, Page};
use super::super::routing::{active, replaced};
use super::{Decided, NotExecuted, impossible, not_executed};
use crate::operator::replace_rules;
use crate::state::ApiState;

/// Kind of these proposals.
pub const KIND: &str = "routing";

/// Routing rules that a second person approves.
#[derive(Serialize, Deserialize)]
pub struct Proposed {
    pub app: AppId,
    pub environment: Environment,
    pub set: RuleSet,
    /// Version that the proposer saw.
    pub replaces: u64,
}

/// Adds the rules, with the traffic of the last day under them while the proposal is open. Returns
/// the version that they replace.
pub(super) async fn show(
    page: &Page,
    approval: &Approval,
    proposed: &Proposed,
    view: &mut View,
) -> Result<u64, Failed> {
    let is_open = approval.state == ApprovalState::Open;
    if let Some(first) = view.sections.first_mut() {
        first
            .facts
            .push(Fact::new(page, "console-reason", &approval.reason));
    }
    view.sections
        .extend(replaced(page, &proposed.set, is_open).await?);
    let (_, version) = active(page)?;
    if is_open && version != proposed.replaces {
        impossible(page, view, &page.text().say("console-routing-replaced"));
    }
    Ok(proposed.replaces)
}

pub(super) async fn approve(
    page: &Page,
    permit: Permit,
    approval: &Approval,
    proposed: Proposed,
) -> Decided {
    let (users, api) = (page.state.users().clone(), page.state.api().clone());
    let execution = execute(users, api, permit.clone(), approval.id, proposed);
    // A separate task: the in-memory state is updated also when the client disconnects.
    let executed = tokio::spawn(execution).await;
    match executed.map_err(|_| Failed::Unavailable)? {
        Ok(()) => Ok(Ok(page.in_scope("routing?done=routing-approved"))),
        Err(why) => not_executed(page, &permit, approval.id, why).await,
    }
}

/// Replaces the rules and stores the approval in one commit.
async fn execute(
    users: Users,
    api: ApiState,
    permit: Permit,
    id: ApprovalId,
    proposed: Proposed,
) -> Result<(), NotExecuted> {
    let mut batch = Batch::new();
    let staged = users.stage_approval(&permit, id, &mut batch).await;
    let (_, staged) = staged.map_err(NotExecuted::Users)?;
    let (app, environment) = (proposed.app, proposed.environment);
    let replaces = Some(proposed.replaces);
    let replaced = replace_rules(&api, app, environment, proposed.set, replaces, batch).await;
    replaced.map_err(NotExecuted::Change)?;
    staged.committed();
    Ok(())
}
