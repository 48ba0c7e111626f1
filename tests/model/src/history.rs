//! Histories of one transaction, as a model that is searched.

use std::marker::PhantomData;

use xxhash_rust::xxh3::xxh3_128;

use crate::apply::{Taken, apply};
use crate::key::{decode, encode, encode_transaction};
use crate::promises::{Promise, broken, is_at_rest};
use crate::reduce::reduce;
use crate::search::{Bounds, Found, Model, Next, Seen};
use crate::steps::{Step, steps};
use crate::world::{Scope, World};

/// Result of the exploration of a scope.
pub struct Explored {
    pub scope: Scope,
    pub found: Found<Step, Promise>,
    /// Different transactions, whatever is around them. Counted for an observer that asks for them.
    pub transactions: usize,
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

/// Explores `scope` completely, or until the bound of states.
pub fn explore<O: Observer>(scope: &Scope, bounds: Bounds, observer: &mut O) -> Explored {
    let histories = Histories::<O> {
        scope,
        template: World::new(scope),
        observer: PhantomData,
    };
    let (found, notes) = crate::search::explore(&histories, bounds);
    let mut transactions = Seen::default();
    for Notes {
        observer: own,
        seen,
    } in notes
    {
        seen.add_to(&mut transactions);
        observer.add(own);
    }
    Explored {
        scope: *scope,
        found,
        transactions: transactions.count(),
    }
}

struct Histories<'s, O> {
    scope: &'s Scope,
    template: World,
    observer: PhantomData<fn() -> O>,
}

/// An observer, and the transactions that it has seen.
#[derive(Default)]
struct Notes<O> {
    observer: O,
    seen: Seen,
}

impl<O: Observer> Model for Histories<'_, O> {
    type World = World;
    type Step = Step;
    type Promise = Promise;
    type Notes = Notes<O>;

    const REST_IS_REACHABLE: Promise = Promise::EndIsReachable;

    fn start(&self) -> World {
        self.template.clone()
    }

    fn encode(&self, world: &World, key: &mut Vec<u8>) {
        encode(world, key);
    }

    fn decode(&self, key: &[u8]) -> World {
        decode(key, &self.template)
    }

    fn steps(&self, world: &World, possible: &mut Vec<Step>) {
        steps(world, self.scope, possible);
    }

    fn take(&self, world: &World, step: Step, notes: &mut Notes<O>) -> Next<World, Promise> {
        let Some(mut taken) = apply(world, self.scope, step) else {
            return Next::Nothing;
        };
        notes.observer.step(world, step, &taken);
        if let Some(promise) = broken(world, self.scope, step, &taken) {
            return Next::Broken(promise);
        }
        if taken.after.sides.len() > self.scope.attempts {
            return Next::Cut;
        }
        reduce(&mut taken.after, self.scope);
        Next::To(taken.after)
    }

    fn look(&self, world: &World, notes: &mut Notes<O>) -> Option<Promise> {
        if !O::SEES_TRANSACTIONS {
            return None;
        }
        let mut bytes = Vec::new();
        encode_transaction(&world.tx, &mut bytes);
        let is_new = notes.seen.add(xxh3_128(&bytes)).1;
        is_new.then(|| notes.observer.transaction(world)).flatten()
    }

    fn is_at_rest(&self, world: &World) -> bool {
        is_at_rest(world)
    }

    fn is_by_itself(step: Step) -> bool {
        step.is_by_itself()
    }
}
