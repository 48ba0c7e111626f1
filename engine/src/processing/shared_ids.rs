//! Provider ids that belong to several attempts of one connection. Such an id proves nothing about
//! any of them, so each of them gets a case, in the commit that makes the id known. A commit has the
//! cases of [`ATTEMPTS_PER_ID`](switchyard_core::limits::ATTEMPTS_PER_ID) payments and as many
//! payouts at most: all but the newest have theirs since earlier commits.

use super::commit::Step;
use switchyard_core::ids::{AttemptId, TransactionId};
use switchyard_core::transaction::{Attempt, AttemptKey, Captured, Command, Transaction};
use switchyard_records::{Name, RecordError, all_with_id, load};
use switchyard_store::{Batch, Store};

/// Provider id that a step makes known, and the other attempts that have it.
pub(super) struct SharedId {
    attempt: AttemptId,
    provider_id: String,
    /// Money that was reported under the id for the attempt of the step, and for another one: each
    /// may be of any.
    own: Option<Captured>,
    theirs: Option<Captured>,
    others: Vec<AttemptKey>,
}

impl SharedId {
    /// Commands that open the cases: about the attempt of the step, which is one of `own`, and about
    /// the others.
    pub(super) fn commands(self, own: TransactionId) -> Vec<(TransactionId, Command)> {
        let command = |(id, attempt), reported| {
            let provider_id = self.provider_id.clone();
            let command = Command::AmbiguousId {
                attempt,
                provider_id,
                reported,
            };
            (id, command)
        };
        let others = self.others.iter();
        let others = others.map(|other| command(*other, self.own.or(self.theirs)));
        std::iter::once(command((own, self.attempt), self.theirs))
            .chain(others)
            .collect()
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
    let new = after.attempts.iter().flat_map(|one| new_ids(step, one));
    for (attempt, name, provider_id) in new {
        let others = match all_with_id(store, &name).await {
            Ok(known) if known.is_empty() => {
                name.require_unknown(batch);
                continue;
            }
            Ok(known) => Some(others(known, after, attempt)),
            // The outcome is stored nevertheless.
            Err(error) if error.is_damaged() => None,
            Err(error) => return Err(error),
        };
        if others.as_ref().is_some_and(Vec::is_empty) {
            continue;
        }
        let others = others.unwrap_or_default();
        shared.push(SharedId {
            attempt: attempt.id,
            own: attempt.money_under(&provider_id),
            theirs: money_of(store, &others, &provider_id).await?,
            provider_id,
            others,
        });
    }
    Ok(shared)
}

/// Money that was reported under the id for one of these attempts. `None`: none was, or the rows of
/// the attempts cannot be read.
async fn money_of(
    store: &Store,
    attempts: &[AttemptKey],
    provider_id: &str,
) -> Result<Option<Captured>, RecordError> {
    for (id, attempt) in attempts {
        let tx = match load(store, *id).await {
            Ok(tx) => tx,
            // The outcome is stored nevertheless.
            Err(error) if error.is_damaged() => None,
            Err(error) => return Err(error),
        };
        let money = tx.and_then(|tx| tx.attempt(*attempt)?.money_under(provider_id));
        if money.is_some() {
            return Ok(money);
        }
    }
    Ok(None)
}

/// Provider ids of an attempt that moved money or may move some, if the step makes them known or
/// makes the attempt one that may.
fn new_ids<'s>(
    step: &'s Step,
    attempt: &'s Attempt,
) -> impl Iterator<Item = (&'s Attempt, Name, String)> {
    let before = step.before.as_ref();
    let known = before.and_then(|before| Some((before, before.attempt(attempt.id)?)));
    let known = known.filter(|(_, known)| known.may_have_moved_money());
    let ids_before = known.map_or_else(Vec::new, |(before, known)| before.ids_of(known));
    // Money under an id of an earlier report makes it the attempt's own.
    let becomes_own =
        |id: &str| attempt.has_own_id(id) && known.is_some_and(|(_, known)| !known.has_own_id(id));
    let mut ids = match attempt.may_have_moved_money() {
        true => step.after.ids_of(attempt),
        false => Vec::new(),
    };
    ids.retain(|id| !ids_before.contains(id) || becomes_own(id));
    ids.into_iter().filter_map(move |id| {
        let name = Name::provider_id(attempt.candidate.connection, id)?;
        Some((attempt, name, id.to_owned()))
    })
}

/// Whether another attempt at the same connection has the provider id of `attempt`. Queries use our
/// reference only then. An index that cannot be read counts as a shared id.
pub(super) async fn is_shared(store: &Store, tx: &Transaction, attempt: &Attempt) -> bool {
    let connection = attempt.candidate.connection;
    let provider_id = attempt.provider_id.as_deref();
    let Some(name) = provider_id.and_then(|id| Name::provider_id(connection, id)) else {
        return false;
    };
    let known = all_with_id(store, &name).await;
    known.map_or(true, |known| !others(known, tx, attempt).is_empty())
}

/// The attempts of an id without `attempt`. Attempts with one reference are one to the provider.
fn others(mut known: Vec<AttemptKey>, tx: &Transaction, attempt: &Attempt) -> Vec<AttemptKey> {
    let is_same = |id: TransactionId, other: AttemptId| {
        let other = (id == tx.id).then(|| tx.attempt(other)).flatten();
        other.is_some_and(|other| other.reference == attempt.reference)
    };
    known.retain(|(id, other)| !is_same(*id, *other));
    known
}
