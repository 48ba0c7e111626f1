//! The provider uses one id for two attempts. A callback by that id proves nothing about either:
//! each is queried by our reference, and a case says so once. Money may have moved for either, so
//! no other attempt starts. After the case is closed, another reported sum opens the next one.

use super::cases::{self, Evidence};
use super::{hint, success};
use crate::ids::AttemptId;
use crate::transaction::command::{Context, Refusal};
use crate::transaction::event::Event;
use crate::transaction::model::{CaseReason, Transaction};
use crate::transaction::outcome::Captured;
use crate::transaction::state::State;

pub(super) fn decide(
    tx: &Transaction,
    id: AttemptId,
    (provider_id, reported): (String, Option<Captured>),
    context: &Context,
) -> Result<Vec<Event>, Refusal> {
    let attempt = tx.attempt(id).ok_or(Refusal::UnknownAttempt(id))?;
    let amount = reported.and_then(|captured| success::amount(captured, attempt));
    let reported = reported.map(|_| format!(", and reported {} under it", success::sum(amount)));
    let evidence = Evidence {
        reason: CaseReason::AmbiguousProviderId,
        detail: format!(
            "the provider uses its id {provider_id} for another attempt of this connection, too{}",
            reported.unwrap_or_default()
        ),
        amount,
        before: None,
        is_clearing: false,
        provider_id: Some(provider_id),
    };
    let case = cases::open(tx, attempt, evidence, context);
    let query = match attempt.state.is_open() {
        true => hint::decide(tx, context),
        false => Vec::new(),
    };
    let waits = matches!(tx.state, State::AwaitingCustomer | State::AwaitingDispatch);
    let held = (waits && case.is_some()).then_some(Event::Held);
    Ok(case.into_iter().chain(held).chain(query).collect())
}
