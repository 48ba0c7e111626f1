//! Proposals of routing rules of an app in live.

use serde::{Deserialize, Serialize};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, ApprovalId};
use switchyard_core::routing::RuleSet;
use switchyard_store::Batch;
use switchyard_users::{Permit, Users};

use super::NotExecuted;
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

/// Replaces the rules and stores the approval in one commit. Runs in a task of its own: the memory
/// follows the commit, also when the client hangs up.
pub async fn approve(
    api: &ApiState,
    users: &Users,
    permit: &Permit,
    id: ApprovalId,
    proposed: Proposed,
) -> Result<(), NotExecuted> {
    let execution = execute(users.clone(), api.clone(), permit.clone(), id, proposed);
    let executed = tokio::spawn(execution).await;
    executed.map_err(|_| NotExecuted::Store)?
}

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
