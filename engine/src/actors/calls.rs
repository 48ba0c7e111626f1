//! Calls of gateways, begun after the commit that announced them, away from the actor. Their answers come back as commands.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::commit::Step;
use super::input;
use super::running::Away;
use crate::engine::{Engine, EngineError};
use crate::gateway::{self, Call, CallEnd, Journal, Operation, Recovered};
use crate::ids::AttemptId;
use crate::transaction::{Action, Attempt, Command, Outcome, Transaction};

/// How long an answer that could not be stored waits before it is tried again.
const STORE_RETRY: Duration = Duration::from_secs(1);

/// Says that the submission which `step` asks for, if it asks for one, is about to leave.
pub(super) fn announce(engine: &Engine, step: &Step) -> Option<Away> {
    step.actions.iter().find_map(|action| match *action {
        Action::Submit { attempt } => engine.running.enter(attempt),
        _ => None,
    })
}

/// Begins what `step` asked for.
pub(super) fn begin(engine: &Engine, step: &Step, mut away: Option<Away>) {
    for action in &step.actions {
        match *action {
            Action::Submit { attempt } => {
                // One step starts one attempt at most.
                if let Some(away) = away.take() {
                    submit(engine, &step.after, attempt, away);
                }
            }
            Action::Query { attempt } => query(engine, &step.after, attempt),
            // Both are in the outbox, written in the step's own commit.
            Action::Announce(_) | Action::Mail(_) => {}
        }
    }
}

fn submit(engine: &Engine, tx: &Arc<Transaction>, attempt: AttemptId, away: Away) {
    let operation = if tx.is_payment() {
        Operation::Collect
    } else {
        Operation::Payout
    };
    engine.runtime.spawn(call(
        engine.clone(),
        tx.clone(),
        attempt,
        operation,
        Some(away),
    ));
}

fn query(engine: &Engine, tx: &Arc<Transaction>, attempt: AttemptId) {
    engine.runtime.spawn(call(
        engine.clone(),
        tx.clone(),
        attempt,
        Operation::Query,
        None,
    ));
}

async fn call(
    engine: Engine,
    tx: Arc<Transaction>,
    id: AttemptId,
    operation: Operation,
    away: Option<Away>,
) {
    let Some(attempt) = tx.attempt(id) else {
        return;
    };
    let called = AssertUnwindSafe(ask_gateway(&engine, &tx, attempt, operation))
        .catch_unwind()
        .await;
    let (outcome, gateway_state) = match called {
        Ok(end) => (end.outcome, Some(end.state)),
        Err(_) => {
            metrics::counter!("switchyard_actor_panics_total", "actor" => "call").increment(1);
            tracing::error!(transaction.id = %tx.id, attempt.id = %id, "A gateway's call panicked in the host.");
            (after_panic(&engine, &tx, id, operation).await, None)
        }
    };
    metrics::counter!(
        "switchyard_gateway_calls_total",
        "gateway" => attempt.candidate.gateway.clone(),
        "operation" => operation.as_str(),
        "outcome" => outcome_name(&outcome)
    )
    .increment(1);
    tell(
        &engine,
        &tx,
        Command::Answer {
            attempt: id,
            outcome,
            gateway_state,
        },
    )
    .await;
    engine.watchers.answered(tx.id);
    drop(away);
}

async fn ask_gateway(
    engine: &Engine,
    tx: &Transaction,
    attempt: &Attempt,
    operation: Operation,
) -> CallEnd {
    // Of a query it only means that nobody was asked: the attempt stays as it is.
    let unsent = |why: String| CallEnd {
        outcome: match operation {
            Operation::Query => Outcome::Unknown { why },
            _ => Outcome::NotSent { why },
        },
        state: attempt.gateway_state.clone(),
    };
    let candidate = &attempt.candidate;
    // An attempt ends on the version of the gateway that it began on.
    let Some(version) = engine
        .gateways
        .version(&candidate.gateway, &candidate.gateway_hash)
    else {
        return unsent(format!(
            "The gateway {} is not loaded in the version that began this.",
            candidate.gateway
        ));
    };
    let connection = engine.access.connection(candidate.connection);
    if operation != Operation::Query && connection.is_some_and(|connection| !connection.is_enabled)
    {
        return unsent("The connection was switched off meanwhile.".to_owned());
    }
    let config = match engine.connection_config(tx, attempt) {
        Ok(config) => config,
        Err(error) => return unsent(error.to_string()),
    };
    let call = Call {
        gateway: version,
        operation,
        journal: Journal {
            store: engine.store.clone(),
            transaction: tx.id,
            attempt: attempt.id,
        },
        now: engine.clock.now(),
        config,
        config_changed_at: engine
            .access
            .connection(candidate.connection)
            .map(|connection| connection.config_changed_at),
        state: attempt.gateway_state.clone(),
        input: input::build(engine, tx, attempt, operation),
        environment: tx.environment,
    };
    engine.gateways.call(call).await
}

async fn after_panic(
    engine: &Engine,
    tx: &Transaction,
    attempt: AttemptId,
    operation: Operation,
) -> Outcome {
    let nothing_sent = operation != Operation::Query
        && matches!(
            gateway::recover(&engine.store, tx.id, attempt).await,
            Ok(Recovered::NothingSent)
        );
    let why = "The gateway's call failed inside the engine.".to_owned();
    match nothing_sent {
        true => Outcome::NotSent { why },
        false => Outcome::Unknown { why },
    }
}

/// Tells the actor until the answer is stored. An answer is never dropped while the process lives; when it dies, the journal remains.
async fn tell(engine: &Engine, tx: &Transaction, answer: Command) {
    loop {
        match engine.registry.tell(engine, tx.id, answer.clone()).await {
            Ok(_) => return,
            Err(EngineError::Unavailable(reason)) => {
                tracing::warn!(transaction.id = %tx.id, reason, "A gateway's answer could not be stored yet.");
                engine.clock.sleep(STORE_RETRY).await;
            }
            Err(EngineError::Stopping | EngineError::NotFound) => return,
            Err(error) => {
                tracing::error!(transaction.id = %tx.id, %error, "A gateway's answer was not taken.");
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
