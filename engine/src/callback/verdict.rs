//! What is to become of a callback: its gateway verifies and translates it, then it meets the attempt that it names.

use std::time::Duration;

use switchyard_gateway::Callback as RawRequest;

use super::home::{self, Home};
use super::row::{self, Callback, CallbackState, damaged};
use super::{ambiguous, ended};
use crate::clock::Timestamp;
use crate::engine::{Engine, EngineError};
use crate::gateway::manifest::CallbackPer;
use crate::gateway::{CallbackCall, CallbackSaid, Exchange, Journal, Operation, Version};
use crate::ids::{AttemptId, TransactionId};
use crate::limits::{
    CALLBACK_HINT_AGE, CALLBACK_RETRY_WINDOW, CALLBACK_TRIES, CALLBACKS_PER_TRANSACTION,
};
use crate::records::{attempt_named, attempts_with_id};
use crate::store::{Direction, Table, prefix_end};
use crate::transaction::{
    Attempt, AttemptKey, AttemptState, Captured, Command, Identity, Outcome, State, Transaction,
    identify, is_unmistakable,
};

/// What was decided.
pub(super) enum Verdict {
    /// It was dealt with, and is kept in `state`.
    End {
        state: CallbackState,
        note: String,
    },
    /// It was dealt with, and there are enough of its kind about its transaction.
    Forget,
    Later {
        at: Timestamp,
        note: String,
    },
    /// The gateway stumbled over it.
    Again {
        at: Timestamp,
        note: String,
    },
    /// It waits for the end of our own call about the attempt.
    AfterOurCall(Box<Heard>),
}

/// What its gateway said of a callback, and whom it is about.
pub(super) struct Heard {
    said: CallbackSaid,
    found: Found,
}

impl Heard {
    pub(super) fn attempt(&self) -> AttemptId {
        self.found.attempt
    }
}

/// Deals with `callback`, and writes into it what became known.
pub(super) async fn reach(
    engine: &Engine,
    callback: &mut Callback,
) -> Result<Verdict, EngineError> {
    let Some(home) = home::find(engine, callback.connection) else {
        return Ok(end(CallbackState::Refused, "The connection was deleted."));
    };
    let Some((said, exchanges)) = ask_gateway(engine, callback, &home).await? else {
        return Ok(wait_for_gateway(engine, callback));
    };
    let said = match said {
        Ok(said) => said,
        Err(why) => return Ok(stumble(engine, callback, why)),
    };
    if let Some(why) = said.refused() {
        return Ok(end(CallbackState::Refused, why));
    }
    callback.trusted = Some(said.is_trusted());
    callback.reference = said.reference();
    callback.provider_id = said.provider_id();
    let ((transaction, attempt), is_proven) = match identity(engine, callback).await? {
        Identity::Unknown => {
            let has_outcome = said.is_trusted() && said.has_outcome();
            if has_outcome && callback.names().is_empty() {
                return Ok(nameless(callback));
            }
            return Ok(nobody(callback));
        }
        Identity::Proven(one) => (one, true),
        Identity::Disagree(one) if !said.is_trusted() => (one, false),
        // Another charge under the reference of one that has succeeded: it is paid already.
        Identity::Disagree(one) if has_succeeded(engine, one).await? => (one, true),
        Identity::Disagree(one) => {
            (callback.transaction, callback.attempt) = (Some(one.0), Some(one.1));
            return ambiguous::query(
                engine,
                callback,
                named_by_both(engine, callback, one).await?,
            )
            .await;
        }
        Identity::Ambiguous(several) => return ambiguous::query(engine, callback, several).await,
    };
    let found = Found {
        transaction,
        attempt,
        is_trusted: said.is_trusted() && is_proven,
    };
    meet(engine, callback, Heard { said, found }, &exchanges).await
}

/// Which attempt the callback's names prove.
async fn identity(engine: &Engine, callback: &Callback) -> Result<Identity, EngineError> {
    let by_reference = match callback.reference_name() {
        Some(name) => attempt_named(&engine.store, &name).await?,
        None => None,
    };
    let by_id = match callback.id_name() {
        Some(name) => attempts_with_id(&engine.store, &name).await?,
        None => Vec::new(),
    };
    Ok(identify(by_reference, &by_id))
}

/// The attempt that a callback's reference names, and those that have its provider id.
async fn named_by_both(
    engine: &Engine,
    callback: &Callback,
    by_reference: AttemptKey,
) -> Result<Vec<AttemptKey>, EngineError> {
    let mut several = vec![by_reference];
    if let Some(name) = callback.id_name() {
        several.extend(attempts_with_id(&engine.store, &name).await?);
    }
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

/// Goes on with a callback whose gateway was asked before, after our own call has come back.
pub(super) async fn after_our_call(
    engine: &Engine,
    callback: &mut Callback,
    heard: Heard,
) -> Result<Verdict, EngineError> {
    meet(engine, callback, heard, &[]).await
}

/// The attempt that a callback is about.
#[derive(Clone, Copy)]
struct Found {
    transaction: TransactionId,
    attempt: AttemptId,
    is_trusted: bool,
}

type Said = Result<CallbackSaid, String>;

/// `None`: the gateway is not loaded now.
async fn ask_gateway(
    engine: &Engine,
    callback: &mut Callback,
    home: &Home,
) -> Result<Option<(Said, Vec<Exchange>)>, EngineError> {
    let Some(gateway) = engine.gateways.reader(&home.gateway) else {
        return Ok(None);
    };
    let raw = engine.access.open_callback(home.account, &callback.raw)?;
    let mut request: RawRequest =
        serde_json::from_slice(raw.expose()).map_err(|_| damaged(callback.id))?;
    request.url = Some(given_url(engine, callback, &request, &gateway));
    let version = gateway.sha256.clone();
    let call = CallbackCall {
        gateway,
        environment: home.environment,
        received_at: callback.received_at,
        config: home::config(engine, callback.connection)?,
        request,
    };
    let end = engine.gateways.callback(call).await;
    callback.request = Some(end.shown);
    callback.stumbled = end.said.is_err().then_some(version);
    Ok(Some((end.said, end.exchanges)))
}

/// The address that the provider was given: what a proxy made of the host, and what the sender claims, does not count.
fn given_url(
    engine: &Engine,
    callback: &Callback,
    request: &RawRequest,
    gateway: &Version,
) -> String {
    let public_url = &engine.settings.public_url;
    let account = format!("{public_url}/callbacks/{}", callback.connection);
    let rule = gateway.manifest.callback.as_ref().map(|rule| rule.per);
    match rule {
        Some(CallbackPer::Transaction) => format!("{account}/{}", request.rest()),
        _ => account,
    }
}

fn wait_for_gateway(engine: &Engine, callback: &Callback) -> Verdict {
    let now = engine.clock.now();
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

/// What the gateway stumbled over may be its provider being away, so it is tried again, a few times.
pub(super) fn stumble(engine: &Engine, callback: &Callback, why: String) -> Verdict {
    if callback.tries + 1 >= CALLBACK_TRIES {
        return end(CallbackState::Refused, why);
    }
    Verdict::Again {
        at: engine
            .clock
            .now()
            .plus(FIRST_PAUSE * 6_u32.pow(callback.tries)),
        note: why,
    }
}

/// A verified outcome that names no attempt is lost: a fault of the gateway.
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

/// It names no attempt that is known.
fn nobody(callback: &Callback) -> Verdict {
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

/// Writes what the gateway exchanged with the provider about the callback.
async fn journal(
    engine: &Engine,
    callback: &Callback,
    found: Found,
    exchanges: &[Exchange],
) -> Result<(), EngineError> {
    let journal = Journal {
        store: engine.store.clone(),
        transaction: found.transaction,
        attempt: found.attempt,
    };
    // The end of its id is chance.
    let call = callback.id.ulid().random() as u32;
    Ok(journal.add(call, exchanges).await?)
}

async fn meet(
    engine: &Engine,
    callback: &mut Callback,
    heard: Heard,
    exchanges: &[Exchange],
) -> Result<Verdict, EngineError> {
    let Heard { said, found } = &heard;
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
        callback.transaction.is_none() && is_crowded(engine, found.transaction).await?;
    callback.transaction = Some(found.transaction);
    callback.attempt = Some(found.attempt);
    if !exchanges.is_empty() && !is_one_too_many {
        journal(engine, callback, *found, exchanges).await?;
    }
    let is_trusted =
        found.is_trusted && (callback.reference.is_some() || is_unmistakable(&tx, attempt));
    let provider_id = said.provider_id();
    let is_another = attempt.provider_id.is_some()
        && provider_id.is_some()
        && attempt.provider_id != provider_id;
    let verdict = match said.outcome(found.transaction, attempt.amount) {
        // An unreadable report, or one about another charge than ours, is a reason to query and no
        // more. Money of another charge counts: it came under our reference.
        Some(Outcome::Unknown { .. }) if is_one_too_many && has_ended(&tx, attempt) => {
            return Ok(Verdict::Forget);
        }
        Some(Outcome::Unknown { why, .. }) => {
            hint(engine, callback, &tx, attempt, Hint::of(&why)).await?
        }
        Some(outcome)
            if is_trusted && is_another && !matches!(outcome, Outcome::Succeeded { .. }) =>
        {
            let hinted = Hint {
                takes_back: matches!(outcome, Outcome::Declined(_)),
                ..Hint::of("It names another provider's id than the attempt has.")
            };
            hint(engine, callback, &tx, attempt, hinted).await?
        }
        Some(outcome) if is_trusted => apply(engine, &tx, attempt, outcome).await?,
        _ if is_one_too_many => return Ok(Verdict::Forget),
        _ => {
            let hinted = Hint::of("It proves nothing by itself.");
            hint(engine, callback, &tx, attempt, hinted).await?
        }
    };
    Ok(match verdict {
        None => Verdict::AfterOurCall(Box::new(heard)),
        Some(Verdict::End { .. }) if is_one_too_many => Verdict::Forget,
        Some(verdict) => verdict,
    })
}

/// Hands a verified outcome to the transaction, as if the provider had been asked. `None`: not before our own call has ended.
pub(super) async fn apply(
    engine: &Engine,
    tx: &Transaction,
    attempt: &Attempt,
    outcome: Outcome,
) -> Result<Option<Verdict>, EngineError> {
    // The next candidate starts after a decline: not before our own call has ended. Nor does the attempt count as being at its
    // provider before that, or a query might hear of the decline while our call goes on.
    let may_wait = !matches!(outcome, Outcome::Succeeded { .. });
    if may_wait && engine.running.contains(attempt.id) {
        return Ok(None);
    }
    let word = word(&outcome, attempt);
    engine.note_health(tx, attempt, Operation::Callback, &outcome);
    let answer = Command::Answer {
        attempt: attempt.id,
        outcome,
        gateway_state: None,
        asked_at: None,
    };
    let taken = engine.registry.tell(engine, tx.id, answer).await;
    engine.watchers.answered(tx.id);
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

/// An outcome in words, with the amount where that is not the one asked for.
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

/// Why a callback has the provider asked, and no more.
#[derive(Clone, Copy)]
pub(super) struct Hint<'c> {
    pub why: &'c str,
    /// The provider itself says that nothing was paid.
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

/// The provider is asked, unless it was since the callback came. `None`: not before our own call has ended.
pub(super) async fn hint(
    engine: &Engine,
    callback: &Callback,
    tx: &Transaction,
    attempt: &Attempt,
    hint: Hint<'_>,
) -> Result<Option<Verdict>, EngineError> {
    if has_ended(tx, attempt) {
        return ended::ask(engine, callback, tx, attempt, hint).await;
    }
    let why = hint.why;
    let ended = |what: &str| Some(matched(format!("{why} {what}")));
    if engine.running.contains(attempt.id) && matches!(tx.state, State::AwaitingGateway) {
        return Ok(None);
    }
    let asked_since = |attempt: &Attempt| {
        let asked = attempt.last_query_at;
        asked.is_some_and(|asked| asked >= callback.received_at)
    };
    if asked_since(attempt) {
        return Ok(ended("The provider was asked since."));
    }
    let after = match engine.registry.tell(engine, tx.id, Command::Hint).await {
        Err(EngineError::Refused(refusal)) => return Ok(ended(&refusal.to_string())),
        answer => answer?,
    };
    let is_asked = after.attempt(attempt.id).is_none_or(asked_since);
    if is_asked || after.state.is_final() {
        return Ok(ended("The provider is asked."));
    }
    // It was asked, or the attempt began, a moment ago.
    let last = attempt.last_query_at.unwrap_or(attempt.started_at);
    let soon = engine.clock.now().plus(SOON);
    Ok(Some(Verdict::Later {
        at: last.plus(CALLBACK_HINT_AGE).max(soon),
        note: format!("{why} The provider was asked a moment ago, and is asked again soon."),
    }))
}

/// Nothing moves the attempt any more.
fn has_ended(tx: &Transaction, attempt: &Attempt) -> bool {
    tx.state.is_final() || !attempt.state.is_open()
}

/// Whether as many callbacks about a transaction are kept as may be.
async fn is_crowded(engine: &Engine, transaction: TransactionId) -> Result<bool, EngineError> {
    let prefix = row::transaction_prefix(transaction);
    let rows = engine
        .store
        .scan(
            Table::Callback,
            &prefix,
            &prefix_end(&prefix),
            Direction::Forward,
            CALLBACKS_PER_TRANSACTION,
        )
        .await?;
    Ok(rows.len() >= CALLBACKS_PER_TRANSACTION)
}

/// It was about an attempt that is known, and nothing more is to be done.
pub(super) fn matched(note: String) -> Verdict {
    end(CallbackState::Matched, note)
}

fn end(state: CallbackState, note: impl Into<String>) -> Verdict {
    Verdict::End {
        state,
        note: note.into(),
    }
}

/// How soon a callback whose gateway is not loaded is looked at again.
const GATEWAY_MISSING: Duration = Duration::from_secs(10);
/// How soon a hint is looked at again whose provider cannot be asked now.
const SOON: Duration = Duration::from_secs(1);
/// The first pause after a gateway stumbled; each later one is six times as long: 5 s, 30 s, 3 min.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
