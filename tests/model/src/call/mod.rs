//! Histories of one attempt's calls of its gateway: the journal's proof after every crash, and the
//! meaning of "not found". The rules are the host's own ([`switchyard_core::journal`]).

mod steps;
mod world;

use std::time::Duration;

pub use self::steps::Step;
pub use self::world::{CallScope, Calls};
use self::world::{Known, decode, encode};
use crate::search::{Bounds, Found, Model, Next};
use switchyard_core::journal::{self, Failure, NotFound, Recovered, Row, Stage, StatusQuery};

/// A promise about the calls of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallPromise {
    /// An attempt counts as not sent only if no request can have moved or can still move money.
    NotSentMovesNoMoney,
    /// An interrupted submission begins again only if nothing has left.
    NothingIsSentTwice,
    /// No request leaves without a row in the journal.
    WhatLeavesIsJournaled,
    /// Each attempt ends automatically, unless only a person can know.
    EndIsReachable,
}

/// The rules of the journal. A test replaces one of them.
pub trait Rules: Default + Sync {
    fn may_have_left(&self, failure: Failure) -> bool {
        failure.may_have_left()
    }

    fn stage(&self, is_answered: bool, may_have_left: bool) -> Stage {
        journal::stage(is_answered, may_have_left)
    }

    /// `None`: the journal cannot be read.
    fn maybe_sent(&self, rows: Option<&[Row]>) -> bool {
        let recovered = rows.map(|rows| journal::recovered(rows.iter().copied()));
        recovered != Some(Recovered::NothingSent)
    }

    fn is_not_sent(&self, submits: bool, may_have_left: bool) -> bool {
        journal::is_not_sent(submits, may_have_left)
    }

    fn not_found(&self, rows: &[Row], promised: Duration, asked: &StatusQuery) -> NotFound {
        journal::not_found(rows, promised, asked)
    }

    /// Whether a request leaves whose row could not be written.
    fn sends_unwritten(&self) -> bool {
        false
    }
}

/// The rules as they are.
#[derive(Default)]
pub struct AsTheyAre;

impl Rules for AsTheyAre {}

/// Result of the exploration of a scope.
pub struct Explored {
    pub scope: CallScope,
    pub found: Found<Step, CallPromise>,
}

/// Scopes that are explored.
pub fn scopes() -> Vec<CallScope> {
    let plain = CallScope {
        requests: 2,
        deaths: 1,
        clock: &[],
        credentials: false,
        faults: true,
    };
    vec![
        plain,
        CallScope {
            requests: 3,
            faults: false,
            ..plain
        },
        CallScope {
            clock: &[-3, 3],
            ..plain
        },
        CallScope {
            credentials: true,
            faults: false,
            ..plain
        },
    ]
}

/// Explores `scope` with `rules`.
pub fn explore<R: Rules>(scope: CallScope, rules: R, bounds: Bounds) -> Explored {
    let model = CallModel { scope, rules };
    let (found, _) = crate::search::explore(&model, bounds);
    Explored { scope, found }
}

struct CallModel<R> {
    scope: CallScope,
    rules: R,
}

impl<R: Rules> Model for CallModel<R> {
    type World = Calls;
    type Step = Step;
    type Promise = CallPromise;
    type Notes = ();

    const REST_IS_REACHABLE: CallPromise = CallPromise::EndIsReachable;

    fn start(&self) -> Calls {
        Calls::start()
    }

    fn encode(&self, world: &Calls, key: &mut Vec<u8>) {
        encode(world, key);
    }

    fn decode(&self, key: &[u8]) -> Calls {
        decode(key)
    }

    fn steps(&self, world: &Calls, possible: &mut Vec<Step>) {
        steps::steps(world, &self.scope, possible);
    }

    fn take(&self, world: &Calls, step: Step, (): &mut ()) -> Next<Calls, CallPromise> {
        steps::take(world, &self.scope, &self.rules, step)
    }

    fn is_at_rest(&self, world: &Calls) -> bool {
        // Without a row nothing proves what a gateway meant by "unknown", and only the account that
        // was sent to can tell: a person looks, after three days of queries.
        let is_unproven = world
            .requests
            .iter()
            .all(|request| matches!(request.stage, None | Some(Stage::NotSent)));
        let needs_person =
            world.changed.is_some() || (world.known == Known::InDoubt && is_unproven);
        !world.known.is_open() || needs_person
    }

    fn is_by_itself(step: Step) -> bool {
        step.is_by_itself()
    }
}
