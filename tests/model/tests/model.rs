//! Every history of two attempts keeps the promises about money, and the checker finds planted
//! faults.

use std::collections::BTreeSet;

use switchyard_core::transaction::Kind;
use switchyard_model::apply::Taken;
use switchyard_model::base::Sum;
use switchyard_model::faults::{Fault, plant};
use switchyard_model::history::{Observer, explore};
use switchyard_model::key::{decode, encode};
use switchyard_model::names;
use switchyard_model::promises::Promise;
use switchyard_model::rules::UNREACHED;
use switchyard_model::search::Bounds;
use switchyard_model::steps::Step;
use switchyard_model::story::tell;
use switchyard_model::world::{Lie, Scope, World};
use switchyard_model::worlds::{asked, explore_all, short, small};

const BOUNDS: Bounds = Bounds {
    states: 10_000_000,
    threads: 2,
};

#[test]
fn every_history_of_two_attempts_keeps_the_promises() {
    let (explored, _) = explore_all(&short(), BOUNDS, false, |_| {});
    let mut broken = Vec::new();
    for explored in &explored {
        let name = explored.scope.name();
        assert!(explored.found.is_closed, "{name} is not closed");
        for violation in &explored.found.violations {
            println!("{:?} is broken in {name}:", violation.promise);
            println!("{}", tell(&explored.scope, &violation.history));
            broken.push((name.clone(), violation.promise));
        }
    }
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn every_command_is_answered_in_every_transaction_and_each_rule_is_listed() {
    let (explored, rules) = explore_all(&asked(), BOUNDS, true, |_| {});
    let in_core = [
        Promise::EveryCommandIsAnswered,
        Promise::ReplayIsTheSame,
        Promise::FinalStaysFinal,
        Promise::WaitingHasAWakeUp,
    ];
    for explored in &explored {
        for violation in &explored.found.violations {
            let story = tell(&explored.scope, &violation.history);
            assert!(
                !in_core.contains(&violation.promise),
                "{:?}:\n{story}",
                violation.promise
            );
        }
    }
    let listed = include_str!("../rules.txt");
    let reached = rules.list();
    let changes: Vec<&str> = diff(listed, &reached);
    assert!(
        changes.is_empty(),
        "the rules have changed; check the change, then run `cargo xtask model --write-rules`: \
         {changes:#?}"
    );
    for unreached in rules.unreached() {
        let has_reason = UNREACHED
            .iter()
            .any(|(start, _)| unreached.starts_with(start));
        assert!(
            has_reason,
            "no history reaches {unreached}, and no reason is given"
        );
    }
    for (start, _) in UNREACHED {
        let still = rules
            .unreached()
            .iter()
            .any(|unreached| unreached.starts_with(start));
        assert!(still, "{start} is reached: remove it from the list");
    }
}

/// The lines that only one of two lists has.
fn diff<'l>(one: &'l str, other: &'l str) -> Vec<&'l str> {
    let only = |list: &'l str, in_list: &'l str| {
        let known: std::collections::BTreeSet<&str> = in_list.lines().collect();
        list.lines()
            .filter(move |line| !known.contains(line))
            .collect::<Vec<_>>()
    };
    [only(one, other), only(other, one)].concat()
}

/// The scope of an honest payout, or one with a lie.
fn scope(lie: Lie) -> Scope {
    let found = short()
        .into_iter()
        .find(|scope| scope.kind == Kind::Payout && scope.lie == lie);
    found.expect("every lie has a scope")
}

fn breaks(fault: Fault, scope: &Scope) -> Vec<Promise> {
    plant(Some(fault));
    let violations = explore(scope, BOUNDS, &mut ()).found.violations;
    plant(None);
    violations
        .iter()
        .map(|violation| violation.promise)
        .collect()
}

#[test]
fn a_success_of_too_little_money_is_found() {
    let broken = breaks(Fault::LessIsEnough, &scope(Lie::LessMoney));
    assert!(broken.contains(&Promise::SuccessIsPaid), "{broken:?}");
}

#[test]
fn a_payer_who_may_confirm_while_the_result_is_unknown_is_found() {
    let broken = breaks(Fault::ConfirmedInDoubt, &short()[0]);
    assert!(
        broken.contains(&Promise::NothingStartsBesideAnOpenAttempt),
        "{broken:?}"
    );
}

/// Encodes and decodes each world.
#[derive(Default)]
struct RoundTrip;

impl Observer for RoundTrip {
    const SEES_TRANSACTIONS: bool = true;

    fn step(&mut self, _: &World, _: Step, _: &Taken) {}

    fn transaction(&mut self, world: &World) -> Option<Promise> {
        let (mut key, mut again) = (Vec::new(), Vec::new());
        encode(world, &mut key);
        let decoded = decode(&key, &World::new(&scope(Lie::LessMoney)));
        encode(&decoded, &mut again);
        assert_eq!(key, again);
        assert_eq!(
            decoded.tx, world.tx,
            "a field that counts is not in the key"
        );
        None
    }

    fn add(&mut self, _: Self) {}
}

#[test]
fn a_key_stands_for_one_world() {
    for lie in [Lie::LessMoney, Lie::TwoCharges] {
        let explored = explore(&scope(lie), BOUNDS, &mut RoundTrip);
        assert!(explored.transactions > 100);
    }
    assert!(Sum::More.is_enough() && !Sum::Less.is_enough());
}

/// Decisions of the core in all histories, without those that change nothing: command, state and
/// events.
#[derive(Default)]
struct Decided(BTreeSet<(&'static str, &'static str, Vec<&'static str>)>);

impl Observer for Decided {
    const SEES_TRANSACTIONS: bool = false;

    fn step(&mut self, before: &World, _: Step, taken: &Taken) {
        if let Some((command, Ok(events))) = &taken.decided
            && !events.is_empty()
        {
            let events = events.iter().map(names::event).collect();
            let state = names::state(&before.tx.state);
            self.0.insert((names::command(command), state, events));
        }
    }

    fn transaction(&mut self, _: &World) -> Option<Promise> {
        None
    }

    fn add(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

/// Broken promises, with the length of the shortest history, and the decisions.
fn reached(scope: &Scope) -> (BTreeSet<(Promise, usize)>, Decided) {
    let mut decided = Decided::default();
    let violations = explore(scope, BOUNDS, &mut decided).found.violations;
    let broken = violations.iter();
    let broken = broken.map(|violation| (violation.promise, violation.history.len()));
    (broken.collect(), decided)
}

#[test]
fn a_reduced_scope_reaches_the_same_decisions_and_the_same_violations() {
    for full in small() {
        let name = full.name();
        let reduced = Scope {
            reduced: true,
            ..full
        };
        let faults = [Fault::ConfirmedInDoubt, Fault::LessIsEnough].map(Some);
        for fault in faults.into_iter().chain([None]) {
            plant(fault);
            let (broken, mut all) = reached(&full);
            let (broken_reduced, mut all_reduced) = reached(&reduced);
            plant(None);
            // The ids of an attempt that moves no money any more are left out.
            for decided in [&mut all, &mut all_reduced] {
                decided
                    .0
                    .retain(|(_, _, events)| *events != ["attempt_identified"]);
            }
            assert_eq!(broken, broken_reduced, "{name} {fault:?}");
            assert!(all_reduced.0.is_subset(&all.0), "{name}");
            // A case about a missing answer is left out with its attempt, and a check with the
            // person's word about an attempt that moves no money any more.
            let lost: Vec<_> = all.0.difference(&all_reduced.0).collect();
            let orders = ["order close_case", "order check"];
            let is_left_out = lost.iter().all(|lost| orders.contains(&lost.0));
            assert!(is_left_out, "{name}: {lost:?}");
        }
    }
}
