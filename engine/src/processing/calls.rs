//! Gateway calls, started after the commit that announced them, outside the actor. Outcomes return
//! as commands.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::commit::Step;
use super::submissions::SubmissionGuard;
use super::{input, shared_ids};
use crate::engine::{Engine, EngineError};
use switchyard_core::ids::{AttemptId, TransactionId};
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{Action, Attempt, Command, Kind, Outcome, Transaction};
use switchyard_gateway_host::{Call, CallEnd, Journal, Operation, Version};
use switchyard_system::trace::{Span, SpanKind, TraceContext};

/// Retry interval for an outcome that could not be stored.
const STORE_RETRY: Duration = Duration::from_secs(1);

/// Gateway call with the facts that only this process has.
struct GatewayJob {
    attempt: AttemptId,
    operation: Operation,
    /// Guard of a call in flight that may move money.
    away: Option<SubmissionGuard>,
    /// Code that the payer typed. It is stored nowhere.
    code: Option<Secret<String>>,
}

/// Registers the call of `step` as in flight, if it may move money.
pub(super) fn announce(engine: &Engine, step: &Step) -> Option<SubmissionGuard> {
    step.actions.iter().find_map(|action| match *action {
        Action::Submit { attempt }
        | Action::SubmitCode { attempt }
        | Action::CancelRequest { attempt } => engine.submissions().enter(attempt),
        _ => None,
    })
}

/// Starts the calls of `step`. `code`: the code that the payer typed, for a step that passes it on.
pub(super) fn begin(
    engine: &Engine,
    step: &Step,
    mut away: Option<SubmissionGuard>,
    mut code: Option<Secret<String>>,
) {
    let submission = match step.after.kind() {
        Kind::Payment => Operation::Collect,
        Kind::Payout => Operation::Payout,
    };
    for action in &step.actions {
        let (attempt, operation) = match *action {
            // One step starts one attempt at most; one that is away already is not sent again.
            Action::Submit { attempt } if away.is_some() => (attempt, submission),
            Action::Query { attempt } => (attempt, Operation::Query),
            Action::SubmitCode { attempt } => (attempt, Operation::SubmitInput),
            Action::CancelRequest { attempt } => (attempt, Operation::Cancel),
            // Both are in the outbox, written in the step's own commit.
            Action::Submit { .. } | Action::Announce(_) | Action::Mail(_) => continue,
        };
        let job = GatewayJob {
            attempt,
            operation,
            away: away.take_if(|_| operation != Operation::Query),
            code: code.take_if(|_| operation == Operation::SubmitInput),
        };
        let (engine, tx) = (engine.clone(), step.after.clone());
        engine
            .runtime()
            .clone()
            .spawn(TraceContext::current().scope(async move { call(engine, tx, job).await }));
    }
}

/// Queries the provider about an ended attempt. Only the caller receives the outcome.
pub(crate) async fn query(engine: &Engine, tx: &Transaction, attempt: &Attempt) -> Outcome {
    let job = GatewayJob {
        attempt: attempt.id,
        operation: Operation::Query,
        away: None,
        code: None,
    };
    traced(engine, tx, attempt, &job).await.outcome
}

async fn call(engine: Engine, tx: Arc<Transaction>, job: GatewayJob) {
    let (id, operation) = (job.attempt, job.operation);
    let Some(attempt) = tx.attempt(id) else {
        return;
    };
    let asked_at = engine.clock().now();
    let called = AssertUnwindSafe(traced(&engine, &tx, attempt, &job))
        .catch_unwind()
        .await;
    let (outcome, gateway_state) = match called {
        Ok(end) => (end.outcome, Some(end.state)),
        Err(_) => {
            metrics::counter!("switchyard_actor_panics_total", "actor" => "call").increment(1);
            tracing::error!(transaction.id = %tx.id, attempt.id = %id, "gateway call panicked");
            if operation.submits() {
                return recover(&engine, &tx, job).await;
            }
            let why = "The gateway's call failed inside the engine.".to_owned();
            (Outcome::unknown(why), None)
        }
    };
    metrics::counter!(
        "switchyard_gateway_calls_total",
        "gateway" => attempt.candidate.gateway.clone(),
        "operation" => operation.as_str(),
        "outcome" => outcome_name(&outcome)
    )
    .increment(1);
    let answer = match outcome {
        // Nobody failed: the gateway is not to be called now, and nothing was sent.
        Outcome::NotSent { why } if is_held_back(&engine, &tx, attempt, operation) => {
            Command::Withhold { attempt: id, why }
        }
        outcome => {
            engine.note_health(&tx, attempt, operation, &outcome);
            answer_of(operation, id, outcome, gateway_state, asked_at)
        }
    };
    send_outcome(&engine, tx.id, answer).await;
    if operation == Operation::Query {
        engine.watchers().answered(tx.id);
    }
    drop(job.away);
}

/// A code's answer says more of the code than of the attempt.
fn answer_of(
    operation: Operation,
    attempt: AttemptId,
    outcome: Outcome,
    gateway_state: Option<serde_json::Value>,
    asked_at: Timestamp,
) -> Command {
    // Any other answer to a call-off says nothing about what the provider has.
    let is_dated = match operation {
        Operation::Query => true,
        Operation::Cancel => matches!(outcome, Outcome::Declined(_)),
        _ => false,
    };
    match operation {
        Operation::SubmitInput => Command::CodeAnswer {
            attempt,
            outcome,
            gateway_state,
        },
        _ => Command::Answer {
            attempt,
            outcome,
            gateway_state,
            asked_at: is_dated.then_some(asked_at),
        },
    }
}

/// Whether a submission is kept back because of the state of its app or of its gateway's version.
/// Read after the call, which may be what put the version into quarantine.
fn is_held_back(
    engine: &Engine,
    tx: &Transaction,
    attempt: &Attempt,
    operation: Operation,
) -> bool {
    let candidate = &attempt.candidate;
    let is_able = || {
        let version = engine
            .gateways()
            .version(&candidate.gateway, &candidate.gateway_hash);
        version.is_some_and(|version| !version.is_in_quarantine())
    };
    operation.submits() && !(engine.may_move_money(tx.app) && is_able())
}

/// Calls the gateway in a span of its own.
async fn traced(engine: &Engine, tx: &Transaction, attempt: &Attempt, job: &GatewayJob) -> CallEnd {
    let span = Span::begin("gateway call", SpanKind::Internal);
    span.set("transaction.id", || tx.id.to_string());
    span.set("attempt.id", || attempt.id.to_string());
    span.set("gateway.name", || attempt.candidate.gateway.clone());
    span.set("gateway.operation", || job.operation.as_str());
    let end = span.scope(ask_gateway(engine, tx, attempt, job)).await;
    span.set("outcome", || outcome_name(&end.outcome));
    end
}

async fn ask_gateway(
    engine: &Engine,
    tx: &Transaction,
    attempt: &Attempt,
    job: &GatewayJob,
) -> CallEnd {
    #[cfg(test)]
    engine.faults().inject_panic("call");
    let operation = job.operation;
    // Of what concerns an attempt that is out it only means that nobody was asked: the attempt stays as it is.
    let unsent = |why: String| CallEnd {
        outcome: match operation.submits() {
            true => Outcome::NotSent { why },
            false => Outcome::unknown(why),
        },
        state: attempt.gateway_state.clone(),
    };
    if let Some(why) = never_called(engine, tx, attempt, operation) {
        return unsent(why.to_owned());
    }
    let candidate = &attempt.candidate;
    let Some(version) = version_of(engine, attempt) else {
        return unsent(format!(
            "The gateway {} is not loaded in the version that began this.",
            candidate.gateway
        ));
    };
    if let Some(why) = kept_back(engine, attempt, operation, &version) {
        return unsent(why.to_owned());
    }
    let is_shared =
        !operation.submits() && shared_ids::is_shared(engine.store(), tx, attempt).await;
    if is_shared && !can_find(&version, attempt) {
        return unsent(
            "The provider uses its id of this attempt for another one, too, and the gateway finds \
             no attempt by our reference alone: look it up in the provider's records and settle \
             it by hand."
                .to_owned(),
        );
    }
    let config = match engine.connection_config(tx, attempt) {
        Ok(config) => config,
        Err(error) => return unsent(error.to_string()),
    };
    let provider_id = attempt.provider_id.as_deref();
    let call = Call {
        gateway: version,
        operation,
        journal: Journal {
            store: engine.store().clone(),
            transaction: tx.id,
            attempt: attempt.id,
        },
        now: engine.clock().shown(),
        config,
        config_changed_at: engine
            .access()
            .connection(candidate.connection)
            .and_then(|connection| connection.reconfigured_at()),
        state: attempt.gateway_state.clone(),
        input: input::build(
            engine.gateways(),
            &engine.settings().public_url,
            tx,
            attempt,
            operation,
            provider_id.filter(|_| !is_shared),
            job.code.as_ref(),
        ),
        environment: tx.environment,
    };
    engine.gateways().call(call).await
}

/// The version of the gateway that the attempt began on, and ends on. A presumed one may have
/// begun on any.
fn version_of(engine: &Engine, attempt: &Attempt) -> Option<Arc<Version>> {
    let candidate = &attempt.candidate;
    let gateways = engine.gateways();
    let version = gateways.version(&candidate.gateway, &candidate.gateway_hash);
    let reader = || gateways.reader(&candidate.gateway);
    version.or_else(|| attempt.presumed.then(reader).flatten())
}

/// Reason for which no version of the gateway is called.
fn never_called(
    engine: &Engine,
    tx: &Transaction,
    attempt: &Attempt,
    operation: Operation,
) -> Option<&'static str> {
    if attempt.is_state_lost() {
        return Some(
            "The store lost what the gateway had noted of this attempt, so the provider cannot be \
             asked: look it up in the provider's records and settle it by hand.",
        );
    }
    let is_disabled = operation.submits() && !engine.may_move_money(tx.app);
    is_disabled.then_some("The app was disabled before the call.")
}

/// Reason for which the gateway is not called now.
fn kept_back(
    engine: &Engine,
    attempt: &Attempt,
    operation: Operation,
    version: &Version,
) -> Option<&'static str> {
    if operation.submits() && engine.access().is_closed(attempt.candidate.connection) {
        return Some("The connection was disabled before the call.");
    }
    let is_denial_worthless = is_unknown(engine, attempt) && !can_find(version, attempt);
    is_denial_worthless.then_some("The gateway finds no attempt by our reference alone.")
}

/// Whether the engine before a restore may have submitted the attempt, and kept a state for it that
/// this store does not have.
fn is_unknown(engine: &Engine, attempt: &Attempt) -> bool {
    let may_have_left = || engine.may_have_left_before(attempt).is_some();
    attempt.presumed || (attempt.cut_off && may_have_left())
}

/// Whether a gateway finds an attempt of which it kept nothing.
fn can_find(version: &Version, attempt: &Attempt) -> bool {
    !attempt.gateway_state.is_null() || version.manifest.capabilities.query_by_reference
}

/// Recovers an interrupted submission from the journal, as after a crash: the call has ended, and the
/// actor wakes.
async fn recover(engine: &Engine, tx: &Transaction, job: GatewayJob) {
    drop(job.away);
    send_outcome(engine, tx.id, Command::Wake).await;
}

/// Sends an outcome to the actor until it is durable. It is never dropped while the process runs;
/// after a crash the journal has it.
async fn send_outcome(engine: &Engine, id: TransactionId, answer: Command) {
    loop {
        match engine.registry().send(engine, id, answer.clone()).await {
            Ok(_) => return,
            Err(EngineError::Unavailable(reason)) => {
                tracing::warn!(
                    transaction.id = %id, reason, "failed to store a gateway outcome, retrying"
                );
                engine.clock().sleep(STORE_RETRY).await;
            }
            Err(EngineError::Stopping | EngineError::NotFound) => return,
            Err(error) => {
                tracing::error!(transaction.id = %id, %error, "gateway outcome rejected");
                return;
            }
        }
    }
}

const fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded { .. } => "succeeded",
        Outcome::Declined(_) => "declined",
        Outcome::NotSent { .. } => "not_sent",
        Outcome::Pending { .. } => "pending",
        Outcome::Unknown { .. } => "unknown",
    }
}
