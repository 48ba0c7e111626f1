//! Proposals to close a case about money, which two operators make.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::{Deserialize, Serialize};
use switchyard_core::ids::CaseId;
use switchyard_core::money::Amount;
use switchyard_core::transaction::Case;
use switchyard_users::{Approval, ApprovalState, Permit};

use super::super::case_names::case_name;
use super::super::form::Fields;
use super::super::installation::cases::{evidence, found, to_case};
use super::super::installation::resolve::to_transaction;
use super::super::installation::view::{Fact, Section, View};
use super::super::page::{Failed, Page};
use super::{Decided, carry_out, impossible, name_of, signers};

/// Kind of these proposals.
pub const KIND: &str = "case_closing";

/// Closing of a case that a second person approves.
#[derive(Serialize, Deserialize)]
pub struct Proposed {
    pub case: CaseId,
    pub note: String,
    /// The case as the proposer saw it.
    pub seen: Seen,
}

/// The money of a case as the proposer saw it. Another report may change it.
#[derive(PartialEq, Serialize, Deserialize)]
pub struct Seen {
    detail: String,
    amount: Option<Amount>,
    provider_id: Option<String>,
    is_closed: bool,
}

impl Seen {
    pub fn of(case: &Case) -> Self {
        Self {
            detail: case.detail.clone(),
            amount: case.amount,
            provider_id: case.provider_id.clone(),
            is_closed: case.closed.is_some(),
        }
    }

    /// Number of it, for the form of the page that shows it.
    fn number(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let amount = self
            .amount
            .map(|amount| (amount.minor(), amount.currency()));
        (&self.detail, amount, &self.provider_id, self.is_closed).hash(&mut hasher);
        hasher.finish()
    }
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
    let seen = Seen::of(&case.case);
    if approval.state == ApprovalState::Open && !seen.is_closed && seen != proposed.seen {
        impossible(page, view, &text.say("console-case-changed-since"));
    }
    Ok(seen.number())
}

pub(super) async fn approve(
    page: &Page,
    permit: Permit,
    approval: &Approval,
    proposed: Proposed,
    fields: &Fields,
) -> Decided {
    let case = found(page, &proposed.case.to_string()).await?;
    let seen = Seen::of(&case.case);
    if fields.text("seen") != seen.number().to_string() {
        return Ok(Err(page.text().say("console-case-changed")));
    }
    if seen != proposed.seen {
        return Ok(Err(page.text().say("console-case-changed-since")));
    }
    let both = serde_json::json!({
        "note": proposed.note,
        "proposal": approval.id.to_string(),
        "proposed_by": name_of(page, approval.proposed_by),
    });
    let entry = permit.entry(proposed.case);
    let entry = entry.changing(serde_json::Value::Null, both);
    let signers = signers(page, approval, &permit);
    let engine = page.state.engine().clone();
    let close = async move |batch| {
        let closed = engine.close_seen_case(&case, signers, proposed.note, batch);
        closed.await?;
        Ok(())
    };
    carry_out(page, permit, approval.id, "case-closed", vec![entry], close).await
}
