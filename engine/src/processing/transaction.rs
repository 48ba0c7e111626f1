//! The actor of one transaction: takes one command at a time, decides, commits, answers, performs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use actix::prelude::*;
use futures_util::FutureExt as _;

use super::calls;
use super::commit::{NotCommitted, Step, commit};
use super::shared_ids::{self, SharedId};
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
use switchyard_system::trace::{Span, SpanKind, TraceContext, TracePosition};

/// Maximum number of decisions about one step: each commit of another writer requires a new one.
const DECISIONS: usize = 8;

/// Stops an idle actor. Later messages go to its successor.
pub(crate) struct Rest;

impl Message for Rest {
    type Result = ();
}

/// A command, and rows that are committed with what it changes.
#[derive(Clone)]
pub(crate) struct CommandWithRows {
    command: Arc<Command>,
    also: Option<Arc<Batch>>,
    /// Version of the transaction for which the command is meant; `None`: any.
    expected: Option<u64>,
}

impl CommandWithRows {
    pub(crate) fn with(command: Command, also: Batch) -> Self {
        Self {
            command: Arc::new(command),
            also: (!also.is_empty()).then(|| Arc::new(also)),
            expected: None,
        }
    }

    /// The same, refused when the transaction has another version.
    pub(crate) fn expecting(self, version: u64) -> Self {
        Self {
            expected: Some(version),
            ..self
        }
    }

    /// The first rows of the commit.
    fn batch(&self) -> Batch {
        let mut batch = Batch::new();
        if let Some(also) = &self.also {
            batch.append(also);
        }
        batch
    }

    /// Whether nothing was committed, and another decision would have been possible.
    fn left_nothing(&self, stepped: &Result<Option<Arc<Transaction>>, Failed>) -> bool {
        match stepped {
            Ok(None) => self.also.is_none(),
            Ok(Some(_)) | Err(Failed::Overtaken) => false,
            Err(Failed::For(_)) => true,
        }
    }
}

impl From<Command> for CommandWithRows {
    fn from(command: Command) -> Self {
        Self::with(command, Batch::new())
    }
}

/// Executes a command. Answered after the commit.
pub(crate) struct Execute {
    pub order: CommandWithRows,
    /// The transaction, if the sender has just read it.
    pub seen: Option<Arc<Transaction>>,
    /// Place of the sender in its trace.
    pub trace: TraceContext,
}

impl Message for Execute {
    type Result = Result<Arc<Transaction>, EngineError>;
}

pub(crate) struct TransactionActor {
    id: TransactionId,
    engine: Engine,
    /// The transaction, while an attempt is open. A transaction that waits for its payer is read
    /// again, because there may be many.
    held: Option<Arc<Transaction>>,
    /// Version and state as this actor last saw them.
    seen: Option<(u64, &'static str)>,
    commands: u64,
    /// Place of the last request about the transaction in its trace.
    trace: Option<TracePosition>,
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
            trace: None,
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
        let place = asked.trace.clone().linked_to(self.trace);
        self.trace = asked.trace.position().or(self.trace);
        let carried_out = traced(self.engine.clone(), self.id, known, asked.order, place);
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

/// Carries out a command, in a span of its own.
async fn traced(
    engine: Engine,
    id: TransactionId,
    known: Option<Arc<Transaction>>,
    order: CommandWithRows,
    place: TraceContext,
) -> ExecutionResult {
    let span = Span::begin_at(&place, "transaction command", SpanKind::Internal);
    span.set("transaction.id", || id.to_string());
    span.set("command", || order.command.name());
    span.scope(carry_out(engine, id, known, order)).await
}

type ExecutionResult = (
    Option<Arc<Transaction>>,
    Result<Arc<Transaction>, EngineError>,
);

/// Decides and commits until no other commit came first. Returns the transaction that the actor
/// keeps, and the answer.
async fn carry_out(
    engine: Engine,
    id: TransactionId,
    mut known: Option<Arc<Transaction>>,
    order: CommandWithRows,
) -> ExecutionResult {
    #[cfg(test)]
    engine.faults().wait_at("command").await;
    for _ in 0..DECISIONS {
        let (is_held, held) = (known.is_some(), known.take());
        let tx = match held {
            Some(tx) => tx,
            None => match records::load(engine.store(), id).await {
                Ok(Some(tx)) => Arc::new(tx),
                Ok(None) => return (None, Err(EngineError::NotFound)),
                Err(error) => return (None, Err(error.into())),
            },
        };
        let stepped = step(&engine, &tx, &order).await;
        if is_held && order.left_nothing(&stepped) {
            // Without a commit no conflict shows that another transaction's commit opened a case.
            known = newer(&engine, &tx).await;
            if known.is_some() {
                continue;
            }
        }
        match stepped {
            Ok(None) => return (Some(tx.clone()), Ok(tx)),
            Ok(Some(after)) => return (Some(after.clone()), Ok(after)),
            Err(Failed::Overtaken) => {}
            Err(Failed::For(error)) => return (Some(tx), Err(error)),
        }
    }
    (None, Err(CommitError::Conflict.into()))
}

/// The stored transaction, if it has gone on since `tx` was read.
async fn newer(engine: &Engine, tx: &Arc<Transaction>) -> Option<Arc<Transaction>> {
    let stored = records::load_again(engine.store(), tx).await;
    let stored = stored.ok().flatten();
    stored.filter(|stored| stored.version != tx.version)
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
    order: &CommandWithRows,
) -> Result<Option<Arc<Transaction>>, Failed> {
    if order.expected.is_some_and(|version| version != tx.version) {
        return Err(Failed::For(EngineError::Changed));
    }
    let command = Command::clone(&order.command);
    let Some(command) = enrich(engine, tx, command).await? else {
        return Ok(None);
    };
    let plan = Plan::of(tx, &command);
    let made = make(engine, tx, command, order.batch()).await;
    if let Some(plan) = plan {
        engine.planned(&plan, matches!(made, Ok(Some(_))));
    }
    made
}

async fn make(
    engine: &Engine,
    tx: &Arc<Transaction>,
    command: Command,
    mut batch: Batch,
) -> Result<Option<Arc<Transaction>>, Failed> {
    let code = match &command {
        Command::SubmitCode { code, .. } => Some(code.clone()),
        _ => None,
    };
    let Some(step) = decided(engine, tx, command)? else {
        if !batch.is_empty() {
            engine.store().commit(batch).await?;
        }
        return Ok(None);
    };
    for attempt in step.begun().filter(|attempt| attempt.presumed) {
        note_unknown(engine, tx, attempt, &mut batch);
    }
    let shared = shared_ids::find(engine.store(), &step, &mut batch).await?;
    let steps = with_cases(engine, step, shared).await?;
    let (step, others) = steps.split_first().ok_or(EngineError::Internal)?;
    // Before the commit: a reader of the stored attempt must also see its submission in flight.
    let away = calls::announce(engine, step);
    match commit(engine, batch, &steps).await {
        Ok(()) => {}
        Err(NotCommitted::Commit(CommitError::Conflict)) => return Err(Failed::Overtaken),
        Err(error) => return Err(error.into()),
    }
    calls::begin(engine, step, away, code);
    for other in others {
        calls::begin(engine, other, None, None);
    }
    Ok(Some(step.after.clone()))
}

/// The step with the cases about its shared ids, and the steps of the other transactions that get
/// one. The actors of those read them again when they next commit.
async fn with_cases(
    engine: &Engine,
    step: Step,
    shared: Vec<SharedId>,
) -> Result<Vec<Step>, Failed> {
    let own = step.after.id;
    let mut steps = vec![step];
    for (id, command) in shared.into_iter().flat_map(|shared| shared.commands(own)) {
        let known = steps.iter().position(|step| step.after.id == id);
        let tx = match known {
            Some(place) => steps[place].after.clone(),
            None => match records::load(engine.store(), id).await {
                Ok(Some(other)) => Arc::new(other),
                Ok(None) => continue,
                // The outcome is stored nevertheless.
                Err(error) if error.is_damaged() => continue,
                Err(error) => return Err(error.into()),
            },
        };
        match (decided(engine, &tx, command), known) {
            (Ok(Some(case)), Some(place)) => steps[place].extend(case),
            (Ok(Some(case)), None) => steps.push(case),
            (Ok(None), _) => {}
            (Err(error), _) if id == own => return Err(error.into()),
            // The index names an attempt that the other transaction has not.
            (Err(_), _) => {}
        }
    }
    Ok(steps)
}

/// The step that a command makes. A panic is contained. `None`: it changes nothing.
fn decided(
    engine: &Engine,
    tx: &Arc<Transaction>,
    command: Command,
) -> Result<Option<Step>, EngineError> {
    let context = decision_context(engine, tx, &command);
    let decided = catch_unwind(AssertUnwindSafe(|| {
        #[cfg(test)]
        engine.faults().inject_panic("decide");
        let events = decide(tx, command, &context)?;
        Ok((!events.is_empty()).then(|| Step::of(tx.clone(), events, context.now)))
    }));
    decided.unwrap_or_else(|_| {
        note_panic(tx.id);
        Err(EngineError::Internal)
    })
}

fn decision_context(engine: &Engine, tx: &Transaction, command: &Command) -> Decision {
    let now = engine.clock().now();
    Decision {
        now,
        attempt: AttemptId::new(engine.ids().ulid(now)),
        reference: engine.ids().uuid(),
        case: CaseId::new(engine.ids().ulid(now)),
        references: engine.references(tx, command),
        onward: engine.onward(tx, command),
        permit: engine.permit(tx),
    }
}

/// The step that a command would make now. Nothing is stored or counted. `None`: it changes nothing.
pub(crate) fn preview(
    engine: &Engine,
    tx: &Arc<Transaction>,
    command: Command,
) -> Result<Option<Step>, EngineError> {
    let context = decision_context(engine, tx, &command);
    let events = decide(tx, command, &context)?;
    Ok((!events.is_empty()).then(|| Step::of(tx.clone(), events, context.now)))
}

/// Notes in the journal that an engine before the hold may have submitted an attempt.
fn note_unknown(engine: &Engine, tx: &Transaction, attempt: &Attempt, batch: &mut Batch) {
    if let Some(until) = engine.may_have_left_before(attempt) {
        gateway::note_unknown(batch, tx.id, attempt, until);
    }
}

fn note_panic(id: TransactionId) {
    metrics::counter!("switchyard_actor_panics_total", "actor" => "transaction").increment(1);
    tracing::error!(transaction.id = %id, "command panicked, the transaction keeps its stored state");
}

/// Adds facts from outside the core: the route of a payout, and the journal's entries about a
/// submission that is no longer in flight. `None`: there is nothing to do.
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
