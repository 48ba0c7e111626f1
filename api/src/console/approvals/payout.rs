//! Pages of proposals of payouts of an app in live.

use switchyard_engine::engine::NewPayout;
use switchyard_users::{Approval, ApprovalState, Permit};

use super::super::installation::sentence;
use super::super::installation::view::{Fact, Section, View};
use super::super::page::{Failed, Page};
use super::super::payouts::{caller, facts};
use super::{Decided, impossible, not_executed};
use crate::merchant::initialize::Initialization as _;
use crate::proposals::payout;
pub use crate::proposals::payout::{KIND, Proposed};
use switchyard_users::Action;

/// The amount of a proposal with its currency.
pub(super) fn amount(page: &Page, proposed: &Proposed) -> String {
    let new = caller(page).map(|caller| proposed.read(page.state.engine(), &caller));
    match new {
        Ok(Ok(new)) => new.amount.with_code(page.text().language()),
        Ok(Err(_)) | Err(_) => "–".to_owned(),
    }
}

/// Adds the payout to the page.
pub(super) async fn show(
    page: &Page,
    approval: &Approval,
    proposed: &Proposed,
    view: &mut View,
) -> Result<u64, Failed> {
    let caller = caller(page)?;
    let new: NewPayout = match proposed.read(page.state.engine(), &caller) {
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
    let (caller, users, api) = (caller(page)?, page.state.users(), page.state.api());
    match payout::approve(api, users, caller, &permit, approval, proposed).await {
        Ok(payout) => {
            let to = format!("payouts/{payout}?done=payout-approved");
            Ok(Ok(page.in_scope(&to)))
        }
        Err(why) => not_executed(page, &permit, approval.id, why).await,
    }
}
