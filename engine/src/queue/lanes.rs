//! Lanes: the queues that wait for their turn, and the slots of the executions in flight. No I/O.

use std::collections::VecDeque;
use std::time::Duration;

use super::handler::LaneLimits;
use switchyard_core::time::Timestamp;

/// Lane of an execution. Slow queues have a lane of their own, so that they take no slot from quick
/// ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Quick,
    Slow,
}

/// Speed of a queue's last response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ResponseSpeed {
    #[default]
    Unknown,
    Quick,
    Slow,
}

pub(super) struct Lanes<Q, K> {
    limits: LaneLimits,
    quick: Turns<Q>,
    slow: Turns<Q>,
    /// Times at which executions in the quick lane become slow, in the order of their start.
    /// Entries of ended executions stay in the list.
    watched: VecDeque<(Timestamp, Q, K)>,
}

struct Turns<Q> {
    waiting: VecDeque<Q>,
    running: usize,
    limit: usize,
}

impl<Q> Turns<Q> {
    fn new(limit: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            running: 0,
            limit,
        }
    }
}

impl<Q: Copy, K> Lanes<Q, K> {
    pub fn new(limits: LaneLimits) -> Self {
        Self {
            limits,
            quick: Turns::new(limits.quick),
            slow: Turns::new(limits.slow.map_or(0, |slow| slow.limit)),
            watched: VecDeque::new(),
        }
    }

    /// Speed of a queue after a response.
    pub fn speed(&self, took: Duration) -> ResponseSpeed {
        let is_slow = self.limits.slow.is_some_and(|slow| took >= slow.after);
        if is_slow {
            ResponseSpeed::Slow
        } else {
            ResponseSpeed::Quick
        }
    }

    /// Limit of the concurrency of a queue: one execution at a time until its speed is known, if
    /// there are two lanes.
    pub fn concurrency(&self, speed: ResponseSpeed, most: usize) -> usize {
        match speed {
            ResponseSpeed::Unknown if self.limits.slow.is_some() => 1,
            ResponseSpeed::Unknown | ResponseSpeed::Quick | ResponseSpeed::Slow => most,
        }
    }

    /// Puts a queue at the end of its lane.
    pub fn enqueue(&mut self, queue: Q, speed: ResponseSpeed) {
        let lane = match speed {
            ResponseSpeed::Slow => Lane::Slow,
            ResponseSpeed::Quick | ResponseSpeed::Unknown => Lane::Quick,
        };
        self.turns(lane).waiting.push_back(queue);
    }

    /// Takes the next queue from a lane that has a free slot.
    pub fn next(&mut self, lane: Lane) -> Option<Q> {
        let turns = self.turns(lane);
        (turns.running < turns.limit).then(|| turns.waiting.pop_front())?
    }

    /// Removes all queues from both lanes.
    pub fn clear(&mut self) {
        self.quick.waiting.clear();
        self.slow.waiting.clear();
    }

    pub fn enter(&mut self, lane: Lane, now: Timestamp, queue: Q, key: K) {
        self.turns(lane).running += 1;
        if let (Lane::Quick, Some(slow)) = (lane, self.limits.slow) {
            self.watched.push_back((now.plus(slow.after), queue, key));
        }
    }

    pub fn leave(&mut self, lane: Lane) {
        self.turns(lane).running -= 1;
    }

    /// Takes the next execution of the quick lane that has become slow, while the slow lane has
    /// room for it. It moves with [`Self::slow_down`], unless it has ended.
    pub fn become_slow(&mut self, now: Timestamp) -> Option<(Q, K)> {
        let (_, queue, key) = self
            .has_room()
            .then(|| self.watched.pop_front_if(|(at, ..)| *at <= now))??;
        Some((queue, key))
    }

    pub fn slow_down(&mut self) {
        self.leave(Lane::Quick);
        self.slow.running += 1;
    }

    /// Next time at which the quick lane gets a free slot even if no execution ends. `None`: no
    /// queue waits for one, or the slow lane is full.
    pub fn room_at(&self) -> Option<Timestamp> {
        let is_full = self.quick.running >= self.quick.limit && !self.quick.waiting.is_empty();
        let (at, ..) = self
            .watched
            .front()
            .filter(|_| is_full && self.has_room())?;
        Some(*at)
    }

    pub fn waiting(&self) -> usize {
        self.quick.waiting.len() + self.slow.waiting.len()
    }

    pub fn running_slow(&self) -> usize {
        self.slow.running
    }

    fn has_room(&self) -> bool {
        self.limits
            .slow
            .is_some_and(|slow| self.slow.running < slow.max)
    }

    fn turns(&mut self, lane: Lane) -> &mut Turns<Q> {
        match lane {
            Lane::Quick => &mut self.quick,
            Lane::Slow => &mut self.slow,
        }
    }
}
