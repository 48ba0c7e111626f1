//! Decides about a callback: its gateway verifies and parses it, then the result is applied to the
//! attempt that it names.

use std::time::Duration;

use switchyard_gateway::Callback as RawRequest;

use super::recipient::{self, Recipient};
use super::row::{Callback, CallbackState, damaged};
use super::{ambiguous, crowd, further_ids, late_hints};
use crate::engine::{Engine, EngineError};
use switchyard_core::ids::{AttemptId, TransactionId};
use switchyard_core::limits::{CALLBACK_HINT_AGE, CALLBACK_RETRY_WINDOW, CALLBACK_TRIES};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{
    Attempt, AttemptKey, AttemptState, Captured, Command, Identity, Outcome, State, Transaction,
    identify, is_unmistakable,
};
use switchyard_gateway_host::manifest::CallbackPer;
use switchyard_gateway_host::{
    CallbackCall, CallbackReport, Journal, Operation, ProviderCall, Version,
};
use switchyard_records::{all_with_id, attempt_named};

/// Decision about a callback.
pub(super) enum Verdict {
    /// Processed, and kept in `state`.
    End {
        state: CallbackState,
        note: String,
    },
    /// Processed, and deleted: its transaction has as many callbacks as are kept.
    Forget,
    Later {
        at: Timestamp,
        note: String,
    },
    /// The gateway failed to read the callback.
    Again {
        at: Timestamp,
        note: String,
    },
    /// Waits for the end of our own call about the attempt.
    AfterOurCall(Box<MatchedResult>),
}

/// Gateway's reading of a callback, and the attempt that it is about.
pub(super) struct MatchedResult {
    report: CallbackReport,
    found: Found,
}

impl MatchedResult {
    pub(super) fn attempt(&self) -> AttemptId {
        self.found.attempt
    }
}

/// Processes `callback` and updates its fields.
pub(super) async fn process(
    engine: &Engine,
    callback: &mut Callback,
) -> Result<Verdict, EngineError> {
    let Some(recipient) = recipient::find(engine, callback.connection) else {
        return Ok(end(CallbackState::Refused, "The connection was deleted."));
    };
    let Some((report, exchanges)) = ask_gateway(engine, callback, &recipient).await? else {
        return Ok(wait_for_gateway(engine, callback));
    };
    let report = match report {
        Ok(report) => report,
        Err(why) => return Ok(gateway_failed(engine, callback, why)),
    };
    if let Some(why) = report.refused() {
        return Ok(end(CallbackState::Refused, why));
    }
    callback.trusted = Some(report.is_trusted());
    callback.reference = report.reference();
    callback.provider_id = report.provider_id();
    let by_reference = by_reference(engine, callback).await?;
    let identity = identity(engine, callback, by_reference).await?;
    let ((transaction, attempt), is_proven) = match identity {
        Identity::Unknown => {
            let has_outcome = report.is_trusted() && report.has_outcome();
            if has_outcome && callback.names().is_empty() {
                return Ok(nameless(callback));
            }
            return Ok(unmatched(callback));
        }
        Identity::Proven(one) => (one, true),
        Identity::Disagree(one) if !report.is_trusted() => (one, false),
        // Another charge with the reference of an attempt that has succeeded: the order is paid
        // already.
        Identity::Disagree(one) if has_succeeded(engine, one).await? => (one, true),
        Identity::Disagree(one) => {
            (callback.transaction, callback.attempt) = (Some(one.0), Some(one.1));
            let both = named_by_both(engine, callback, one).await?;
            let verdict = ambiguous::query(engine, callback, both, &report).await?;
            // A report that names the id alone may be about this attempt, too.
            further_ids::keep(engine, one, callback.provider_id.clone()).await?;
            return Ok(verdict);
        }
        Identity::Ambiguous(several) => {
            return ambiguous::query(engine, callback, several, &report).await;
        }
    };
    let found = Found {
        transaction,
        attempt,
        is_trusted: report.is_trusted() && is_proven,
        is_by_reference: by_reference.is_some(),
    };
    apply_result(
        engine,
        callback,
        MatchedResult { report, found },
        &exchanges,
    )
    .await
}

/// Attempt with the reference that the callback names.
async fn by_reference(
    engine: &Engine,
    callback: &Callback,
) -> Result<Option<AttemptKey>, EngineError> {
    Ok(match callback.reference_name() {
        Some(name) => attempt_named(engine.store(), &name).await?,
        None => None,
    })
}

/// Attempt that the names in the callback identify.
async fn identity(
    engine: &Engine,
    callback: &Callback,
    by_reference: Option<AttemptKey>,
) -> Result<Identity, EngineError> {
    let mut by_id = with_id(engine, callback).await?;
    if let (Some(one), Some(id)) = (by_reference, &callback.provider_id)
        && by_id.iter().any(|other| *other != one)
    {
        let tx = engine.transaction(one.0).await?;
        let same = tx
            .iter()
            .flat_map(|tx| further_ids::with_reference_of(tx, one.1));
        let same: Vec<_> = same.collect();
        by_id.retain(|other| !same.iter().any(|attempt| *other == (one.0, attempt.id)));
        // It may be one of more attempts with the id than are read. A case may name the id only
        // because a callback claimed it.
        if same.iter().any(|attempt| attempt.has_own_id(id)) {
            by_id.push(one);
        }
    }
    Ok(identify(by_reference, &by_id))
}

/// The attempts that have the callback's provider id.
async fn with_id(engine: &Engine, callback: &Callback) -> Result<Vec<AttemptKey>, EngineError> {
    Ok(match callback.id_name() {
        Some(name) => all_with_id(engine.store(), &name).await?,
        None => Vec::new(),
    })
}

/// The attempt with the callback's reference, and the attempts with its provider id.
async fn named_by_both(
    engine: &Engine,
    callback: &Callback,
    by_reference: AttemptKey,
) -> Result<Vec<AttemptKey>, EngineError> {
    let mut several = vec![by_reference];
    several.extend(with_id(engine, callback).await?);
    Ok(several)
}

async fn has_succeeded(
    engine: &Engine,
    (transaction, attempt): AttemptKey,
) -> Result<bool, EngineError> {
    let tx = engine.transaction(transaction).await?;
    let attempt = tx.as_ref().and_then(|tx| tx.attempt(attempt));
    Ok(attempt.is_some_and(|attempt| attempt.state == AttemptState::Succeeded))
}

/// Continues with a callback that its gateway has read, after our own call has returned.
pub(super) async fn after_our_call(
    engine: &Engine,
    callback: &mut Callback,
    matched: MatchedResult,
) -> Result<Verdict, EngineError> {
    apply_result(engine, callback, matched, &[]).await
}

/// Attempt that a callback is about.
#[derive(Clone, Copy)]
struct Found {
    transaction: TransactionId,
    attempt: AttemptId,
    is_trusted: bool,
    /// Whether the callback names our reference of the attempt.
    is_by_reference: bool,
}

impl Found {
    /// Whether the callback surely names `attempt`: by our reference, or by an id that no other
    /// attempt can have, without another reference beside it.
    fn names(&self, callback: &Callback, tx: &Transaction, attempt: &Attempt) -> bool {
        self.is_by_reference || (callback.reference.is_none() && is_unmistakable(tx, attempt))
    }
}

type CallbackAnswer = Result<CallbackReport, String>;

/// Asks the gateway to read the callback. `None`: the gateway is not loaded.
async fn ask_gateway(
    engine: &Engine,
    callback: &mut Callback,
    recipient: &Recipient,
) -> Result<Option<(CallbackAnswer, Vec<ProviderCall>)>, EngineError> {
    let Some(gateway) = engine.gateways().reader(&recipient.gateway) else {
        return Ok(None);
    };
    let raw = engine
        .access()
        .open_callback(recipient.account, &callback.raw)?;
    let mut request: RawRequest =
        serde_json::from_slice(raw.expose()).map_err(|_| damaged(callback.id))?;
    request.url = Some(given_url(engine, callback, &request, &gateway));
    let version = gateway.sha256.clone();
    let call = CallbackCall {
        gateway,
        environment: recipient.environment,
        received_at: callback.received_at,
        config: recipient::config(engine.access(), callback.connection)?,
        request,
    };
    let end = engine.gateways().callback(call).await;
    callback.request = Some(end.shown);
    callback.failed_version = end.report.is_err().then_some(version);
    Ok(Some((end.report, end.exchanges)))
}

/// The callback URL that the provider was given. It does not depend on the host of a proxy or on
/// the sender's headers.
fn given_url(
    engine: &Engine,
    callback: &Callback,
    request: &RawRequest,
    gateway: &Version,
) -> String {
    let public_url = &engine.settings().public_url;
    let account = format!("{public_url}/callbacks/{}", callback.connection);
    let rule = gateway.manifest.callback.as_ref().map(|rule| rule.per);
    match rule {
        Some(CallbackPer::Transaction) => format!("{account}/{}", request.rest()),
        _ => account,
    }
}

fn wait_for_gateway(engine: &Engine, callback: &Callback) -> Verdict {
    let now = engine.clock().now();
    if now.since(callback.received_at) > CALLBACK_RETRY_WINDOW {
        return end(
            CallbackState::Refused,
            "Its gateway was not loaded for a day.",
        );
    }
    Verdict::Later {
        at: now.plus(GATEWAY_MISSING),
        note: "Its gateway is not loaded.".to_owned(),
    }
}

/// Retries a few times after a gateway failure: its provider may be unavailable.
pub(super) fn gateway_failed(engine: &Engine, callback: &Callback, why: String) -> Verdict {
    if callback.tries + 1 >= CALLBACK_TRIES {
        tracing::error!(
            gateway.name = callback.gateway,
            connection.id = %callback.connection,
            callback.id = %callback.id,
            reason = why,
            "gateway failed to read a callback"
        );
        return end(CallbackState::Refused, why);
    }
    Verdict::Again {
        at: engine
            .clock()
            .now()
            .plus(FIRST_PAUSE * 6_u32.pow(callback.tries)),
        note: why,
    }
}

/// Rejects a verified outcome without an attempt, which is lost: a fault of the gateway.
fn nameless(callback: &Callback) -> Verdict {
    let gateway = &callback.gateway;
    metrics::counter!("switchyard_gateway_faults_total", "gateway" => gateway.clone()).increment(1);
    tracing::error!(
        gateway.name = gateway,
        connection.id = %callback.connection,
        callback.id = %callback.id,
        "gateway verified an outcome in a callback without naming its attempt"
    );
    let why = "The gateway vouches for an outcome and does not name its attempt: a fault of the \
               gateway.";
    end(CallbackState::Refused, why)
}

/// Verdict on a callback without a known attempt.
fn unmatched(callback: &Callback) -> Verdict {
    let is_named = !callback.names().is_empty();
    match (is_named, callback.trusted) {
        (true, _) => end(
            CallbackState::Unmatched,
            "No attempt at this connection has the reference or id that it names.",
        ),
        (false, Some(true)) => end(
            CallbackState::Ignored,
            "It is about nothing that the engine has to know.",
        ),
        (false, _) => end(
            CallbackState::Refused,
            "The gateway can neither vouch for it nor say what it is about.",
        ),
    }
}

/// Stores the gateway's HTTP exchanges with the provider about the callback.
async fn journal(
    engine: &Engine,
    callback: &Callback,
    found: Found,
    exchanges: &[ProviderCall],
) -> Result<(), EngineError> {
    let journal = Journal {
        store: engine.store().clone(),
        transaction: found.transaction,
        attempt: found.attempt,
    };
    // The low bits of the id are random.
    let call = callback.id.ulid().random() as u32;
    Ok(journal.add(call, exchanges).await?)
}

async fn apply_result(
    engine: &Engine,
    callback: &mut Callback,
    matched: MatchedResult,
    exchanges: &[ProviderCall],
) -> Result<Verdict, EngineError> {
    let MatchedResult { report, found } = &matched;
    let tx = engine.transaction(found.transaction).await?;
    let Some(tx) = tx else {
        return Ok(end(
            CallbackState::Ignored,
            "Its transaction is no longer kept.",
        ));
    };
    let Some(attempt) = tx.attempt(found.attempt) else {
        return Ok(end(CallbackState::Ignored, "Its attempt is not known."));
    };
    let is_one_too_many =
        crowd::is_beyond_limit(engine, callback, found.transaction, &[found.attempt]).await?;
    callback.transaction = Some(found.transaction);
    callback.attempt = Some(found.attempt);
    if !exchanges.is_empty() && !is_one_too_many {
        journal(engine, callback, *found, exchanges).await?;
    }
    let is_named = found.names(callback, &tx, attempt);
    let outcome = report.outcome(found.transaction, attempt.amount);
    let is_hint = match &outcome {
        Some(Outcome::Unknown { .. }) => !found.is_trusted || has_ended(&tx, attempt),
        Some(outcome) => !found.is_trusted || !(is_named || outcome.reports_money()),
        None => true,
    };
    if is_one_too_many && is_hint {
        // An open attempt is queried on schedule.
        let covered = match has_ended(&tx, attempt) {
            true => crowd::covered_or_later(engine, callback, &[attempt.id]),
            false => Some(Verdict::Forget),
        };
        if let Some(verdict) = covered {
            return Ok(verdict);
        }
    }
    let verdict = act_on(engine, callback, (&tx, attempt), &matched, outcome).await?;
    if verdict.is_some() && found.is_trusted && found.is_by_reference {
        let one = (tx.id, attempt.id);
        further_ids::keep(engine, one, callback.provider_id.clone()).await?;
    }
    Ok(match verdict {
        None => Verdict::AfterOurCall(Box::new(matched)),
        Some(Verdict::End { .. }) if is_one_too_many => Verdict::Forget,
        Some(verdict) => verdict,
    })
}

/// Applies a verified outcome to the attempt; anything less leads to a query. `None`: not before
/// our own call has ended.
async fn act_on(
    engine: &Engine,
    callback: &Callback,
    (tx, attempt): (&Transaction, &Attempt),
    MatchedResult { found, .. }: &MatchedResult,
    outcome: Option<Outcome>,
) -> Result<Option<Verdict>, EngineError> {
    let is_named = found.names(callback, tx, attempt);
    let id = callback.provider_id.as_deref();
    match outcome {
        // An unreadable report, or one about another charge than ours, only leads to a query.
        // Verified money counts, also of another charge or by an id that another attempt of the
        // transaction may have: it came for this transaction.
        Some(Outcome::Unknown { why, .. }) => {
            hint(engine, callback, tx, attempt, Hint::of(&why)).await
        }
        Some(outcome) if found.is_trusted && outcome.reports_money() => {
            apply(engine, tx, attempt, (outcome, None)).await
        }
        Some(outcome) if found.is_trusted && is_named => {
            let takes_back = matches!(outcome, Outcome::Declined(_));
            let why = match further_ids::is_of_another_charge(attempt, id) {
                true => Some("It names another provider's id than the attempt has."),
                false if takes_back => further_ids::overtaken(callback, tx, attempt),
                false => None,
            };
            let is_new = id.is_some_and(|id| !tx.ids_of(attempt).contains(&id));
            let verdict = match why {
                Some(why) => hint(engine, callback, tx, attempt, Hint { why, takes_back }).await?,
                None => apply(engine, tx, attempt, (outcome, None)).await?,
            };
            Ok(match verdict {
                Some(Verdict::End { note, .. }) if takes_back && is_new => {
                    Some(further_ids::after_parked(engine, note))
                }
                verdict => verdict,
            })
        }
        _ => {
            let hinted = Hint::of("It proves nothing by itself.");
            hint(engine, callback, tx, attempt, hinted).await
        }
    }
}

/// Sends a verified outcome to the transaction, like the result of a query. `None`: not before our
/// own call has ended. `asked_at`: when the query that brought the outcome began.
pub(super) async fn apply(
    engine: &Engine,
    tx: &Transaction,
    attempt: &Attempt,
    (outcome, asked_at): (Outcome, Option<Timestamp>),
) -> Result<Option<Verdict>, EngineError> {
    // An outcome without money waits until our own call has ended. A decline starts the next
    // candidate. A pending attempt may be queried, and the query could return the decline while our
    // call is still in flight. Money does not wait: a decline of our call must find it.
    if !outcome.reports_money() && engine.submissions().contains(attempt.id) {
        return Ok(None);
    }
    let word = word(&outcome, attempt);
    engine.note_health(tx, attempt, Operation::Callback, &outcome);
    let answer = Command::Answer {
        attempt: attempt.id,
        outcome,
        gateway_state: None,
        asked_at,
    };
    let taken = engine.registry().send(engine, tx.id, answer).await;
    engine.watchers().answered(tx.id);
    let number = tx.attempts.iter().position(|other| other.id == attempt.id);
    let number = number.map_or(0, |place| place + 1);
    let effect = match taken {
        Ok(after) if after.version == tx.version && has_ended(tx, attempt) => {
            "the attempt has ended, so it changes nothing".to_owned()
        }
        Ok(after) if after.version == tx.version => "it is known already".to_owned(),
        Ok(after) => format!("the transaction is {}", after.status().as_str()),
        Err(EngineError::Refused(refusal)) => refusal.to_string(),
        Err(error) => return Err(error),
    };
    Ok(Some(end(
        CallbackState::Matched,
        format!("Verified: {word} for attempt {number}; {effect}."),
    )))
}

/// Outcome as text, with the amount if it differs from the attempt's.
fn word(outcome: &Outcome, attempt: &Attempt) -> String {
    match outcome {
        Outcome::Succeeded { amount, .. } => match amount {
            Captured::Named(amount) if *amount != attempt.amount => {
                let asked = attempt.amount.format();
                format!("{} of {asked} reported as paid", amount.format())
            }
            Captured::Named(_) | Captured::AsAsked => "succeeded".to_owned(),
            Captured::Unreadable => "paid, with an amount that cannot be read,".to_owned(),
        },
        Outcome::Declined(_) => "declined".to_owned(),
        Outcome::Pending { .. } => "pending".to_owned(),
        Outcome::NotSent { .. } | Outcome::Unknown { .. } => "unknown".to_owned(),
    }
}

/// Reason to query the provider after a callback that proves nothing.
#[derive(Clone, Copy)]
pub(super) struct Hint<'c> {
    pub why: &'c str,
    /// Whether the provider itself reports that nothing was paid.
    pub takes_back: bool,
}

impl<'c> Hint<'c> {
    pub(super) const fn of(why: &'c str) -> Self {
        Self {
            why,
            takes_back: false,
        }
    }
}

/// Queries the provider, unless it was queried since the callback arrived. `None`: not before our
/// own call has ended.
pub(super) async fn hint(
    engine: &Engine,
    callback: &Callback,
    tx: &Transaction,
    attempt: &Attempt,
    hint: Hint<'_>,
) -> Result<Option<Verdict>, EngineError> {
    if has_ended(tx, attempt) {
        return late_hints::ask(engine, callback, tx, attempt, hint).await;
    }
    let why = hint.why;
    let ended = |what: &str| Some(matched(format!("{why} {what}")));
    if engine.submissions().contains(attempt.id) && matches!(tx.state, State::AwaitingGateway) {
        return Ok(None);
    }
    let asked_since = |attempt: &Attempt| {
        let asked = attempt.last_query_at;
        asked.is_some_and(|asked| asked >= callback.received_at)
    };
    if asked_since(attempt) {
        return Ok(ended("The provider was asked since."));
    }
    let after = match engine.registry().send(engine, tx.id, Command::Hint).await {
        Err(EngineError::Refused(refusal)) => return Ok(ended(&refusal.to_string())),
        answer => answer?,
    };
    let is_asked = after.attempt(attempt.id).is_none_or(asked_since);
    if is_asked || after.state.is_final() {
        return Ok(ended("The provider is asked."));
    }
    // The last query, or the start of the attempt, is too recent.
    let last = attempt.last_query_at.unwrap_or(attempt.started_at);
    let soon = engine.clock().now().plus(SOON);
    Ok(Some(Verdict::Later {
        at: last.plus(CALLBACK_HINT_AGE).max(soon),
        note: format!("{why} The provider was asked a moment ago, and is asked again soon."),
    }))
}

/// Whether the attempt can no longer change.
fn has_ended(tx: &Transaction, attempt: &Attempt) -> bool {
    tx.state.is_final() || !attempt.state.is_open()
}

/// Processed: the attempt is known, and nothing remains to be done.
pub(super) fn matched(note: String) -> Verdict {
    end(CallbackState::Matched, note)
}

fn end(state: CallbackState, note: impl Into<String>) -> Verdict {
    Verdict::End {
        state,
        note: note.into(),
    }
}

/// Retry interval while the gateway is not loaded.
const GATEWAY_MISSING: Duration = Duration::from_secs(10);
/// Minimum delay of a hint whose provider cannot be queried yet.
pub(super) const SOON: Duration = Duration::from_secs(1);
/// Delay after the first gateway failure. Each later one is six times as long: 5 s, 30 s, 3 min.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
