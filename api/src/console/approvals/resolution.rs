//! Proposals of manual resolutions, which two operators make.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::{Operator, Transaction};
use switchyard_engine::engine::ResolutionPreview;
use switchyard_users::{Approval, ApprovalState, Permit};

use super::super::form::Fields;
use super::super::installation::resolution::{
    effects, effects_number, entered, evidence, preview, warnings,
};
use super::super::installation::resolve::{found, to_transaction};
use super::super::installation::sentence;
use super::super::installation::view::View;
use super::super::page::{Failed, Page};
use super::{Decided, carry_out, impossible, name_of, signers};
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
    let signers = signers(page, approval, &permit);
    let engine = page.state.engine().clone();
    let resolve = async move |batch| {
        let (note, resolution) = checked(proposed.resolve, &tx)?;
        let resolved = engine.resolve_with(tx.id, signers, note, resolution, batch);
        resolved.await?;
        Ok(())
    };
    carry_out(page, permit, approval.id, "approved", Vec::new(), resolve).await
}
