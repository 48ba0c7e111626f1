//! Proposals to close a case about money, which two operators make.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::{Deserialize, Serialize};
use switchyard_core::ids::CaseId;
use switchyard_records::CaseFound;
use switchyard_users::{Approval, ApprovalState, Permit};

use super::super::case_names::case_name;
use super::super::form::Fields;
use super::super::installation::cases::{evidence, found, to_case};
use super::super::installation::resolve::to_transaction;
use super::super::installation::view::{Fact, Section, View};
use super::super::page::{Failed, Page};
use super::{Decided, carry_out, impossible, signers};

/// Kind of these proposals.
pub const KIND: &str = "case_closing";

/// Closing of a case that a second person approves.
#[derive(Serialize, Deserialize)]
pub struct Proposed {
    pub case: CaseId,
    pub note: String,
}

/// Adds the case with its evidence. Returns the number of the evidence.
pub(super) async fn show(
    page: &Page,
    approval: &Approval,
    proposed: &Proposed,
    view: &mut View,
) -> Result<u64, Failed> {
    let case = found(page, &proposed.case.to_string()).await?;
    let text = page.text();
    view.links = vec![
        to_case(page, &case),
        to_transaction(page, &case.transaction),
    ];
    let mut facts = vec![
        Fact::new(page, "console-evidence-note", &proposed.note),
        Fact::new(
            page,
            "console-reason",
            case_name(&case.transaction, &case.case, text),
        ),
    ];
    facts.extend(evidence(page, &case));
    view.sections.push(Section {
        title: Some(text.say("console-one-case")),
        facts,
        ..Section::default()
    });
    if approval.state == ApprovalState::Open && case.case.closed.is_some() {
        impossible(page, view, &text.say("console-refusal-case-closed"));
    }
    Ok(number(&case))
}

/// Number of what the page says about the case: another report may change it.
fn number(found: &CaseFound) -> u64 {
    let case = &found.case;
    let mut hasher = DefaultHasher::new();
    let amount = case
        .amount
        .map(|amount| (amount.minor(), amount.currency()));
    (
        &case.detail,
        amount,
        &case.provider_id,
        case.closed.is_some(),
    )
        .hash(&mut hasher);
    hasher.finish()
}

pub(super) async fn approve(
    page: &Page,
    permit: Permit,
    approval: &Approval,
    proposed: Proposed,
    fields: &Fields,
) -> Decided {
    let case = found(page, &proposed.case.to_string()).await?;
    if fields.text("seen") != number(&case).to_string() {
        return Ok(Err(page.text().say("console-case-changed")));
    }
    let signers = signers(page, approval, &permit);
    let engine = page.state.engine().clone();
    let close = async move |batch| {
        let closed = engine.close_case_with(proposed.case, signers, proposed.note, batch);
        closed.await?;
        Ok(())
    };
    carry_out(page, permit, approval.id, "case-closed", close).await
}
