//! Chooses the next delivery. The queues are in the store; memory holds windows on them.
//!
//! Each webhook has its own queue and its own concurrency limit. Webhooks with due rows are served
//! round robin, one request a turn, in one of two lanes. Webhooks whose last response was slow or
//! missing share the slow lane, so that a dead URL takes no capacity from quick receivers. A quick
//! or unknown webhook that becomes slow moves to the slow lane while its request is in flight.
//! Sweeps, at startup and periodically, find rows whose wake-up was lost.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Shared;
use super::row::Row;
use super::settle::{self, AttemptResult, Settled};
use super::sweep::ScanResult;
use super::target::{Lane, Next, Pace, RetryAt, Target};
use crate::access::{Webhook, WebhookOptions};
use crate::queue::{QueueHandle, QueueWork, sooner};
use switchyard_core::ids::WebhookId;
use switchyard_core::limits;
use switchyard_core::time::Timestamp;

/// Message to the dispatcher.
pub enum Message {
    /// Wake-up: rows were added, or a timer expired.
    Look,
    /// An attempt has ended.
    Ended {
        webhook: WebhookId,
        key: Vec<u8>,
        ended: AttemptResult,
    },
    /// The rows of a disabled or deleted webhook were removed from the queue.
    Released(WebhookId),
    /// A sweep of the outbox has ended.
    ScanResult(ScanResult),
}

pub(super) struct Dispatcher {
    shared: Arc<Shared>,
    targets: BTreeMap<WebhookId, Target>,
    quick: Turns,
    slow: Turns,
    wakes: BTreeSet<(Timestamp, WebhookId)>,
    /// Times at which requests in the quick lane become slow, in the order of their start. Entries
    /// of finished requests stay in the list.
    watched: VecDeque<(Timestamp, WebhookId, Vec<u8>)>,
    /// Handle to its own mailbox.
    handle: QueueHandle<Self>,
    started: u64,
}

/// Lane: the webhooks that wait for their turn, its requests in flight and its concurrency limit.
struct Turns {
    waiting: VecDeque<WebhookId>,
    running: usize,
    room: usize,
}

/// State of the dispatcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebhookSnapshot {
    /// Webhooks that have, or had, rows to send.
    pub targets: usize,
    /// Requests in flight, in both lanes and in the slow lane.
    pub in_flight: usize,
    pub in_flight_slow: usize,
    /// Webhooks that wait for their turn.
    pub waiting: usize,
    /// Attempts started since the start of the process.
    pub started: u64,
    /// Rows in the outbox, as far as is known.
    pub depth: i64,
}

impl Dispatcher {
    pub(super) fn new(shared: Arc<Shared>, handle: QueueHandle<Self>) -> Self {
        let turns = |room| Turns {
            waiting: VecDeque::new(),
            running: 0,
            room,
        };
        Self {
            shared,
            targets: BTreeMap::new(),
            quick: turns(QUICK_ROOM),
            slow: turns(SLOW_ROOM),
            wakes: BTreeSet::new(),
            watched: VecDeque::new(),
            handle,
            started: 0,
        }
    }

    fn wake_up(&mut self) {
        let now = self.shared.clock.now();
        while let Some((at, webhook)) = self.wakes.pop_first() {
            if at > now {
                self.wakes.insert((at, webhook));
                return;
            }
            if let Some(target) = self.targets.get_mut(&webhook) {
                target.wake = None;
                self.enqueue(webhook);
            }
        }
    }

    fn ended(&mut self, webhook: WebhookId, key: &[u8], ended: AttemptResult) {
        let Some(target) = self.targets.get_mut(&webhook) else {
            return;
        };
        let retry = match ended.settled {
            Settled::Retry { began, due } => Some(RetryAt { began, due }),
            Settled::Acknowledged | Settled::Failed | Settled::Unwritten => None,
        };
        let Some(flown) = target.ended(key, retry) else {
            return;
        };
        target.pace = if ended.took >= SLOW {
            Pace::Slow
        } else {
            Pace::Quick
        };
        match flown.lane {
            Lane::Quick => self.quick.running -= 1,
            Lane::Slow => self.slow.running -= 1,
        }
        match ended.settled {
            Settled::Acknowledged | Settled::Failed => self.shared.depth_changed(-1),
            Settled::Retry { .. } => {}
            Settled::Unwritten => {
                // An immediate retry would fail again: pause, then scan from the beginning.
                target.restart_scan();
                let again = self.shared.clock.now().plus(REST);
                self.wake_at(webhook, again);
                return;
            }
        }
        self.enqueue(webhook);
    }

    fn swept(&mut self, swept: ScanResult) {
        if let Some(depth) = swept.depth {
            self.shared.set_depth(depth);
        }
        for webhook in swept.webhooks {
            self.targets.entry(webhook).or_default().restart_scan();
            self.enqueue(webhook);
        }
    }

    /// Puts a webhook at the end of its lane, unless it is in a lane already.
    fn enqueue(&mut self, webhook: WebhookId) {
        let Some(target) = self.targets.get_mut(&webhook) else {
            return;
        };
        if target.is_ready || target.is_held {
            return;
        }
        target.is_ready = true;
        match target.lane() {
            Lane::Quick => self.quick.waiting.push_back(webhook),
            Lane::Slow => self.slow.waiting.push_back(webhook),
        }
    }

    async fn start_ready(&mut self) {
        for lane in [Lane::Quick, Lane::Slow] {
            while !self.shared.is_stopping() {
                let turns = match lane {
                    Lane::Quick => &mut self.quick,
                    Lane::Slow => &mut self.slow,
                };
                if turns.running >= turns.room {
                    break;
                }
                let Some(webhook) = turns.waiting.pop_front() else {
                    break;
                };
                self.take_turn(webhook, lane).await;
            }
        }
    }

    /// Turn of one webhook: at most one request, then back to the end of its lane.
    async fn take_turn(&mut self, webhook: WebhookId, lane: Lane) {
        let now = self.shared.clock.now();
        let to = self.shared.access.webhook(webhook);
        let none = WebhookOptions::default();
        let options = to.as_ref().map_or(&none, |to| &to.options);
        let installed = self.shared.settings.concurrency_per_target;
        let most = options.concurrency.map_or(installed, usize::from).max(1);
        let Some(target) = self.targets.get_mut(&webhook) else {
            return;
        };
        target.is_ready = false;
        if target.room(most) == 0 {
            return; // enqueued again when a request ends
        }
        if let Some(at) = target.not_before.filter(|at| *at > now) {
            return self.wake_at(webhook, at);
        }
        let resting = target.wake.is_some_and(|at| at > now) && target.is_idle();
        match target.next(&self.shared.store, webhook, now).await {
            Ok(Next::Send(row)) => match to.as_ref().filter(|to| to.is_enabled) {
                Some(to) => {
                    target.started((*row).clone(), lane);
                    target.apply_rate_limit(now, options.spacing());
                    self.send(to.clone(), *row, lane);
                    self.enqueue(webhook);
                }
                None => self.release(webhook),
            },
            Ok(Next::At(at)) => self.wake_at(webhook, at),
            Ok(Next::Nothing) => {}
            Err(error) => {
                if !resting {
                    tracing::error!(
                        webhook.id = %webhook,
                        %error,
                        "failed to scan a webhook queue"
                    );
                }
                target.restart_scan();
                self.wake_at(webhook, now.plus(REST));
            }
        }
    }

    /// Moves unfinished requests of the quick lane that have become slow to the slow lane.
    /// Otherwise some hundreds of new receivers that are all dead would block the others.
    fn make_room(&mut self, now: Timestamp) {
        while self.slow.running < SLOW_MOST
            && let Some((_, webhook, key)) = self.watched.pop_front_if(|(at, ..)| *at <= now)
        {
            let Some(target) = self.targets.get_mut(&webhook) else {
                continue;
            };
            if let Some(flying) = target.in_flight_mut(&key)
                && flying.lane == Lane::Quick
            {
                flying.lane = Lane::Slow;
                target.pace = Pace::Slow;
                self.quick.running -= 1;
                self.slow.running += 1;
            }
        }
    }

    /// Next time at which the quick lane gets a free slot even if no request ends. `None`: no
    /// webhook waits for one, or the slow lane is full.
    fn room_at(&self) -> Option<Timestamp> {
        let is_full = self.quick.running >= self.quick.room && !self.quick.waiting.is_empty();
        let (at, ..) = self
            .watched
            .front()
            .filter(|_| is_full && self.slow.running < SLOW_MOST)?;
        Some(*at)
    }

    /// Sends one row in the background.
    fn send(&mut self, to: Arc<Webhook>, row: Row, lane: Lane) {
        let (webhook, key) = (row.webhook, row.key());
        match lane {
            Lane::Quick => {
                self.quick.running += 1;
                let slow = self.shared.clock.now().plus(SLOW);
                self.watched.push_back((slow, webhook, key.clone()));
            }
            Lane::Slow => self.slow.running += 1,
        }
        self.started += 1;
        let (shared, handle) = (self.shared.clone(), self.handle.clone());
        let in_flight = self.shared.tasks.begin();
        self.shared.runtime.spawn(async move {
            let ended = settle::attempt(shared, to, row).await;
            drop(in_flight);
            let message = Message::Ended {
                webhook,
                key,
                ended,
            };
            handle.send(message).await;
        });
    }

    /// Removes the rows of a disabled or deleted webhook from the queue in the background.
    fn release(&mut self, webhook: WebhookId) {
        let Some(target) = self.targets.get_mut(&webhook) else {
            return;
        };
        target.is_held = true;
        let (shared, handle) = (self.shared.clone(), self.handle.clone());
        self.shared.runtime.spawn(async move {
            if let Err(error) = super::release::release(&shared, webhook).await {
                tracing::error!(
                    webhook.id = %webhook,
                    %error,
                    "failed to empty the queue of a disabled webhook"
                );
                tokio::time::sleep(REST).await;
            }
            handle.send(Message::Released(webhook)).await;
        });
    }

    fn wake_at(&mut self, webhook: WebhookId, at: Timestamp) {
        let Some(target) = self.targets.get_mut(&webhook) else {
            return;
        };
        if let Some(before) = target.wake.replace(at) {
            self.wakes.remove(&(before, webhook));
        }
        self.wakes.insert((at, webhook));
    }
}

impl QueueWork for Dispatcher {
    type Message = Message;
    type Snapshot = WebhookSnapshot;
    const NAME: &'static str = "webhook";
    const MAILBOX: usize = limits::WEBHOOK_MAILBOX;
    const SCAN: Message = Message::Look;

    fn snapshot(&self) -> WebhookSnapshot {
        WebhookSnapshot {
            targets: self.targets.len(),
            in_flight: self.quick.running + self.slow.running,
            in_flight_slow: self.slow.running,
            waiting: self.quick.waiting.len() + self.slow.waiting.len(),
            started: self.started,
            depth: self.shared.depth.load(Ordering::Relaxed),
        }
    }

    async fn handle_message(&mut self, message: Message) -> Option<Timestamp> {
        for (webhook, due) in self.shared.nudges.drain() {
            self.targets.entry(webhook).or_default().rescan(due);
            self.enqueue(webhook);
        }
        match message {
            Message::Look => {}
            Message::Ended {
                webhook,
                key,
                ended,
            } => self.ended(webhook, &key, ended),
            Message::Released(webhook) => {
                if let Some(target) = self.targets.get_mut(&webhook) {
                    target.is_held = false;
                    target.restart_scan();
                    self.enqueue(webhook);
                }
            }
            Message::ScanResult(swept) => self.swept(swept),
        }
        self.wake_up();
        self.make_room(self.shared.clock.now());
        self.start_ready().await;
        sooner(self.room_at(), self.wakes.first().map(|(at, _)| *at))
    }
}

/// Concurrency limits of the two lanes. Each request is an open socket. With a tenth of 10,000
/// receivers dead and another tenth slow, 1,000 events a second keep 600 slow requests in flight.
const QUICK_ROOM: usize = 256;
const SLOW_ROOM: usize = 640;
/// Limit of the slow lane including requests that moved to it. It is above the maximum when all new
/// receivers are dead: the quick lane fills once per [`SLOW`] until the deadline.
const SLOW_MOST: usize = 2_048;
/// Response time from which a receiver is slow.
const SLOW: Duration = Duration::from_millis(500);
/// Pause of a webhook whose rows cannot be read or written.
const REST: Duration = Duration::from_secs(30);
