//! Proposals of manual resolutions, which two operators make.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchyard_core::ids::{ApprovalId, TransactionId};
use switchyard_core::transaction::{Operator, Transaction};
use switchyard_engine::engine::{Engine, EngineError, ResolutionPreview};
use switchyard_store::Batch;
use switchyard_system::trace::TraceContext;
use switchyard_users::{Approval, ApprovalState, Permit, Users};

use super::super::form::Fields;
use super::super::installation::resolution::{
    effects, effects_number, entered, evidence, preview, warnings,
};
use super::super::installation::resolve::{found, to_transaction};
use super::super::installation::sentence;
use super::super::installation::view::View;
use super::super::page::{Failed, Page};
use super::{Decided, NotExecuted, address, impossible, name_of, not_executed};
use crate::operator::Refused;
use crate::operator::contract::transactions::Resolve;
use crate::operator::manual_resolution::checked;

/// Kind of these proposals.
pub const KIND: &str = "manual_resolution";

/// Manual resolution that a second person approves.
#[derive(Serialize, Deserialize)]
pub struct Proposed {
    pub transaction: TransactionId,
    pub resolve: Resolve,
}

/// Adds the outcome with its effects and the evidence. Returns the number of the effects.
pub(super) async fn show(
    page: &Page,
    approval: &Approval,
    proposed: &Proposed,
    view: &mut View,
) -> Result<u64, Failed> {
    let tx = found(page, &proposed.transaction.to_string()).await?;
    view.links = vec![to_transaction(page, &tx)];
    view.sections.push(entered(page, &tx, &proposed.resolve));
    if approval.state != ApprovalState::Open {
        return Ok(NO_EFFECTS);
    }
    let number = match proposed_effects(page, &tx, approval, proposed) {
        Ok(preview) => {
            view.alerts = warnings(page, &preview);
            view.sections.push(effects(page, &tx, &preview));
            effects_number(page, &tx, &preview)
        }
        Err(why) => {
            impossible(page, view, &sentence(&why.0, page.text())?);
            NO_EFFECTS
        }
    };
    view.sections.push(evidence(page, &tx));
    Ok(number)
}

fn proposed_effects(
    page: &Page,
    tx: &Arc<Transaction>,
    approval: &Approval,
    proposed: &Proposed,
) -> Result<ResolutionPreview, Refused> {
    let proposer = Operator {
        name: name_of(page, approval.proposed_by),
        token: None,
    };
    preview(page, tx, proposer, &proposed.resolve)
}

/// Number in place of effects that the page does not state.
const NO_EFFECTS: u64 = 0;

pub(super) async fn approve(
    page: &Page,
    permit: Permit,
    approval: &Approval,
    proposed: Proposed,
    fields: &Fields,
) -> Decided {
    let tx = found(page, &proposed.transaction.to_string()).await?;
    // The person read these effects. The resolution itself refuses what has become impossible.
    let number = proposed_effects(page, &tx, approval, &proposed)
        .map_or(NO_EFFECTS, |preview| effects_number(page, &tx, &preview));
    if fields.text("seen") != number.to_string() {
        return Ok(Err(page.text().say("console-resolve-changed")));
    }
    let signers = Operator {
        name: format!("{}, {}", name_of(page, approval.proposed_by), permit.name),
        token: None,
    };
    let (users, engine) = (page.state.users().clone(), page.state.engine().clone());
    let (id, signed) = (approval.id, permit.clone());
    let execution = execute(users, engine, signed, id, tx, proposed, signers);
    // A separate task: the in-memory state is updated also when the client disconnects.
    let executed = tokio::spawn(TraceContext::current().scope(execution)).await;
    match executed.map_err(|_| Failed::Unavailable)? {
        Ok(()) => Ok(Ok(address(page, &format!("/{id}?done=approved")))),
        Err(why) => not_executed(page, &permit, id, why).await,
    }
}

/// Resolves the transaction and stores the approval in one commit.
async fn execute(
    users: Users,
    engine: Engine,
    permit: Permit,
    id: ApprovalId,
    tx: Arc<Transaction>,
    proposed: Proposed,
    signers: Operator,
) -> Result<(), NotExecuted> {
    let mut batch = Batch::new();
    let staged = users.stage_approval(&permit, id, &mut batch).await;
    let (_, staged) = staged.map_err(NotExecuted::Users)?;
    let checked = checked(proposed.resolve, &tx).map_err(NotExecuted::Change)?;
    let (note, resolution) = checked;
    let resolved = engine.resolve_with(tx.id, signers, note, resolution, batch);
    let resolved = resolved.await;
    resolved.map_err(|error: EngineError| NotExecuted::Change(error.into()))?;
    staged.committed();
    Ok(())
}
