//! The actor of one transaction: takes one command at a time, decides, commits, answers, performs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use actix::prelude::*;
use futures_util::FutureExt as _;

use super::calls;
use super::commit::{NotCommitted, Step, commit};
use crate::engine::{Engine, EngineError, Plan};
use crate::runtime::Snapshot;
use switchyard_core::ids::{AttemptId, CaseId, TransactionId};
use switchyard_core::limits::TRANSACTION_MAILBOX;
#[cfg(not(feature = "simulation"))]
use switchyard_core::transaction::decide;
use switchyard_core::transaction::{
    Attempt, Command, Context as Decision, Due, Route, Transaction, due, may_recover, recovery,
};
use switchyard_gateway_host::{self as gateway, Recovered};
use switchyard_records as records;
use switchyard_store::{Batch, CommitError};
#[cfg(feature = "simulation")]
use switchyard_system::simulation::decide;

/// How often a step is decided anew because somebody else changed the transaction meanwhile.
const DECISIONS: usize = 8;

/// Nothing has come for a while: go to rest. What still arrives finds its successor.
pub(crate) struct Rest;

impl Message for Rest {
    type Result = ();
}

/// Please carry out this command. Answered after the commit.
pub(crate) struct Execute {
    pub command: Arc<Command>,
    /// The transaction, if the sender has just read it.
    pub seen: Option<Arc<Transaction>>,
}

impl Message for Execute {
    type Result = Result<Arc<Transaction>, EngineError>;
}

pub(crate) struct TransactionActor {
    id: TransactionId,
    engine: Engine,
    /// The transaction, while an attempt is under way. One that waits for its payer is one row away, and there may be a great many.
    held: Option<Arc<Transaction>>,
    /// Version and state as this actor last saw them.
    seen: Option<(u64, &'static str)>,
    commands: u64,
}

/// State of a transaction's actor.
#[derive(Clone, Debug)]
pub struct TransactionSnapshot {
    pub id: TransactionId,
    /// `None` until the first command made it load.
    pub version: Option<u64>,
    pub state: Option<&'static str>,
    /// Commands taken since it was started.
    pub commands: u64,
}

impl TransactionActor {
    pub(crate) fn new(id: TransactionId, engine: Engine) -> Self {
        Self {
            id,
            engine,
            held: None,
            seen: None,
            commands: 0,
        }
    }
}

impl Actor for TransactionActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        context.set_mailbox_capacity(TRANSACTION_MAILBOX);
    }
}

impl Handler<Execute> for TransactionActor {
    type Result = AtomicResponse<Self, Result<Arc<Transaction>, EngineError>>;

    fn handle(&mut self, asked: Execute, _: &mut Context<Self>) -> Self::Result {
        self.commands += 1;
        let known = self.held.clone().or(asked.seen);
        let carried_out = carry_out(self.engine.clone(), self.id, known, asked.command);
        let contained = AssertUnwindSafe(carried_out).catch_unwind();
        AtomicResponse::new(Box::pin(contained.into_actor(self).map(
            |carried_out, actor, _| {
                let (held, answer) = carried_out.unwrap_or_else(|_| {
                    note_panic(actor.id);
                    (None, Err(EngineError::Internal))
                });
                actor.seen = held.as_ref().map(|tx| (tx.version, tx.state.name()));
                actor.held = held.filter(|tx| tx.has_open_attempt());
                answer
            },
        )))
    }
}

impl Handler<Rest> for TransactionActor {
    type Result = ();

    fn handle(&mut self, _: Rest, context: &mut Context<Self>) {
        context.stop();
    }
}

impl Handler<Snapshot<TransactionSnapshot>> for TransactionActor {
    type Result = MessageResult<Snapshot<TransactionSnapshot>>;

    fn handle(&mut self, _: Snapshot<TransactionSnapshot>, _: &mut Context<Self>) -> Self::Result {
        MessageResult(TransactionSnapshot {
            id: self.id,
            version: self.seen.map(|(version, _)| version),
            state: self.seen.map(|(_, state)| state),
            commands: self.commands,
        })
    }
}

type ExecutionResult = (
    Option<Arc<Transaction>>,
    Result<Arc<Transaction>, EngineError>,
);

/// Decides and commits until nobody else was faster. Returns what the actor holds from now on, and the answer.
async fn carry_out(
    engine: Engine,
    id: TransactionId,
    mut known: Option<Arc<Transaction>>,
    command: Arc<Command>,
) -> ExecutionResult {
    #[cfg(test)]
    engine.faults().wait_at("command").await;
    for _ in 0..DECISIONS {
        let tx = match known.take() {
            Some(tx) => tx,
            None => match records::load(engine.store(), id).await {
                Ok(Some(tx)) => Arc::new(tx),
                Ok(None) => return (None, Err(EngineError::NotFound)),
                Err(error) => return (None, Err(error.into())),
            },
        };
        match step(&engine, &tx, Command::clone(&command)).await {
            Ok(None) => return (Some(tx.clone()), Ok(tx)),
            Ok(Some(after)) => return (Some(after.clone()), Ok(after)),
            Err(Failed::Overtaken) => {}
            Err(Failed::For(error)) => return (Some(tx), Err(error)),
        }
    }
    (None, Err(CommitError::Conflict.into()))
}

enum Failed {
    /// The stored version is another one: load and decide again.
    Overtaken,
    For(EngineError),
}

impl<E: Into<EngineError>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::For(error.into())
    }
}

/// One decision, made durable, and its actions begun. `None`: the command changes nothing.
async fn step(
    engine: &Engine,
    tx: &Arc<Transaction>,
    command: Command,
) -> Result<Option<Arc<Transaction>>, Failed> {
    let Some(command) = enrich(engine, tx, command).await? else {
        return Ok(None);
    };
    let plan = Plan::of(tx, &command);
    let made = make(engine, tx, command).await;
    if let Some(plan) = plan {
        engine.planned(&plan, matches!(made, Ok(Some(_))));
    }
    made
}

async fn make(
    engine: &Engine,
    tx: &Arc<Transaction>,
    command: Command,
) -> Result<Option<Arc<Transaction>>, Failed> {
    let now = engine.clock().now();
    let code = match &command {
        Command::SubmitCode { code, .. } => Some(code.clone()),
        _ => None,
    };
    let context = Decision {
        now,
        attempt: AttemptId::new(engine.ids().ulid(now)),
        reference: engine.ids().uuid(),
        case: CaseId::new(engine.ids().ulid(now)),
        references: engine.references(tx, &command),
        onward: engine.onward(tx, &command),
        permit: engine.permit(tx),
    };
    let decided = catch_unwind(AssertUnwindSafe(|| {
        #[cfg(test)]
        engine.faults().inject_panic("decide");
        let events = decide(tx, command, &context)?;
        Ok::<_, EngineError>((!events.is_empty()).then(|| Step::of(tx.clone(), events, now)))
    }));
    let decided = decided.unwrap_or_else(|_| {
        note_panic(tx.id);
        Err(EngineError::Internal)
    });
    let Some(step) = decided? else {
        return Ok(None);
    };
    let mut batch = Batch::new();
    for attempt in step.begun().filter(|attempt| attempt.presumed) {
        note_unknown(engine, tx, attempt, &mut batch);
    }
    // Before the commit: whoever sees the attempt stored must also see that its submission is about to leave.
    let away = calls::announce(engine, &step);
    match commit(engine, batch, &step).await {
        Ok(()) => {}
        Err(NotCommitted::Commit(CommitError::Conflict)) => return Err(Failed::Overtaken),
        Err(error) => return Err(error.into()),
    }
    calls::begin(engine, &step, away, code);
    Ok(Some(step.after))
}

/// Notes in the journal that an engine of before the hold may have submitted an attempt.
fn note_unknown(engine: &Engine, tx: &Transaction, attempt: &Attempt, batch: &mut Batch) {
    if let Some(until) = engine.may_have_left_before(attempt) {
        gateway::note_unknown(batch, tx.id, attempt, until);
    }
}

fn note_panic(id: TransactionId) {
    metrics::counter!("switchyard_actor_panics_total", "actor" => "transaction").increment(1);
    tracing::error!(transaction.id = %id, "command panicked, the transaction keeps its stored state");
}

/// What the core cannot know: where a payout would go, and what the journal says of a submission that is
/// no longer in flight. `None`: there is nothing to do.
async fn enrich(
    engine: &Engine,
    tx: &Arc<Transaction>,
    command: Command,
) -> Result<Option<Command>, EngineError> {
    match command {
        Command::Wake => woken(engine, tx).await,
        other => Ok(Some(other)),
    }
}

/// A wake-up means something else in the two states that wait for the engine itself: a payout is routed
/// and dispatched, and a submission that is no longer in flight is recovered from the journal.
async fn woken(engine: &Engine, tx: &Arc<Transaction>) -> Result<Option<Command>, EngineError> {
    let current = tx.current_attempt();
    let in_flight = current.is_some_and(|attempt| engine.submissions().contains(attempt.id));
    let attempt = match due(tx, in_flight, engine.clock().now()) {
        Due::Nothing => return Ok(None),
        Due::Wake => return Ok(Some(Command::Wake)),
        // A route is counted by breakers, so there is none where it would not be used.
        Due::Dispatch if !engine.may_start(tx) => {
            return Ok(Some(Command::Dispatch(Route::default())));
        }
        Due::Dispatch => return Ok(Some(Command::Dispatch(engine.route_payout(tx)))),
        Due::Recover(attempt) => attempt,
    };
    let mut batch = Batch::new();
    if let Some(attempt) = current {
        note_unknown(engine, tx, attempt, &mut batch);
    }
    engine.store().commit(batch).await?;
    let recovered = gateway::recover(engine.store(), tx.id, attempt).await;
    let maybe_sent = !matches!(recovered, Ok(Recovered::NothingSent));
    if !may_recover(tx, maybe_sent, engine.clock().now()) {
        return Ok(None);
    }
    let gateway_state = match maybe_sent {
        true => gateway::recovered_state(engine.store(), tx.id, attempt).await?,
        false => None,
    };
    tracing::warn!(
        transaction.id = %tx.id, attempt.id = %attempt, maybe_sent, "submission interrupted"
    );
    Ok(Some(recovery(attempt, maybe_sent, gateway_state)))
}
