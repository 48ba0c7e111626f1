//! Breadth-first search of all histories of a scope, with the shortest history of each violation.
//!
//! A state is kept as a fingerprint of 128 bits of its key. The keys themselves are kept for two
//! levels only. With 100 million states two of them share a fingerprint with a probability of
//! 10^-23.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::time::Instant;

use xxhash_rust::xxh3::xxh3_128;

use crate::apply::{Taken, apply};
use crate::key::{decode, encode, encode_transaction};
use crate::promises::{Promise, broken, is_at_rest};
use crate::steps::{Step, steps};
use crate::world::{Scope, World};

/// Result of a search.
pub struct Explored {
    pub scope: Scope,
    pub states: usize,
    pub transitions: u64,
    /// Steps in the longest shortest history.
    pub depth: usize,
    /// Histories that ended because one more attempt began than the scope has.
    pub cut: u64,
    /// Different transactions, whatever is around them.
    pub transactions: usize,
    pub seconds: f64,
    /// The first violation of each promise.
    pub violations: Vec<Violation>,
}

/// A history that breaks a promise.
pub struct Violation {
    pub promise: Promise,
    pub history: Vec<Step>,
}

/// Fingerprints are their own hashes.
#[derive(Default)]
struct Fingerprint(u64);

impl Hasher for Fingerprint {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let low: [u8; 8] = std::array::from_fn(|place| bytes.get(place).copied().unwrap_or(0));
        self.0 = u64::from_le_bytes(low);
    }

    fn write_u128(&mut self, value: u128) {
        self.0 = value as u64;
    }
}

type Seen<V> = HashMap<u128, V, BuildHasherDefault<Fingerprint>>;

/// Called for each step that is taken, with the world before it.
pub trait Observer {
    fn step(&mut self, before: &World, step: Step, taken: &Taken);
    /// Called once for each different transaction. Returns the promise that it breaks.
    fn transaction(&mut self, world: &World) -> Option<Promise>;
}

/// Observes nothing.
impl Observer for () {
    fn step(&mut self, _: &World, _: Step, _: &Taken) {}

    fn transaction(&mut self, _: &World) -> Option<Promise> {
        None
    }
}

struct Search<'s, O> {
    scope: &'s Scope,
    template: World,
    observer: &'s mut O,
    seen: Seen<u32>,
    transactions: Seen<()>,
    /// The state and the number of the step that first led to each state.
    origins: Vec<(u32, u16)>,
    /// Keys of the next level, one behind another, and their ends.
    next: Level,
    /// For each state, where its steps that happen by themselves begin in `leads`.
    begins: Vec<usize>,
    leads: Vec<u32>,
    rests: Vec<bool>,
    explored: Explored,
}

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

    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins
            .zip(&self.ends)
            .map(|(begin, end)| &self.bytes[begin..*end])
    }
}

/// Explores `scope` completely, or until `most` states have been found.
#[expect(clippy::disallowed_methods, reason = "the time is only printed")]
pub fn explore<O: Observer>(scope: &Scope, most: usize, observer: &mut O) -> Explored {
    let began = Instant::now();
    let template = World::new(scope);
    let mut search = Search {
        scope,
        observer,
        seen: Seen::default(),
        transactions: Seen::default(),
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
            seconds: 0.0,
            violations: Vec::new(),
        },
        template,
    };
    let mut key = Vec::new();
    encode(&search.template.clone(), &mut key);
    search.add(&key, (0, 0));
    let mut first = 0_u32;
    while !search.next.ends.is_empty() && search.origins.len() < most {
        let level = std::mem::take(&mut search.next);
        for key in level.keys() {
            search.expand(first, key);
            first += 1;
        }
        search.explored.depth += 1;
    }
    if search.origins.len() < most {
        search.find_dead_ends();
    }
    let mut explored = search.explored;
    explored.states = search.origins.len();
    explored.transactions = search.transactions.len();
    explored.seconds = began.elapsed().as_secs_f64();
    explored
}

impl<O: Observer> Search<'_, O> {
    /// Returns the number of the state, which may be new.
    fn add(&mut self, key: &[u8], origin: (u32, u16)) -> u32 {
        let number = u32::try_from(self.origins.len()).expect("fewer than 2^32 states");
        let known = *self.seen.entry(xxh3_128(key)).or_insert(number);
        if known == number {
            self.origins.push(origin);
            self.next.push(key);
        }
        known
    }

    fn expand(&mut self, number: u32, key: &[u8]) {
        let world = decode(key, &self.template);
        self.begins.push(self.leads.len());
        self.rests.push(is_at_rest(&world));
        let mut bytes = Vec::with_capacity(key.len() + 32);
        encode_transaction(&world.tx, &mut bytes);
        if self.transactions.insert(xxh3_128(&bytes), ()).is_none()
            && let Some(promise) = self.observer.transaction(&world)
        {
            self.violated(promise, number, None);
        }
        let mut possible = Vec::new();
        steps(&world, self.scope, &mut possible);
        for (place, step) in (0_u16..).zip(possible) {
            let Some(taken) = apply(&world, self.scope, step) else {
                continue;
            };
            self.explored.transitions += 1;
            self.observer.step(&world, step, &taken);
            if let Some(promise) = broken(&world, self.scope, step, &taken) {
                self.violated(promise, number, Some(step));
                self.rests[number as usize] = true;
                continue;
            }
            if taken.after.sides.len() > self.scope.attempts {
                self.explored.cut += 1;
                self.rests[number as usize] = true;
                continue;
            }
            encode(&taken.after, &mut bytes);
            if bytes == key {
                continue;
            }
            let to = self.add(&bytes, (number, place));
            if step.is_by_itself() {
                self.leads.push(to);
            }
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
