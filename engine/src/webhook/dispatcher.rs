//! Decides which delivery goes next. The queue is in the store; in here are windows on it.
//!
//! Each webhook has a queue and a number of requests at a time of its own. Webhooks that have something to send take turns, one request
//! a turn, in one of two lanes: those that answered slowly or not at all last time share one, so that a dead URL takes nothing from
//! a quick one. One that was quick, or is not known yet, and is slow this time moves to the other lane while it is waited for. What nobody
//! told us of is found by sweeps: at the start, and once in a while.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Shared;
use super::row::Row;
use super::settle::{self, Ended, Settled};
use super::sweep::Swept;
use super::target::{Lane, Next, Pace, Retried, Target, sooner};
use crate::access::{Webhook, WebhookOptions};
use crate::actors::{Door, Work};
use crate::clock::Timestamp;
use crate::ids::WebhookId;
use crate::limits;

/// Something that the dispatcher has to hear of.
pub enum News {
    /// Somebody was nudged, or a time has come.
    Look,
    /// An attempt is over.
    Ended {
        webhook: WebhookId,
        key: Vec<u8>,
        ended: Ended,
    },
    /// The rows of a webhook that is disabled or gone were taken out of the queue.
    Released(WebhookId),
    /// The whole outbox was walked through.
    Swept(Swept),
}

pub(super) struct Dispatcher {
    shared: Arc<Shared>,
    targets: BTreeMap<WebhookId, Target>,
    quick: Turns,
    slow: Turns,
    wakes: BTreeSet<(Timestamp, WebhookId)>,
    /// When requests in the quick lane will have been slow, in the order in which they began. Those that came back are still in here.
    watched: VecDeque<(Timestamp, WebhookId, Vec<u8>)>,
    /// Where its own news come in.
    door: Door<Self>,
    started: u64,
}

/// A lane: who waits for a turn, and how much of its room is taken.
struct Turns {
    waiting: VecDeque<WebhookId>,
    running: usize,
    room: usize,
}

/// How the dispatcher is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebhookSnapshot {
    /// Webhooks that have, or had, something to send.
    pub targets: usize,
    /// Requests that are on their way to quick and to slow receivers.
    pub in_flight: usize,
    pub in_flight_slow: usize,
    /// Webhooks that wait for a turn.
    pub waiting: usize,
    /// Attempts begun since the start.
    pub started: u64,
    /// Deliveries in the outbox, as far as is known.
    pub depth: i64,
}

impl Dispatcher {
    pub(super) fn new(shared: Arc<Shared>, door: Door<Self>) -> Self {
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
            door,
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
                self.line_up(webhook);
            }
        }
    }

    fn ended(&mut self, webhook: WebhookId, key: &[u8], ended: Ended) {
        let Some(target) = self.targets.get_mut(&webhook) else {
            return;
        };
        let retry = match ended.settled {
            Settled::Retry { began, due } => Some(Retried { began, due }),
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
                // It would fail again at once: let it rest, then read its rows anew.
                target.forget_low();
                let again = self.shared.clock.now().plus(REST);
                self.wake_at(webhook, again);
                return;
            }
        }
        self.line_up(webhook);
    }

    fn swept(&mut self, swept: Swept) {
        if let Some(depth) = swept.depth {
            self.shared.set_depth(depth);
        }
        for webhook in swept.webhooks {
            self.targets.entry(webhook).or_default().forget_low();
            self.line_up(webhook);
        }
    }

    /// Puts a webhook at the end of its lane, unless it stands in one already.
    fn line_up(&mut self, webhook: WebhookId) {
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

    async fn start_what_may(&mut self) {
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

    /// One webhook's turn: at most one request, then to the end of the line again.
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
            return; // whatever comes back lines it up again
        }
        if let Some(at) = target.not_before.filter(|at| *at > now) {
            return self.wake_at(webhook, at);
        }
        let resting = target.wake.is_some_and(|at| at > now) && target.in_flight.is_empty();
        match target.next(&self.shared.store, webhook, now).await {
            Ok(Next::Send(row)) => match to.as_ref().filter(|to| to.is_enabled) {
                Some(to) => {
                    target.started((*row).clone(), lane);
                    target.space_out(now, options.spacing());
                    self.send(to.clone(), *row, lane);
                    self.line_up(webhook);
                }
                None => self.release(webhook),
            },
            Ok(Next::At(at)) => self.wake_at(webhook, at),
            Ok(Next::Nothing) => {}
            Err(error) => {
                if !resting {
                    tracing::error!(webhook.id = %webhook, %error, "A webhook's queue cannot be read; trying again.");
                }
                target.forget_low();
                self.wake_at(webhook, now.plus(REST));
            }
        }
    }

    /// Moves requests that were thought quick and are not back yet to the other lane: otherwise some hundreds of receivers that nobody
    /// has met before, and that are dead, would keep all others waiting.
    fn make_room(&mut self, now: Timestamp) {
        while self.slow.running < SLOW_MOST
            && let Some((_, webhook, key)) = self.watched.pop_front_if(|(at, ..)| *at <= now)
        {
            let Some(target) = self.targets.get_mut(&webhook) else {
                continue;
            };
            if let Some(flying) = target.in_flight.get_mut(&key)
                && flying.lane == Lane::Quick
            {
                flying.lane = Lane::Slow;
                target.pace = Pace::Slow;
                self.quick.running -= 1;
                self.slow.running += 1;
            }
        }
    }

    /// When there will be room for those who wait for it in the quick lane, though nothing comes back.
    fn room_at(&self) -> Option<Timestamp> {
        let is_full = self.quick.running >= self.quick.room && !self.quick.waiting.is_empty();
        let (at, ..) = self
            .watched
            .front()
            .filter(|_| is_full && self.slow.running < SLOW_MOST)?;
        Some(*at)
    }

    /// Sends one row, in the background.
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
        let (shared, door) = (self.shared.clone(), self.door.clone());
        let away = self.shared.away.one_more();
        self.shared.runtime.spawn(async move {
            let ended = settle::attempt(shared, to, row).await;
            drop(away);
            let news = News::Ended {
                webhook,
                key,
                ended,
            };
            door.tell(news).await;
        });
    }

    /// Takes the rows of a webhook that is disabled or gone out of the queue, in the background.
    fn release(&mut self, webhook: WebhookId) {
        let Some(target) = self.targets.get_mut(&webhook) else {
            return;
        };
        target.is_held = true;
        let (shared, door) = (self.shared.clone(), self.door.clone());
        self.shared.runtime.spawn(async move {
            if let Err(error) = super::release::release(&shared, webhook).await {
                tracing::error!(webhook.id = %webhook, %error, "The queue of a webhook that is off cannot be emptied; trying again.");
                tokio::time::sleep(REST).await;
            }
            door.tell(News::Released(webhook)).await;
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

impl Work for Dispatcher {
    type News = News;
    type Snapshot = WebhookSnapshot;
    const NAME: &'static str = "webhook";
    const MAILBOX: usize = limits::WEBHOOK_MAILBOX;
    const LOOK: News = News::Look;

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

    async fn take_in(&mut self, news: News) -> Option<Timestamp> {
        for (webhook, due) in self.shared.take_nudged() {
            self.targets.entry(webhook).or_default().look_again(due);
            self.line_up(webhook);
        }
        match news {
            News::Look => {}
            News::Ended {
                webhook,
                key,
                ended,
            } => self.ended(webhook, &key, ended),
            News::Released(webhook) => {
                if let Some(target) = self.targets.get_mut(&webhook) {
                    target.is_held = false;
                    target.forget_low();
                    self.line_up(webhook);
                }
            }
            News::Swept(swept) => self.swept(swept),
        }
        self.wake_up();
        self.make_room(self.shared.clock.now());
        self.start_what_may().await;
        sooner(self.room_at(), self.wakes.first().map(|(at, _)| *at))
    }
}

/// Requests at a time, to all quick and all slow receivers. Each is an open socket; a tenth of 10,000 receivers dead and another slow, at
/// 1,000 events a second, keep 600 slow ones busy.
const QUICK_ROOM: usize = 256;
const SLOW_ROOM: usize = 640;
/// With those that were thought quick: more than come together when all new receivers are dead, which is the room of the quick ones each
/// time that [`SLOW`] is over, until the deadline.
const SLOW_MOST: usize = 2_048;
/// A receiver that takes this long is slow.
const SLOW: Duration = Duration::from_millis(500);
/// How long a webhook rests whose rows cannot be read or written.
const REST: Duration = Duration::from_secs(30);
