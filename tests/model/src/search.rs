//! Breadth-first search of all histories of a model, with the shortest history of each violation.
//!
//! A state is kept as a fingerprint of 128 bits of its key. The keys themselves are kept for two
//! levels only. With 100 million states two of them share a fingerprint with a probability of
//! 10^-23.
//!
//! All threads expand states of one level. Found states are added in the order of their parents, so
//! that numbers and histories do not depend on the number of threads.

mod seen;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use xxhash_rust::xxh3::xxh3_128;

pub use self::seen::Seen;
use crate::faults::{plant, planted};

/// Something whose histories are explored.
pub trait Model: Sync {
    type World;
    type Step: Copy + Send + Sync;
    type Promise: Copy + PartialEq + Send + Sync;
    /// Observations of a thread.
    type Notes: Default + Send;

    /// The world at the beginning.
    fn start(&self) -> Self::World;
    /// Writes the bytes that tell two worlds apart.
    fn encode(&self, world: &Self::World, key: &mut Vec<u8>);
    /// Returns the world of a key.
    fn decode(&self, key: &[u8]) -> Self::World;
    /// All steps that `world` can take, in a fixed order.
    fn steps(&self, world: &Self::World, steps: &mut Vec<Self::Step>);
    /// Takes a step. Parts that the key omits may be omitted in the next world.
    fn take(
        &self,
        world: &Self::World,
        step: Self::Step,
        notes: &mut Self::Notes,
    ) -> Next<Self::World, Self::Promise>;
    /// Called once for each state. Returns the promise that it breaks.
    fn look(&self, _: &Self::World, _: &mut Self::Notes) -> Option<Self::Promise> {
        None
    }
    /// Whether no automatic step is left.
    fn is_at_rest(&self, world: &Self::World) -> bool;
    /// Whether a step happens automatically. Progress may only rely on these.
    fn is_by_itself(step: Self::Step) -> bool;
    /// The promise broken by a state from which no rest can be reached automatically.
    const REST_IS_REACHABLE: Self::Promise;
}

/// Result of a step.
pub enum Next<World, Promise> {
    /// Impossible, or without effect.
    Nothing,
    To(World),
    Broken(Promise),
    /// Out of the model's bounds.
    Cut,
}

/// Bounds of a search.
#[derive(Clone, Copy)]
pub struct Bounds {
    /// The search ends after this many states.
    pub states: usize,
    pub threads: usize,
}

/// Result of a search.
pub struct Found<Step, Promise> {
    pub states: usize,
    pub transitions: u64,
    /// Steps in the longest shortest history.
    pub depth: usize,
    /// Histories that ended at the model's bounds.
    pub cut: u64,
    /// Whether all states were found.
    pub is_closed: bool,
    pub seconds: f64,
    /// The first violation of each promise.
    pub violations: Vec<Violation<Step, Promise>>,
}

/// Result of a search of a model.
pub type FoundIn<M> = Found<<M as Model>::Step, <M as Model>::Promise>;

/// A history that breaks a promise.
pub struct Violation<Step, Promise> {
    pub promise: Promise,
    pub history: Vec<Step>,
}

struct Search<'m, M: Model> {
    model: &'m M,
    seen: Seen,
    /// The state and the number of the step that first led to each state.
    origins: Vec<(u32, u16)>,
    next: Level,
    /// For each state, where its steps that happen by themselves begin in `leads`.
    begins: Vec<usize>,
    leads: Vec<u32>,
    rests: Vec<bool>,
    found: FoundIn<M>,
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

/// States found in a part of a level.
struct Part<M: Model> {
    /// For each state, the end of its successors in `leads`, and whether it is at rest.
    states: Vec<(usize, bool)>,
    leads: Vec<Lead>,
    /// Keys of those that were not known.
    keys: Level,
    transitions: u64,
    cut: u64,
    violations: Vec<(M::Promise, u32, Option<M::Step>)>,
}

impl<M: Model> Part<M> {
    fn new() -> Self {
        Self {
            states: Vec::new(),
            leads: Vec::new(),
            keys: Level::default(),
            transitions: 0,
            cut: 0,
            violations: Vec::new(),
        }
    }
}

/// A step from one state to another.
struct Lead {
    step: u16,
    by_itself: bool,
    /// `None`: it was not known before this level. Its key is the next one of the part.
    known: Option<u32>,
}

/// States that a thread takes at once, and states after which what was found is added.
const PART: usize = 256;
const BLOCK: usize = 128 * PART;

/// Explores `model` completely, or until the bound of states. Returns what each thread noted, too.
#[expect(clippy::disallowed_methods, reason = "the time is only printed")]
pub fn explore<M: Model>(model: &M, bounds: Bounds) -> (FoundIn<M>, Vec<M::Notes>) {
    let began = Instant::now();
    let mut search = Search::new(model);
    let mut notes: Vec<M::Notes> = Vec::new();
    notes.resize_with(bounds.threads.max(1), M::Notes::default);
    let mut first = 0_u32;
    while !search.next.ends.is_empty() && search.origins.len() < bounds.states {
        let level = std::mem::take(&mut search.next);
        search.expand(first, &level, &mut notes);
        first += u32::try_from(level.ends.len()).expect("fewer than 2^32 states");
        search.found.depth += 1;
    }
    let is_closed = search.next.ends.is_empty();
    if is_closed {
        search.find_dead_ends();
    }
    let found = Found {
        states: search.origins.len(),
        is_closed,
        seconds: began.elapsed().as_secs_f64(),
        ..search.found
    };
    (found, notes)
}

impl<'m, M: Model> Search<'m, M> {
    fn new(model: &'m M) -> Self {
        let mut search = Search {
            model,
            seen: Seen::default(),
            origins: Vec::new(),
            next: Level::default(),
            begins: Vec::new(),
            leads: Vec::new(),
            rests: Vec::new(),
            found: Found {
                states: 0,
                transitions: 0,
                depth: 0,
                cut: 0,
                is_closed: false,
                seconds: 0.0,
                violations: Vec::new(),
            },
        };
        let mut key = Vec::new();
        model.encode(&model.start(), &mut key);
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
    fn expand(&mut self, first: u32, level: &Level, notes: &mut [M::Notes]) {
        let states = level.ends.len();
        for begin in (0..states).step_by(BLOCK) {
            let end = states.min(begin + BLOCK);
            for (at, part) in self.parts(first, level, begin..end, notes) {
                self.merge(number_of(first, at), &part);
            }
        }
    }

    /// Expands the states of `block`, and returns what was found in each part of it, in order.
    fn parts(
        &self,
        first: u32,
        level: &Level,
        block: Range<usize>,
        notes: &mut [M::Notes],
    ) -> Vec<(usize, Part<M>)> {
        let next = AtomicUsize::new(block.start);
        let fault = planted();
        let work = |notes: &mut M::Notes| {
            plant(fault);
            let mut parts = Vec::new();
            loop {
                let begin = next.fetch_add(PART, Ordering::Relaxed);
                if begin >= block.end {
                    return parts;
                }
                let end = block.end.min(begin + PART);
                let mut part = Part::new();
                for place in begin..end {
                    let number = number_of(first, place);
                    self.expand_state(number, level.key(place), notes, &mut part);
                }
                parts.push((begin, part));
            }
        };
        if block.len() <= PART {
            return notes.first_mut().map(work).unwrap_or_default();
        }
        let mut parts: Vec<(usize, Part<M>)> = std::thread::scope(|scope| {
            let threads: Vec<_> = notes
                .iter_mut()
                .map(|notes| scope.spawn(|| work(notes)))
                .collect();
            let parts = threads.into_iter();
            let parts = parts.flat_map(|thread| thread.join().expect("no thread panicked"));
            parts.collect()
        });
        parts.sort_unstable_by_key(|(begin, _)| *begin);
        parts
    }

    fn expand_state(&self, number: u32, key: &[u8], notes: &mut M::Notes, part: &mut Part<M>) {
        let world = self.model.decode(key);
        let mut rests = self.model.is_at_rest(&world);
        if let Some(promise) = self.model.look(&world, notes) {
            part.violations.push((promise, number, None));
        }
        let mut bytes = Vec::with_capacity(key.len() + 32);
        let mut possible = Vec::new();
        self.model.steps(&world, &mut possible);
        for (place, step) in (0_u16..).zip(possible) {
            let next = self.model.take(&world, step, notes);
            part.transitions += u64::from(!matches!(next, Next::Nothing));
            let after = match next {
                Next::Nothing => continue,
                Next::To(after) => after,
                Next::Broken(promise) => {
                    part.violations.push((promise, number, Some(step)));
                    rests = true;
                    continue;
                }
                Next::Cut => {
                    part.cut += 1;
                    rests = true;
                    continue;
                }
            };
            self.model.encode(&after, &mut bytes);
            if bytes == key {
                continue;
            }
            let known = self.seen.find(xxh3_128(&bytes));
            if known.is_none() {
                part.keys.push(&bytes);
            }
            part.leads.push(Lead {
                step: place,
                by_itself: M::is_by_itself(step),
                known,
            });
        }
        part.states.push((part.leads.len(), rests));
    }

    /// Adds what was found in a part, whose first state has the number `first`.
    fn merge(&mut self, first: u32, part: &Part<M>) {
        let (mut begin, mut key) = (0, 0);
        for (number, (end, rests)) in (first..).zip(&part.states) {
            self.begins.push(self.leads.len());
            self.rests.push(*rests);
            for lead in &part.leads[begin..*end] {
                let to = match lead.known {
                    Some(known) => known,
                    None => {
                        key += 1;
                        self.add(part.keys.key(key - 1), (number, lead.step))
                    }
                };
                if lead.by_itself {
                    self.leads.push(to);
                }
            }
            begin = *end;
        }
        self.found.transitions += part.transitions;
        self.found.cut += part.cut;
        for (promise, at, step) in &part.violations {
            self.violated(*promise, *at, *step);
        }
    }

    fn violated(&mut self, promise: M::Promise, at: u32, step: Option<M::Step>) {
        let known = &self.found.violations;
        if known.iter().any(|violation| violation.promise == promise) {
            return;
        }
        let mut history = self.history(at);
        history.extend(step);
        self.found.violations.push(Violation { promise, history });
    }

    /// The steps that first led to a state.
    fn history(&self, mut at: u32) -> Vec<M::Step> {
        let mut places = Vec::new();
        while at != 0 {
            let (from, place) = self.origins[at as usize];
            places.push(place);
            at = from;
        }
        let mut world = self.model.start();
        let (mut key, mut possible, mut history) = (Vec::new(), Vec::new(), Vec::new());
        for place in places.into_iter().rev() {
            self.model.encode(&world, &mut key);
            world = self.model.decode(&key);
            self.model.steps(&world, &mut possible);
            let step = possible[usize::from(place)];
            history.push(step);
            if let Next::To(after) = self.model.take(&world, step, &mut M::Notes::default()) {
                world = after;
            }
        }
        history
    }

    /// Finds states from which no end and no open case can be reached automatically.
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
            self.violated(M::REST_IS_REACHABLE, dead, None);
        }
    }
}

fn number_of(first: u32, place: usize) -> u32 {
    first + u32::try_from(place).expect("fewer than 2^32 states")
}
