//! Actor of a handler's queues: it handles one message at a time and schedules the next scan.
//!
//! Promises: the mailbox is bounded; a scan request is dropped when it is full, a result waits for
//! space; a panic is contained, counted and logged, and the next scan repeats the work.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use actix::prelude::*;
use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::count_panic;
use super::deadline::scan_at;
use super::dispatcher::{Dispatcher, Message};
use super::handler::QueueHandler;
use super::nudges::Nudges;
use super::sweep::sweep_on;
use crate::runtime::{InFlightGuard, InFlightTasks, Snapshot};
use switchyard_core::time::Timestamp;
use switchyard_store::Store;
use switchyard_system::clock::Clock;

/// Handle of a queue actor. It takes wake-ups also before the actor is started.
pub(crate) struct Queue<H: QueueHandler> {
    nudges: Nudges<H::Queue>,
    /// Number of rows, as far as is known.
    depth: AtomicI64,
    tasks: InFlightTasks,
    stopping: watch::Sender<bool>,
    address: OnceLock<Addr<QueueActor<H>>>,
}

/// Dependencies of a queue actor.
#[derive(Clone)]
pub(crate) struct QueueContext {
    pub store: Store,
    pub clock: Clock,
    /// Runtime that executes the rows.
    pub runtime: Handle,
}

/// State of a queue actor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSnapshot {
    /// Queues that have, or had, due rows.
    pub queues: usize,
    /// Rows in flight: all, and those in the slow lane.
    pub in_flight: usize,
    pub in_flight_slow: usize,
    /// Queues that wait for their turn.
    pub waiting: usize,
    /// Executions started since the start of the process.
    pub started: u64,
    /// Number of rows, if it is measured.
    pub depth: i64,
    /// Time at which the oldest row of the last sweep was added, if it is measured.
    pub oldest: Option<Timestamp>,
    /// Earliest low-water mark, at which the next scan starts.
    pub reads_from: Timestamp,
}

impl<H: QueueHandler> Default for Queue<H> {
    fn default() -> Self {
        Self {
            nudges: Nudges::default(),
            depth: AtomicI64::new(0),
            tasks: InFlightTasks::default(),
            stopping: watch::channel(false).0,
            address: OnceLock::new(),
        }
    }
}

impl<H: QueueHandler> Queue<H> {
    /// Starts the actor on `arbiter`, and scans at once.
    pub(crate) fn start(&self, arbiter: &ArbiterHandle, context: QueueContext, handler: H) {
        let (next_scan, deadlines) = watch::channel(None);
        let for_actor = context.clone();
        let address = QueueActor::start_in_arbiter(arbiter, move |actix| {
            actix.set_mailbox_capacity(H::MAILBOX);
            let dispatcher = Dispatcher::new(handler, for_actor, actix.address());
            QueueActor {
                dispatcher: Some(Box::new(dispatcher)),
                next_scan,
            }
        });
        let _ = self.address.set(address.clone());
        self.request_scan();
        let (clock, runtime) = (context.clock.clone(), context.runtime.clone());
        let scanned = address.clone();
        runtime.spawn(scan_at(
            clock,
            deadlines,
            self.stopping.subscribe(),
            move || {
                let _ = scanned.try_send(Envelope(Message::Scan));
            },
        ));
        if H::POLLING.is_none() {
            runtime.spawn(sweep_on(context, address, self.stopping.subscribe()));
        }
    }

    /// Starts no further executions, and waits up to `grace` for those in flight.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.stop_now();
        self.tasks.wait_until_idle(grace).await;
    }

    /// Starts no further executions.
    pub(crate) fn stop_now(&self) {
        self.stopping.send_replace(true);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Wakes the actor for rows that are in the queue, each with its due time. Call it after the
    /// commit.
    pub(crate) fn wake(&self, rows: impl IntoIterator<Item = (H::Queue, Timestamp)>) {
        if self.nudges.add(rows) {
            self.request_scan();
        }
    }

    /// State of the actor. `None`: it has stopped.
    pub(crate) async fn snapshot(&self) -> Option<QueueSnapshot> {
        self.address.get()?.send(Snapshot::default()).await.ok()
    }

    /// Changes the known number of rows.
    pub(crate) fn depth_changed(&self, by: i64) {
        let depth = self.depth.fetch_add(by, Ordering::Relaxed) + by;
        show_depth::<H>(depth);
    }

    pub(super) fn set_depth(&self, depth: i64) {
        self.depth.store(depth, Ordering::Relaxed);
        show_depth::<H>(depth);
    }

    pub(super) fn depth(&self) -> i64 {
        self.depth.load(Ordering::Relaxed)
    }

    pub(super) fn drain_wake_ups(&self) -> BTreeMap<H::Queue, Timestamp> {
        self.nudges.drain()
    }

    pub(super) fn begin_task(&self) -> InFlightGuard {
        self.tasks.begin()
    }

    /// Requests a scan. With a full mailbox it is dropped: each message in it scans, too.
    fn request_scan(&self) {
        if let Some(address) = self.address.get() {
            let _ = address.try_send(Envelope(Message::Scan));
        }
    }
}

fn show_depth<H: QueueHandler>(depth: i64) {
    let Some(kind) = H::MEASURED else { return };
    // Row counts are far below 2^53, the limit of exact integers in a float.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a gauge is a float, and a queue is not that long"
    )]
    metrics::gauge!("switchyard_outbox_depth", "kind" => kind).set(depth.max(0) as f64);
}

pub(super) struct Envelope<M>(pub M);

impl<M: 'static> actix::Message for Envelope<M> {
    type Result = ();
}

pub(crate) struct QueueActor<H: QueueHandler> {
    /// `None` while a message is handled; further messages wait.
    dispatcher: Option<Box<Dispatcher<H>>>,
    /// Time of the next scan.
    next_scan: watch::Sender<Option<Timestamp>>,
}

impl<H: QueueHandler> Actor for QueueActor<H> {
    type Context = Context<Self>;
}

impl<H: QueueHandler> Handler<Envelope<Message<H>>> for QueueActor<H> {
    type Result = ();

    fn handle(&mut self, Envelope(message): Envelope<Message<H>>, context: &mut Context<Self>) {
        let Some(mut dispatcher) = self.dispatcher.take() else {
            return; // unreachable: messages wait while one is handled
        };
        let handled = async move {
            let handled = AssertUnwindSafe(dispatcher.handle(message))
                .catch_unwind()
                .await;
            (dispatcher, handled)
        };
        context.wait(
            handled
                .into_actor(self)
                .map(|(mut dispatcher, handled), actor, _| {
                    let next_scan = handled.unwrap_or_else(|_| {
                        count_panic(H::NAME);
                        tracing::error!(
                            actor = H::NAME,
                            "queue actor panicked, the next scan repeats its work"
                        );
                        Some(dispatcher.recover())
                    });
                    actor.next_scan.send_replace(next_scan);
                    actor.dispatcher = Some(dispatcher);
                }),
        );
    }
}

impl<H: QueueHandler> Handler<Snapshot<QueueSnapshot>> for QueueActor<H> {
    type Result = MessageResult<Snapshot<QueueSnapshot>>;

    fn handle(&mut self, _: Snapshot<QueueSnapshot>, _: &mut Context<Self>) -> Self::Result {
        let dispatcher = self.dispatcher.as_ref();
        MessageResult(dispatcher.map(|it| it.snapshot()).unwrap_or_default())
    }
}
