//! Callbacks with a provider id that several attempts have, or with the reference of an attempt
//! that has not succeeded and the id of another one. They change no attempt: each attempt is
//! queried by our reference, and a case is opened.

use std::sync::Arc;

use super::crowd::{covered_or_later, is_beyond_limit};
use super::row::Callback;
use super::verdict::{Hint, Verdict, hint, matched};
use crate::engine::{Engine, EngineError};
use switchyard_core::ids::AttemptId;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{Attempt, AttemptKey, Captured, Command, Outcome, Transaction};
use switchyard_gateway_host::CallbackReport;

/// Opens the cases, then queries `attempts`, each by our reference. A callback that nobody vouches
/// for is kept as one of the callbacks of the first of them, whose number is limited.
pub(super) async fn query(
    engine: &Engine,
    callback: &mut Callback,
    attempts: Vec<AttemptKey>,
    read: &CallbackReport,
) -> Result<Verdict, EngineError> {
    let mut is_one_too_many = false;
    if let (false, Some((id, attempt))) = (read.is_trusted(), attempts.first()) {
        let named: Vec<_> = attempts.iter().map(|(_, attempt)| *attempt).collect();
        is_one_too_many = is_beyond_limit(engine, callback, *id, &named).await?;
        (callback.transaction, callback.attempt) = (Some(*id), Some(*attempt));
        if is_one_too_many && let Some(verdict) = covered_or_later(engine, callback, &named) {
            return Ok(verdict);
        }
    }
    let mut known = Vec::new();
    for (id, attempt) in attempts {
        let tx = engine.transaction(id).await?;
        known.extend(tx.map(|tx| (tx, attempt)));
    }
    // Money under the id may be of any of them.
    let id = callback
        .provider_id
        .as_deref()
        .filter(|_| read.is_trusted());
    let money = id.and_then(|id| {
        let mut all = known
            .iter()
            .filter_map(|(tx, attempt)| tx.attempt(*attempt));
        all.find_map(|attempt| attempt.money_under(id))
    });
    // Before any query: one that is not answered must leave no attempt open to another payment.
    let mut in_question = Vec::new();
    for (tx, attempt) in known {
        let tx = match is_news(&tx, attempt, read) || money.is_some() {
            true => report(engine, callback, (&tx, attempt), (read, money)).await?,
            false => Some(tx),
        };
        in_question.extend(tx.map(|tx| (tx, attempt)));
    }
    let mut later = None;
    for (tx, attempt) in &in_question {
        let Some(attempt) = tx.attempt(*attempt) else {
            continue;
        };
        let at = match hint(engine, callback, tx, attempt, Hint::of(WHY)).await? {
            // Our own call is in flight, or a query was sent a moment ago.
            None => engine.clock().now().plus(SOON),
            Some(Verdict::Later { at, .. }) => at,
            Some(_) => continue,
        };
        later = Some(later.map_or(at, |earlier: Timestamp| earlier.min(at)));
    }
    Ok(match later {
        Some(at) => Verdict::Later {
            at,
            note: WHY.to_owned(),
        },
        None if is_one_too_many => Verdict::Forget,
        None => matched(format!("{WHY} Each was queried by our reference.")),
    })
}

/// Whether the callback says that money may have moved for the attempt. One that nobody vouches for
/// says nothing, and one without money nothing about an attempt that ended without any.
fn is_news(tx: &Transaction, attempt: AttemptId, read: &CallbackReport) -> bool {
    let attempt = tx.attempt(attempt).filter(|_| read.is_trusted());
    attempt.is_some_and(|attempt| {
        reported(tx, attempt, read).is_some() || attempt.may_have_moved_money()
    })
}

/// The money that the callback reports.
fn reported(tx: &Transaction, attempt: &Attempt, read: &CallbackReport) -> Option<Captured> {
    match read
        .outcome(tx.id, attempt.amount)
        .filter(Outcome::reports_money)?
    {
        Outcome::Succeeded { amount, .. } => Some(amount),
        Outcome::Pending { received, .. } => received.map(Captured::Named),
        Outcome::Declined(_) | Outcome::NotSent { .. } | Outcome::Unknown { .. } => None,
    }
}

/// Opens a case about an attempt: the provider uses the callback's id for another one, too. `None`:
/// the transaction is gone or takes no case.
///
/// `money`: reported under the id before.
async fn report(
    engine: &Engine,
    callback: &Callback,
    (tx, attempt): (&Transaction, AttemptId),
    (read, money): (&CallbackReport, Option<Captured>),
) -> Result<Option<Arc<Transaction>>, EngineError> {
    let about = tx.attempt(attempt);
    let reported = about.and_then(|attempt| reported(tx, attempt, read).or(money));
    let command = Command::AmbiguousId {
        attempt,
        provider_id: callback.provider_id.clone().unwrap_or_default(),
        reported,
    };
    match engine.registry().send(engine, tx.id, command).await {
        Ok(tx) => Ok(Some(tx)),
        Err(EngineError::NotFound | EngineError::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

const WHY: &str = "Its provider id belongs to several attempts.";
/// Delay before a callback is processed again after our own call was in flight.
const SOON: std::time::Duration = std::time::Duration::from_secs(1);
