//! Pages of proposals of batches of payouts of an app in live.

use switchyard_users::{Approval, Permit};

use super::super::installation::view::{Section, Target, View};
use super::super::page::{Failed, Page};
use super::{Decided, not_executed};
use crate::payout_batches;
pub use crate::payout_batches::{KIND, Proposed};

/// Name of the file of a proposal.
pub(super) fn subject(approval: &Approval) -> String {
    approval.reason.clone()
}

/// Adds a link to the lines of the batch, which its own page shows until it is discarded.
pub(super) async fn show(page: &Page, proposed: &Proposed, view: &mut View) -> Result<u64, Failed> {
    let batch = page.state.users().batch_by_id(proposed.batch).await?;
    if batch.is_none() {
        return Ok(0);
    }
    let path = format!("payouts/batches/{}", proposed.batch);
    view.sections.push(Section {
        links: vec![Target {
            href: page.in_scope(&path),
            name: page.text().say("console-batch-lines-link"),
        }],
        ..Section::default()
    });
    Ok(0)
}

pub(super) async fn approve(
    page: &Page,
    permit: Permit,
    approval: &Approval,
    proposed: Proposed,
) -> Decided {
    let (users, api) = (page.state.users(), page.state.api());
    match payout_batches::approve(api, users, &permit, approval.id, proposed.batch).await {
        Ok(()) => {
            let path = format!("payouts/batches/{}?done=batch-approved", proposed.batch);
            Ok(Ok(page.in_scope(&path)))
        }
        Err(why) => not_executed(page, &permit, approval.id, why).await,
    }
}
