//! Breadth-first search of all histories of a scope, with the shortest history of each violation.
//!
//! A state is kept as a fingerprint of 128 bits of its key. The keys themselves are kept for two
//! levels only. With 100 million states two of them share a fingerprint with a probability of
//! 10^-23.
//!
//! All threads expand states of one level. What they found is added in the order of the states, so
//! that numbers and histories do not depend on the number of threads.

mod seen;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use xxhash_rust::xxh3::xxh3_128;

use self::seen::Seen;
use crate::apply::{Taken, apply};
use crate::key::{decode, encode, encode_transaction};
use crate::promises::{Promise, broken, is_at_rest};
use crate::reduce::reduce;
use crate::simulation::{plant, planted};
use crate::steps::{Step, steps};
use crate::world::{Scope, World};

/// Bounds of a search.
#[derive(Clone, Copy)]
pub struct Bounds {
    /// The search ends after this many states.
    pub states: usize,
    pub threads: usize,
}

/// Result of a search.
pub struct Explored {
    pub scope: Scope,
    pub states: usize,
    pub transitions: u64,
    /// Steps in the longest shortest history.
    pub depth: usize,
    /// Histories that ended because one more attempt began than the scope has.
    pub cut: u64,
    /// Different transactions, whatever is around them. Counted for an observer that asks for them.
    pub transactions: usize,
    /// Whether all states were found.
    pub is_closed: bool,
    pub seconds: f64,
    /// The first violation of each promise.
    pub violations: Vec<Violation>,
}

/// A history that breaks a promise.
pub struct Violation {
    pub promise: Promise,
    pub history: Vec<Step>,
}

/// Called for each step that is taken, with the world before it. Each thread has its own.
pub trait Observer: Default + Send {
    /// Whether it is shown each different transaction.
    const SEES_TRANSACTIONS: bool;
    fn step(&mut self, before: &World, step: Step, taken: &Taken);
    /// Called at least once for each different transaction. Returns the promise that it breaks.
    fn transaction(&mut self, world: &World) -> Option<Promise>;
    /// Adds what another thread observed.
    fn add(&mut self, other: Self);
}

/// Observes nothing.
impl Observer for () {
    const SEES_TRANSACTIONS: bool = false;

    fn step(&mut self, _: &World, _: Step, _: &Taken) {}

    fn transaction(&mut self, _: &World) -> Option<Promise> {
        None
    }

    fn add(&mut self, (): Self) {}
}

struct Search<'s> {
    scope: &'s Scope,
    template: World,
    seen: Seen,
    /// The state and the number of the step that first led to each state.
    origins: Vec<(u32, u16)>,
    next: Level,
    /// For each state, where its steps that happen by themselves begin in `leads`.
    begins: Vec<usize>,
    leads: Vec<u32>,
    rests: Vec<bool>,
    explored: Explored,
}

/// Keys of the states of a level, one behind another, and their ends.
#[derive(Default)]
struct Level {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Level {
    fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    fn key(&self, place: usize) -> &[u8] {
        let begin = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin..self.ends[place]]
    }
}

/// What a thread keeps between the parts of the levels that it expands.
#[derive(Default)]
struct Worker<O> {
    observer: O,
    transactions: Seen,
}

/// What was found in a part of a level.
#[derive(Default)]
struct Part {
    /// For each state, the end of what it leads to in `found`, and whether it is at rest.
    states: Vec<(usize, bool)>,
    found: Vec<Found>,
    /// Keys of those that were not known.
    keys: Level,
    transitions: u64,
    cut: u64,
    violations: Vec<(Promise, u32, Option<Step>)>,
}

struct Found {
    step: u16,
    by_itself: bool,
    /// `None`: it was not known before this level. Its key is the next one of the part.
    known: Option<u32>,
}

/// States that a thread takes at once, and states after which what was found is added.
const PART: usize = 256;
const BLOCK: usize = 128 * PART;

/// Explores `scope` completely, or until the bound of states.
#[expect(clippy::disallowed_methods, reason = "the time is only printed")]
pub fn explore<O: Observer>(scope: &Scope, bounds: Bounds, observer: &mut O) -> Explored {
    let began = Instant::now();
    let mut search = Search::new(scope);
    let mut workers: Vec<Worker<O>> = Vec::new();
    workers.resize_with(bounds.threads.max(1), Worker::default);
    let mut first = 0_u32;
    while !search.next.ends.is_empty() && search.origins.len() < bounds.states {
        let level = std::mem::take(&mut search.next);
        search.expand(first, &level, &mut workers);
        first += u32::try_from(level.ends.len()).expect("fewer than 2^32 states");
        search.explored.depth += 1;
    }
    let is_closed = search.next.ends.is_empty();
    if is_closed {
        search.find_dead_ends();
    }
    let mut transactions = Seen::default();
    for worker in workers {
        worker.transactions.add_to(&mut transactions);
        observer.add(worker.observer);
    }
    Explored {
        states: search.origins.len(),
        transactions: transactions.len(),
        is_closed,
        seconds: began.elapsed().as_secs_f64(),
        ..search.explored
    }
}

impl<'s> Search<'s> {
    fn new(scope: &'s Scope) -> Self {
        let mut search = Search {
            scope,
            seen: Seen::default(),
            origins: Vec::new(),
            next: Level::default(),
            begins: Vec::new(),
            leads: Vec::new(),
            rests: Vec::new(),
            explored: Explored {
                scope: *scope,
                states: 0,
                transitions: 0,
                depth: 0,
                cut: 0,
                transactions: 0,
                is_closed: false,
                seconds: 0.0,
                violations: Vec::new(),
            },
            template: World::new(scope),
        };
        let mut key = Vec::new();
        encode(&search.template, &mut key);
        search.add(&key, (0, 0));
        search
    }

    /// Returns the number of the state, which may be new.
    fn add(&mut self, key: &[u8], origin: (u32, u16)) -> u32 {
        let (number, is_new) = self.seen.add(xxh3_128(key));
        if is_new {
            self.origins.push(origin);
            self.next.push(key);
        }
        number
    }

    /// Expands a level, whose first state has the number `first`.
    fn expand<O: Observer>(&mut self, first: u32, level: &Level, workers: &mut [Worker<O>]) {
        let states = level.ends.len();
        for begin in (0..states).step_by(BLOCK) {
            let end = states.min(begin + BLOCK);
            for (at, part) in self.parts(first, level, begin..end, workers) {
                self.merge(number_of(first, at), &part);
            }
        }
    }

    /// Expands the states of `block`, and returns what was found in each part of it, in order.
    fn parts<O: Observer>(
        &self,
        first: u32,
        level: &Level,
        block: Range<usize>,
        workers: &mut [Worker<O>],
    ) -> Vec<(usize, Part)> {
        let next = AtomicUsize::new(block.start);
        let fault = planted();
        let work = |worker: &mut Worker<O>| {
            plant(fault);
            let mut parts = Vec::new();
            loop {
                let begin = next.fetch_add(PART, Ordering::Relaxed);
                if begin >= block.end {
                    return parts;
                }
                let end = block.end.min(begin + PART);
                let mut part = Part::default();
                for place in begin..end {
                    let number = number_of(first, place);
                    self.expand_state(number, level.key(place), worker, &mut part);
                }
                parts.push((begin, part));
            }
        };
        if block.len() <= PART {
            return workers.first_mut().map(work).unwrap_or_default();
        }
        let mut parts: Vec<(usize, Part)> = std::thread::scope(|scope| {
            let threads: Vec<_> = workers
                .iter_mut()
                .map(|worker| scope.spawn(|| work(worker)))
                .collect();
            let parts = threads.into_iter();
            let parts = parts.flat_map(|thread| thread.join().expect("no thread panicked"));
            parts.collect()
        });
        parts.sort_unstable_by_key(|(begin, _)| *begin);
        parts
    }

    fn expand_state<O: Observer>(
        &self,
        number: u32,
        key: &[u8],
        worker: &mut Worker<O>,
        part: &mut Part,
    ) {
        let world = decode(key, &self.template);
        let mut rests = is_at_rest(&world);
        let mut bytes = Vec::with_capacity(key.len() + 32);
        if O::SEES_TRANSACTIONS {
            encode_transaction(&world.tx, &mut bytes);
            if worker.transactions.add(xxh3_128(&bytes)).1
                && let Some(promise) = worker.observer.transaction(&world)
            {
                part.violations.push((promise, number, None));
            }
        }
        let mut possible = Vec::new();
        steps(&world, self.scope, &mut possible);
        for (place, step) in (0_u16..).zip(possible) {
            let Some(mut taken) = apply(&world, self.scope, step) else {
                continue;
            };
            part.transitions += 1;
            worker.observer.step(&world, step, &taken);
            if let Some(promise) = broken(&world, self.scope, step, &taken) {
                part.violations.push((promise, number, Some(step)));
                rests = true;
                continue;
            }
            if taken.after.sides.len() > self.scope.attempts {
                part.cut += 1;
                rests = true;
                continue;
            }
            reduce(&mut taken.after, self.scope);
            encode(&taken.after, &mut bytes);
            if bytes == key {
                continue;
            }
            let known = self.seen.find(xxh3_128(&bytes));
            if known.is_none() {
                part.keys.push(&bytes);
            }
            part.found.push(Found {
                step: place,
                by_itself: step.is_by_itself(),
                known,
            });
        }
        part.states.push((part.found.len(), rests));
    }

    /// Adds what was found in a part, whose first state has the number `first`.
    fn merge(&mut self, first: u32, part: &Part) {
        let (mut begin, mut key) = (0, 0);
        for (number, (end, rests)) in (first..).zip(&part.states) {
            self.begins.push(self.leads.len());
            self.rests.push(*rests);
            for found in &part.found[begin..*end] {
                let to = match found.known {
                    Some(known) => known,
                    None => {
                        key += 1;
                        self.add(part.keys.key(key - 1), (number, found.step))
                    }
                };
                if found.by_itself {
                    self.leads.push(to);
                }
            }
            begin = *end;
        }
        self.explored.transitions += part.transitions;
        self.explored.cut += part.cut;
        for (promise, at, step) in &part.violations {
            self.violated(*promise, *at, *step);
        }
    }

    fn violated(&mut self, promise: Promise, at: u32, step: Option<Step>) {
        let known = &self.explored.violations;
        if known.iter().any(|violation| violation.promise == promise) {
            return;
        }
        let mut history = self.history(at);
        history.extend(step);
        self.explored
            .violations
            .push(Violation { promise, history });
    }

    /// The steps that first led to a state.
    fn history(&self, mut at: u32) -> Vec<Step> {
        let mut places = Vec::new();
        while at != 0 {
            let (from, place) = self.origins[at as usize];
            places.push(place);
            at = from;
        }
        let mut world = self.template.clone();
        let (mut key, mut possible, mut history) = (Vec::new(), Vec::new(), Vec::new());
        for place in places.into_iter().rev() {
            reduce(&mut world, self.scope);
            encode(&world, &mut key);
            world = decode(&key, &self.template);
            steps(&world, self.scope, &mut possible);
            let step = possible[usize::from(place)];
            history.push(step);
            if let Some(taken) = apply(&world, self.scope, step) {
                world = taken.after;
            }
        }
        history
    }

    /// Looks for states from which no end and no open case can be reached by itself.
    fn find_dead_ends(&mut self) {
        let states = self.origins.len();
        self.begins.push(self.leads.len());
        let mut changed = true;
        while changed {
            changed = false;
            for state in (0..states).rev() {
                let leads = &self.leads[self.begins[state]..self.begins[state + 1]];
                if !self.rests[state] && leads.iter().any(|to| self.rests[*to as usize]) {
                    self.rests[state] = true;
                    changed = true;
                }
            }
        }
        if let Some(dead) = self.rests.iter().position(|rests| !rests) {
            let dead = u32::try_from(dead).expect("fewer than 2^32 states");
            self.violated(Promise::EndIsReachable, dead, None);
        }
    }
}

fn number_of(first: u32, place: usize) -> u32 {
    first + u32::try_from(place).expect("fewer than 2^32 states")
}
