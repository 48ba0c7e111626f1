//! Provider ids that belong to several attempts of one connection. Such an id proves nothing about
//! any of them, so each of them gets a case. The case about the attempt that makes the id known is
//! in the commit of its outcome. Those about the others follow it, and a crash in between loses
//! them: the transactions that have the id are then found by a search for it.

use super::calls::send_outcome;
use super::commit::Step;
use crate::engine::Engine;
use switchyard_core::ids::{AttemptId, TransactionId};
use switchyard_core::transaction::{Attempt, AttemptKey, AttemptState, Command, Transaction};
use switchyard_records::{Name, RecordError, attempts_with_id, is_named};
use switchyard_store::{Batch, Store};
use switchyard_system::trace::TraceContext;

/// Provider id that a step makes known, and the other attempts that have it.
pub(super) struct SharedId {
    attempt: AttemptId,
    provider_id: String,
    others: Vec<AttemptKey>,
}

impl SharedId {
    /// Opens the case about the attempt of the step.
    pub(super) fn command(&self) -> Command {
        Command::AmbiguousId {
            attempt: self.attempt,
            provider_id: self.provider_id.clone(),
        }
    }

    /// Opens a case about each of the others. In the background: an actor that waited for another
    /// one could wait for itself.
    pub(super) fn report_to_others(self, engine: &Engine) {
        for (transaction, attempt) in self.others {
            let command = Command::AmbiguousId {
                attempt,
                provider_id: self.provider_id.clone(),
            };
            let engine = engine.clone();
            let trace = TraceContext::current();
            let runtime = engine.runtime().clone();
            let report = async move { send_outcome(&engine, transaction, command).await };
            runtime.spawn(trace.scope(report));
        }
    }
}

/// The shared ids among those that `step` makes known. The commit conflicts if another attempt gets
/// first an id that was unknown here. A damaged index counts as a shared id.
pub(super) async fn find(
    store: &Store,
    step: &Step,
    batch: &mut Batch,
) -> Result<Vec<SharedId>, RecordError> {
    let after = &step.after;
    let mut shared = Vec::new();
    for attempt in &after.attempts {
        let Some((name, provider_id)) = new_id(step, attempt) else {
            continue;
        };
        if !is_named(store, &name).await? {
            name.require_unknown(batch);
            continue;
        }
        let others = match others_with(store, &name, after, attempt).await {
            Ok(others) if others.is_empty() => continue,
            Ok(others) => others,
            // The outcome is stored nevertheless.
            Err(error) if error.is_damaged() => Vec::new(),
            Err(error) => return Err(error),
        };
        shared.push(SharedId {
            attempt: attempt.id,
            provider_id,
            others,
        });
    }
    Ok(shared)
}

/// Provider id of an attempt that may move money, if the step makes it known or makes the attempt
/// one that may.
fn new_id(step: &Step, attempt: &Attempt) -> Option<(Name, String)> {
    let moves_money = |one: &Attempt| one.state.is_open() || one.state == AttemptState::Succeeded;
    let before = step.before.as_ref();
    let known = before.and_then(|before| before.attempt(attempt.id));
    let is_known =
        known.is_some_and(|known| known.provider_id == attempt.provider_id && moves_money(known));
    let id = attempt.provider_id.as_ref();
    let id = id.filter(|_| moves_money(attempt) && !is_known)?;
    let name = Name::provider_id(attempt.candidate.connection, id)?;
    Some((name, id.clone()))
}

/// Whether another attempt at the same connection has the provider id of `attempt`. Queries use
/// our reference only then. An index that cannot be read counts as a shared id.
pub(super) async fn is_shared(store: &Store, tx: &Transaction, attempt: &Attempt) -> bool {
    let connection = attempt.candidate.connection;
    let provider_id = attempt.provider_id.as_deref();
    let Some(name) = provider_id.and_then(|id| Name::provider_id(connection, id)) else {
        return false;
    };
    let others = others_with(store, &name, tx, attempt).await;
    others.map_or(true, |others| !others.is_empty())
}

/// The other attempts of this name. Attempts with one reference are one to the provider.
async fn others_with(
    store: &Store,
    name: &Name,
    tx: &Transaction,
    attempt: &Attempt,
) -> Result<Vec<AttemptKey>, RecordError> {
    let is_same = |id: TransactionId, other: AttemptId| {
        let other = (id == tx.id).then(|| tx.attempt(other)).flatten();
        other.is_some_and(|other| other.reference == attempt.reference)
    };
    let mut others = attempts_with_id(store, name).await?;
    others.retain(|(id, other)| !is_same(*id, *other));
    Ok(others)
}
