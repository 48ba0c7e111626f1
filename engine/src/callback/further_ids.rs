//! Provider's ids of callbacks, beside our reference: the ids that a transaction keeps, and the
//! order of reports under one id.
//!
//! A verified callback that names our reference teaches the engine its id. Reports of money that
//! wait for this id are applied then, and may be older or newer than the callback: where a decline
//! and money under one id meet, the provider is queried.

use super::row::Callback;
use super::verdict::{SOON, Verdict, matched};
use crate::engine::{Engine, EngineError};
use switchyard_core::ids::AttemptId;
use switchyard_core::limits::FURTHER_IDS;
use switchyard_core::transaction::{Attempt, AttemptKey, Command, Transaction};

/// Stores the id with the attempt, unless it has the id.
pub(super) async fn keep(
    engine: &Engine,
    (transaction, attempt): AttemptKey,
    id: Option<String>,
) -> Result<(), EngineError> {
    let Some(provider_id) = id else {
        return Ok(());
    };
    let tx = engine.transaction(transaction).await?;
    let known = || tx.iter().flat_map(|tx| with_reference_of(tx, attempt));
    if known().any(|one| one.has_id(&provider_id)) {
        return Ok(());
    }
    let is_full = |one: &Attempt| one.further_ids.len() >= FURTHER_IDS;
    if known().any(is_full) {
        metrics::counter!("switchyard_limits_reached_total", "limit" => "ids_per_attempt")
            .increment(1);
        return Ok(());
    }
    let named = Command::Identify {
        attempt,
        provider_id,
    };
    engine.registry().send(engine, transaction, named).await?;
    Ok(())
}

/// The attempts with the reference of `attempt`: to the provider they are one.
pub(super) fn with_reference_of(
    tx: &Transaction,
    attempt: AttemptId,
) -> impl Iterator<Item = &Attempt> {
    let reference = tx.attempt(attempt).map(|attempt| attempt.reference);
    let attempts = tx.attempts.iter();
    attempts.filter(move |one| Some(one.reference) == reference)
}

/// Whether `id` names another charge than those that are known of `attempt`.
pub(super) fn is_of_another_charge(attempt: &Attempt, id: Option<&str>) -> bool {
    let Some(id) = id else {
        return false;
    };
    let mut charges = attempt.charges.iter();
    let is_known = charges.clone().any(|charge| charge.is_under(Some(id)));
    let is_named = attempt.provider_id.is_some() || charges.any(|charge| charge.id.is_some());
    is_named && !is_known && attempt.provider_id.as_deref() != Some(id)
}

/// Reason to query the provider about a decline instead of applying it: money may have been
/// reported after the decline came. `None`: there is none.
pub(super) fn overtaken(
    callback: &Callback,
    tx: &Transaction,
    attempt: &Attempt,
) -> Option<&'static str> {
    let is_changed = tx.updated_at > callback.received_at;
    let has_money = attempt.standing_charge().is_some();
    (is_changed && has_money).then_some("Money was reported since it came.")
}

/// Verdict on a decline that made an id known. Reports of money that wait for the id are applied
/// first; then the decline is read once more.
pub(super) fn after_parked(engine: &Engine, note: String) -> Verdict {
    match engine.callbacks().may_be_awaited() {
        true => Verdict::Later {
            at: engine.clock().now().plus(SOON),
            note: format!("{note} It is read once more after callbacks that wait for its id."),
        },
        false => matched(note),
    }
}
