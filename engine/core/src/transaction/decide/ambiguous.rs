//! The provider uses one id for two attempts. A callback by that id proves nothing about either:
//! each is queried by our reference, and a case says so once.

use super::cases::{self, Evidence};
use super::hint;
use crate::ids::AttemptId;
use crate::transaction::command::{Context, Refusal};
use crate::transaction::event::Event;
use crate::transaction::model::{CaseReason, Transaction};

pub(super) fn decide(
    tx: &Transaction,
    id: AttemptId,
    provider_id: String,
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let attempt = tx.attempt(id).ok_or(Refusal::UnknownAttempt(id))?;
    let evidence = Evidence {
        reason: CaseReason::AmbiguousProviderId,
        detail: format!(
            "the provider uses its id {provider_id} for another attempt of this connection, too"
        ),
        amount: None,
        provider_id: Some(provider_id),
    };
    let case = cases::open(tx, attempt, evidence, context);
    let query = match attempt.state.is_open() {
        true => hint::decide(tx, context),
        false => Vec::new(),
    };
    Ok(case.into_iter().chain(query).collect())
}
