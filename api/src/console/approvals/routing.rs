//! Pages of proposals of routing rules of an app in live.

use switchyard_users::{Approval, ApprovalState, Permit};

use super::super::installation::view::{Fact, View};
use super::super::page::{Failed, Page};
use super::super::routing::{active, replaced};
use super::{Decided, impossible, not_executed};
use crate::proposals::routing;
pub use crate::proposals::routing::{KIND, Proposed};

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
    let (users, api) = (page.state.users(), page.state.api());
    match routing::approve(api, users, &permit, approval.id, proposed).await {
        Ok(()) => Ok(Ok(page.in_scope("routing?done=routing-approved"))),
        Err(why) => not_executed(page, &permit, approval.id, why).await,
    }
}
