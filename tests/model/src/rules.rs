//! Rules of the core that histories reach: each result of each command in each state.
//!
//! `tests/model/rules.txt` holds the list. A rule that is no longer reached, and a new one, change
//! it, and fail the test.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::apply::Taken;
use crate::every::ask_all;
use crate::history::Observer;
use crate::names;
use crate::promises::Promise;
use crate::steps::Step;
use crate::world::World;
use switchyard_core::transaction::{Command, Details, Event, Refusal, Transaction};

/// The results of each command in each state.
#[derive(Default)]
pub struct Rules {
    seen: BTreeMap<(&'static str, &'static str, &'static str), BTreeSet<String>>,
    refusals: BTreeSet<&'static str>,
    /// Fingerprints of all results in `seen`, to recognise a repetition quickly.
    known: HashSet<u64>,
}

impl Rules {
    /// Notes what `command` came to. Returns whether that is a new result.
    pub fn note(
        &mut self,
        tx: &Transaction,
        command: &Command,
        decided: &Result<Vec<Event>, Refusal>,
    ) -> bool {
        let kind = match tx.details {
            Details::Payment(_) => "payment",
            Details::Payout(_) => "payout",
        };
        let state = names::state(&tx.state);
        let command = names::command(command);
        if !self
            .known
            .insert(fingerprint(kind, state, command, decided))
        {
            return false;
        }
        let result = match decided {
            Ok(events) if events.is_empty() => "=".to_owned(),
            Ok(events) => {
                let names: Vec<&str> = events.iter().map(names::event).collect();
                names.join(", ")
            }
            Err(refusal) => {
                let name = names::refusal(refusal);
                self.refusals.insert(name);
                format!("! {name}")
            }
        };
        let results = self.seen.entry((kind, state, command)).or_default();
        results.insert(result)
    }

    /// The list: a line for each command and result, and the states in which it was seen.
    pub fn list(&self) -> String {
        let mut places: BTreeMap<(&str, &str), BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
        for ((kind, state, command), results) in &self.seen {
            for result in results {
                let kinds = places.entry((*command, result.as_str())).or_default();
                kinds.entry(*kind).or_default().push(*state);
            }
        }
        let mut list = String::new();
        for ((command, result), kinds) in places {
            list.push_str(&format!("{command} -> {result}\n"));
            for (kind, states) in kinds {
                list.push_str(&format!("    {kind}: {}\n", states.join(" ")));
            }
        }
        list
    }

    /// The pairs of state and command, and the refusals, that were not reached.
    pub fn unreached(&self) -> Vec<String> {
        let mut unreached = Vec::new();
        for kind in ["payment", "payout"] {
            for state in names::STATES {
                for command in names::commands() {
                    if !self.seen.contains_key(&(kind, state, command)) {
                        unreached.push(format!("{kind} {state}: {command}"));
                    }
                }
            }
        }
        let refusals = names::REFUSALS.iter();
        let refusals = refusals.filter(|name| !self.refusals.contains(*name));
        unreached.extend(refusals.map(|name| format!("refusal {name}")));
        unreached
    }
}

/// Names are static, so that their addresses identify them.
fn fingerprint(
    kind: &'static str,
    state: &'static str,
    command: &'static str,
    decided: &Result<Vec<Event>, Refusal>,
) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut add = |name: &'static str| name.as_ptr().hash(&mut hasher);
    [kind, state, command].into_iter().for_each(&mut add);
    match decided {
        Ok(events) => events.iter().map(names::event).for_each(&mut add),
        Err(refusal) => {
            add("!");
            add(names::refusal(refusal));
        }
    }
    hasher.finish()
}

impl Observer for Rules {
    const SEES_TRANSACTIONS: bool = true;

    fn step(&mut self, before: &World, _: Step, taken: &Taken) {
        if let Some((command, decided)) = &taken.decided {
            self.note(&before.tx, command, decided);
        }
    }

    fn transaction(&mut self, world: &World) -> Option<Promise> {
        ask_all(&world.tx, self)
    }

    fn add(&mut self, other: Self) {
        for (place, results) in other.seen {
            self.seen.entry(place).or_default().extend(results);
        }
        self.refusals.extend(other.refusals);
    }
}

/// Reasons for unreachable pairs of state and command, and refusals: the beginning of the line, and
/// the reason.
pub const UNREACHED: &[(&str, &str)] = &[
    (
        "payment awaiting_dispatch",
        "a payment is confirmed by its payer, not dispatched",
    ),
    ("payout awaiting_customer", "a payout has no payer"),
    ("payout cancelled", "a payout cannot be cancelled"),
    (
        "refusal method_not_offered",
        "the modelled payment is open to all methods",
    ),
    (
        "refusal country_restricted",
        "the modelled payment has no restriction",
    ),
    (
        "refusal phone_restricted",
        "the modelled payment has no restriction",
    ),
    (
        "refusal which_attempt",
        "the modelled person always names the attempt",
    ),
];
