//! Chooses the next row to execute. The queues are in the store; memory holds windows on them.
//!
//! Queues with due rows are served round robin, one row a turn, in one of two lanes. Queues whose
//! last response was slow or missing share the slow lane, so that they take no slot from the quick
//! ones. A quick or unknown queue that becomes slow moves to the slow lane while its row is in
//! flight.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use actix::Addr;
use futures_util::FutureExt as _;

use super::actor::{Envelope, QueueActor};
use super::handler::{Executed, Item, QueueHandler, RowState};
use super::lanes::{Lane, Lanes, ResponseSpeed};
use super::partition::{InFlight, Next, Partition, ScanTime};
use super::polls::Polls;
use super::sweep::ScanResult;
use super::{QueueContext, QueueSnapshot, count_panic, sooner};
use switchyard_core::time::Timestamp;

/// Message to a queue actor.
pub(super) enum Message<H: QueueHandler> {
    /// Wake-up: rows were added, or a timer expired.
    Scan,
    /// The execution of a row has ended.
    Ended {
        queue: H::Queue,
        key: H::Key,
        executed: Executed,
    },
    /// A row is to be executed before its due time, even if its queue has no free slot.
    Resume { queue: H::Queue, item: Arc<Item<H>> },
    /// A sweep has ended.
    ScanResult(ScanResult<H::Queue>),
}

pub(super) struct Dispatcher<H: QueueHandler> {
    handler: Arc<H>,
    context: QueueContext,
    /// Address of its own mailbox.
    address: Addr<QueueActor<H>>,
    queues: BTreeMap<H::Queue, Partition<H>>,
    lanes: Lanes<H::Queue, H::Key>,
    wakes: BTreeSet<(Timestamp, H::Queue)>,
    polls: Polls,
    started: u64,
    /// Time at which the oldest row of the last sweep was added.
    oldest: Option<Timestamp>,
}

impl<H: QueueHandler> Dispatcher<H> {
    pub fn new(handler: H, context: QueueContext, address: Addr<QueueActor<H>>) -> Self {
        Self {
            handler: Arc::new(handler),
            context,
            address,
            queues: BTreeMap::new(),
            lanes: Lanes::new(H::LANES),
            wakes: BTreeSet::new(),
            polls: Polls::default(),
            started: 0,
            oldest: None,
        }
    }

    pub fn snapshot(&self) -> QueueSnapshot {
        let in_flight = self.queues.values().map(|queue| queue.backlog.in_flight());
        let reads_from = self.queues.values().map(|queue| queue.backlog.reads_from());
        QueueSnapshot {
            queues: self.queues.len(),
            in_flight: in_flight.sum(),
            in_flight_slow: self.lanes.running_slow(),
            waiting: self.lanes.waiting(),
            started: self.started,
            depth: self.handler.queue().depth(),
            oldest: self.oldest,
            reads_from: reads_from.min().unwrap_or_default(),
        }
    }

    /// Handles one message and starts due rows. Returns the time of the next scan.
    pub async fn handle(&mut self, message: Message<H>) -> Option<Timestamp> {
        for (queue, due) in self.handler.queue().drain_wake_ups() {
            self.added(queue, due);
        }
        let now = self.context.clock.now();
        match message {
            Message::Scan => {}
            Message::Ended {
                queue,
                key,
                executed,
            } => self.ended(queue, key, executed, now),
            Message::Resume { queue, item } => self.start(queue, item, Lane::Quick, now),
            Message::ScanResult(swept) => {
                if let Some(depth) = swept.depth {
                    self.handler.queue().set_depth(depth);
                    self.oldest = swept.oldest;
                }
                for (queue, first) in swept.queues {
                    self.added(queue, first);
                }
            }
        }
        self.poll(now);
        self.wake_up(now);
        self.make_room(now);
        self.start_ready().await;
        let polled = H::POLLING.map(|_| self.polls.next());
        let woken = self.wakes.first().map(|(at, _)| *at);
        sooner(polled, sooner(self.lanes.room_at(), woken))
    }

    /// Restores a consistent state after a panic. Returns the time of the next scan.
    pub fn recover(&mut self) -> Timestamp {
        self.lanes.clear();
        for (queue, state) in &mut self.queues {
            state.restart();
            state.is_ready = true;
            self.lanes.enqueue(*queue, state.speed);
        }
        self.context.clock.now().plus(H::REST)
    }

    fn added(&mut self, queue: H::Queue, due: Timestamp) {
        let state = self.queues.entry(queue).or_default();
        state.backlog.added(due);
        self.enqueue(queue);
    }

    fn ended(&mut self, queue: H::Queue, key: H::Key, executed: Executed, now: Timestamp) {
        let Some(state) = self.queues.get_mut(&queue) else {
            return;
        };
        let lane = state.backlog.value_mut(&key).map(|row| row.lane);
        if let Some(lane) = lane.flatten() {
            self.lanes.leave(lane);
        }
        if let Some(took) = executed.took {
            state.speed = self.lanes.speed(took);
        }
        match executed.row {
            RowState::Removed => {
                state.backlog.end(&key);
                self.handler.queue().depth_changed(-1);
            }
            RowState::DueAt(due) => {
                state.backlog.end(&key);
                state.backlog.added(due);
            }
            RowState::Unchanged => state.rest(key, now.plus(H::REST)),
            RowState::StillThere => state.backlog.end_handled(key, now, H::REST),
            RowState::QueueChanged => {
                state.backlog.end(&key);
                state.restart();
            }
        }
        self.enqueue(queue);
    }

    /// Begins the next pass over a polled queue when one is due and the last one has ended.
    fn poll(&mut self, now: Timestamp) {
        let Some(polling) = H::POLLING else { return };
        if !self.polls.is_due(&polling, now) {
            return;
        }
        let state = self.queues.entry(polling.queue).or_default();
        if state.is_drained(self.polls.until(now)) {
            state.backlog.forget_handled(now);
            state.backlog.added(self.polls.begin(&polling, now));
        }
        self.enqueue(polling.queue);
    }

    fn wake_up(&mut self, now: Timestamp) {
        while let Some((at, queue)) = self.wakes.pop_first() {
            if at > now {
                self.wakes.insert((at, queue));
                return;
            }
            if let Some(state) = self.queues.get_mut(&queue) {
                state.wake = None;
                self.enqueue(queue);
            }
        }
    }

    /// Puts a queue at the end of its lane, unless it is in a lane already.
    fn enqueue(&mut self, queue: H::Queue) {
        let Some(state) = self.queues.get_mut(&queue) else {
            return;
        };
        if !std::mem::replace(&mut state.is_ready, true) {
            self.lanes.enqueue(queue, state.speed);
        }
    }

    async fn start_ready(&mut self) {
        for lane in [Lane::Quick, Lane::Slow] {
            while !self.handler.queue().is_stopping()
                && let Some(queue) = self.lanes.next(lane)
            {
                self.serve_queue(queue, lane).await;
            }
        }
    }

    /// Starts at most one row of a queue, then puts the queue back to the end of its lane.
    async fn serve_queue(&mut self, queue: H::Queue, lane: Lane) {
        let now = self.context.clock.now();
        let until = self.polls.until(now);
        let limits = self.handler.limits(queue);
        let Some(state) = self.queues.get_mut(&queue) else {
            return;
        };
        state.is_ready = false;
        state.end_rests(now);
        let concurrency = self
            .lanes
            .concurrency(state.speed, limits.concurrency.max(1));
        if state.backlog.in_flight() >= concurrency {
            // Enqueued again when an execution ends, or a rest.
            if let Some(at) = state.rests_until() {
                self.wake_at(queue, at);
            }
            return;
        }
        if let Some(at) = state.not_before.filter(|at| *at > now) {
            return self.wake_at(queue, at);
        }
        let moment = ScanTime { now, until };
        let next = state.next(&self.handler, &self.context.store, queue, moment);
        match next.await {
            Ok(next) => {
                state.is_failing = false;
                match next {
                    Next::Execute(item) => {
                        state.apply_rate_limit(now, limits.spacing);
                        self.start(queue, Arc::new(item), lane, now);
                        self.enqueue(queue);
                    }
                    Next::At(at) => self.wake_at(queue, at),
                    Next::Nothing => {}
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut state.is_failing, true) {
                    tracing::error!(actor = H::NAME, ?queue, %error, "failed to scan a queue");
                }
                self.wake_at(queue, now.plus(H::REST));
            }
        }
    }

    /// Moves unfinished executions of the quick lane that have become slow to the slow lane.
    /// Otherwise some hundreds of new queues that are all slow would block the others.
    fn make_room(&mut self, now: Timestamp) {
        while let Some((queue, key)) = self.lanes.become_slow(now) {
            if let Some(state) = self.queues.get_mut(&queue)
                && let Some(row) = state.backlog.value_mut(&key)
                && row.lane == Some(Lane::Quick)
            {
                row.lane = Some(Lane::Slow);
                state.speed = ResponseSpeed::Slow;
                self.lanes.slow_down();
            }
        }
    }

    /// Executes a row in the background, unless it is in flight.
    fn start(&mut self, queue: H::Queue, item: Arc<Item<H>>, lane: Lane, now: Timestamp) {
        let key = item.key.clone();
        let in_flight = InFlight {
            item: item.clone(),
            lane: Some(lane),
        };
        let state = self.queues.entry(queue).or_default();
        if !state.backlog.start(key.clone(), item.due, in_flight) {
            return;
        }
        self.lanes.enter(lane, now, queue, key.clone());
        self.started += 1;
        let (handler, address) = (self.handler.clone(), self.address.clone());
        let task = handler.queue().begin_task();
        self.context.runtime.spawn(async move {
            let executed = execute(&*handler, queue, &item).await;
            drop(task);
            let ended = Message::Ended {
                queue,
                key,
                executed,
            };
            // A stopped actor handles no message.
            let _ = address.send(Envelope(ended)).await;
            if handler.resumes(queue, &item).await {
                let _ = address
                    .send(Envelope(Message::Resume { queue, item }))
                    .await;
            }
        });
    }

    fn wake_at(&mut self, queue: H::Queue, at: Timestamp) {
        let Some(state) = self.queues.get_mut(&queue) else {
            return;
        };
        if let Some(before) = state.wake.replace(at) {
            self.wakes.remove(&(before, queue));
        }
        self.wakes.insert((at, queue));
    }
}

/// Executes a row. A panic is contained, counted and logged.
async fn execute<H: QueueHandler>(handler: &H, queue: H::Queue, item: &Item<H>) -> Executed {
    let execution = AssertUnwindSafe(handler.execute(queue, item)).catch_unwind();
    if let Ok(executed) = execution.await {
        return executed;
    }
    count_panic(H::NAME);
    tracing::error!(actor = H::NAME, ?queue, row = ?item.key, "execution of a queued row panicked");
    let recording = AssertUnwindSafe(handler.panicked(queue, item)).catch_unwind();
    let row = recording.await.unwrap_or(RowState::Unchanged);
    row.into()
}
