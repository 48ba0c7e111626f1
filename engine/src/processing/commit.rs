//! Commit of one step of a transaction: snapshot, events, timer, index, webhooks and mails. Its
//! notifications follow the commit.

use std::sync::Arc;

use crate::callback;
use crate::engine::{Engine, EngineError};
use crate::mail;
use crate::webhook;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, EventId};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{
    Action, Attempt, CaseReason, Event, EventName, Recorded, Transaction, actions, evolve,
};
use switchyard_records as records;
use switchyard_store::{Batch, CommitError};
use switchyard_system::trace::{Span, SpanKind};

/// Event for merchants, published after its commit is durable.
#[derive(Clone, Debug)]
pub struct Announcement {
    pub event: EventId,
    pub app: AppId,
    pub environment: Environment,
    pub name: EventName,
    pub at: Timestamp,
    pub transaction: Arc<Transaction>,
}

/// A step that was decided and is not yet durable.
pub(crate) struct Step {
    pub before: Option<Arc<Transaction>>,
    pub after: Arc<Transaction>,
    events: Vec<Recorded>,
    pub actions: Vec<Action>,
    now: Timestamp,
}

impl Step {
    /// The step that `events` make of `before`.
    pub(crate) fn of(before: Arc<Transaction>, events: Vec<Event>, now: Timestamp) -> Self {
        let mut after = (*before).clone();
        let (mut recorded, mut asked) = (Vec::with_capacity(events.len()), Vec::new());
        for event in events {
            after = evolve(after, &event, now);
            asked.extend(actions(&after, &event));
            recorded.push(at_version(&after, event, now));
        }
        Self {
            before: Some(before),
            after: Arc::new(after),
            events: recorded,
            actions: asked,
            now,
        }
    }

    /// Makes this step and the `next` one a single step.
    pub(super) fn extend(&mut self, next: Self) {
        self.after = next.after;
        self.events.extend(next.events);
        self.actions.extend(next.actions);
    }

    /// Reasons of the cases that the step opens.
    fn opened(&self) -> impl Iterator<Item = CaseReason> {
        let recorded = self.events.iter();
        recorded.filter_map(|recorded| match &recorded.event {
            Event::CaseOpened { case } => Some(case.reason),
            _ => None,
        })
    }

    /// The attempts that the step begins.
    pub(crate) fn begun(&self) -> impl Iterator<Item = &Attempt> {
        let begun = |recorded: &Recorded| match &recorded.event {
            Event::AttemptStarted { attempt } => self.after.attempt(attempt.id),
            _ => None,
        };
        self.events.iter().filter_map(begun)
    }

    /// The first step of a transaction.
    pub(crate) fn first(after: Transaction, event: Event, now: Timestamp) -> Self {
        Self {
            before: None,
            actions: actions(&after, &event),
            events: vec![at_version(&after, event, now)],
            after: Arc::new(after),
            now,
        }
    }
}

/// The event that made `after` what it is, as the timeline keeps it.
fn at_version(after: &Transaction, event: Event, now: Timestamp) -> Recorded {
    Recorded {
        version: after.version,
        at: now,
        event,
    }
}

/// Commits the steps of one or more transactions together with the rows in `batch`. After a
/// conflict another commit came first: load and decide again.
pub(crate) async fn commit(
    engine: &Engine,
    mut batch: Batch,
    steps: &[Step],
) -> Result<(), NotCommitted> {
    let mut notifications = Vec::with_capacity(steps.len());
    for step in steps {
        let record = records::Step {
            before: step.before.as_deref(),
            after: &step.after,
            events: &step.events,
        };
        records::write(&mut batch, &record)?;
        notifications.push(enqueue_notifications(engine, &mut batch, step));
    }
    let span = Span::begin_inside("store commit", SpanKind::Internal);
    let ids = || steps.iter().map(|step| step.after.id.to_string());
    span.set("transaction.id", || ids().collect::<Vec<_>>().join(" "));
    let committed = engine.store().commit(batch).await;
    if committed.is_err() {
        span.fail("not committed");
    }
    drop(span);
    committed.map_err(NotCommitted::Commit)?;
    for (step, notifications) in steps.iter().zip(notifications) {
        committed_step(engine, step, notifications);
    }
    Ok(())
}

/// Publishes a step that is durable.
fn committed_step(engine: &Engine, step: &Step, notifications: Notifications) {
    for reason in step.opened() {
        metrics::counter!("switchyard_cases_opened_total", "reason" => reason.as_str())
            .increment(1);
    }
    engine.webhooks().nudge(&notifications.webhooks);
    engine.mails().nudge(notifications.mails, step.now);
    engine.watchers().committed(&step.after);
    callback::appeared(engine, step.before.as_deref(), &step.after);
    for announcement in notifications.announcements {
        engine.publish(announcement);
    }
}

/// Notifications of a step, sent once it is durable.
struct Notifications {
    announcements: Vec<Announcement>,
    webhooks: Vec<webhook::Queued>,
    mails: usize,
}

/// Adds the webhooks and mails of `step` to the batch.
fn enqueue_notifications(engine: &Engine, batch: &mut Batch, step: &Step) -> Notifications {
    let (after, now, ids) = (&step.after, step.now, engine.ids());
    let mut notifications = Notifications {
        announcements: Vec::new(),
        webhooks: Vec::new(),
        mails: 0,
    };
    for action in &step.actions {
        match action {
            Action::Announce(name) => {
                let event = webhook::event_id(after.id, *name, now);
                let webhooks = engine.access().enabled_webhooks(after.app);
                let targets = webhook::enqueue(batch, &webhooks, after, *name, event, now);
                notifications.webhooks.extend(targets);
                notifications.announcements.push(Announcement {
                    event,
                    app: after.app,
                    environment: after.environment,
                    name: *name,
                    at: now,
                    transaction: after.clone(),
                });
            }
            Action::Mail(to) => {
                let app = engine.access().app(after.app);
                if let Some(app) = app.filter(|_| engine.mails().admits(after, *to, now)) {
                    notifications.mails += mail::enqueue(batch, &app, after, *to, now, ids);
                }
            }
            Action::Submit { .. }
            | Action::Query { .. }
            | Action::SubmitCode { .. }
            | Action::CancelRequest { .. } => {}
        }
    }
    notifications
}

/// Failure of a commit.
pub(crate) enum NotCommitted {
    Commit(CommitError),
    Record(records::RecordError),
}

impl From<records::RecordError> for NotCommitted {
    fn from(error: records::RecordError) -> Self {
        Self::Record(error)
    }
}

impl From<NotCommitted> for EngineError {
    fn from(error: NotCommitted) -> Self {
        match error {
            NotCommitted::Commit(error) => error.into(),
            NotCommitted::Record(error) => error.into(),
        }
    }
}
