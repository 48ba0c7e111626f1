//! Every history of two attempts keeps the promises about money, and the checker finds planted
//! faults.

use switchyard_model::base::Sum;
use switchyard_model::key::{decode, encode};
use switchyard_model::planted::Fault;
use switchyard_model::promises::Promise;
use switchyard_model::rules::UNREACHED;
use switchyard_model::search::{Explored, Observer, explore};
use switchyard_model::simulation::plant;
use switchyard_model::steps::Step;
use switchyard_model::story::tell;
use switchyard_model::world::{Lie, Scope, World};
use switchyard_model::worlds::{asked, explore_all, short};

const MOST: usize = 10_000_000;

#[test]
fn every_history_of_two_attempts_keeps_the_promises() {
    let (explored, _) = explore_all(&short(), MOST, 2, false, |_| {});
    let mut broken = Vec::new();
    for explored in &explored {
        let name = explored.scope.name();
        assert!(explored.states < MOST, "{name} is not closed");
        for violation in &explored.violations {
            println!("{:?} is broken in {name}:", violation.promise);
            println!("{}", tell(&explored.scope, &violation.history));
            broken.push((name.clone(), violation.promise));
        }
    }
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn every_command_is_answered_in_every_transaction_and_each_rule_is_listed() {
    let (explored, rules) = explore_all(&asked(), MOST, 2, true, |_| {});
    let in_core = [
        Promise::EveryCommandIsAnswered,
        Promise::ReplayIsTheSame,
        Promise::FinalStaysFinal,
        Promise::WaitingHasAWakeUp,
    ];
    for explored in &explored {
        for violation in &explored.violations {
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

fn scope(name: &str) -> Scope {
    let found = short().into_iter().find(|scope| scope.name() == name);
    found.unwrap_or_else(|| panic!("there is no scope {name}"))
}

fn breaks(fault: Fault, name: &str) -> Vec<Promise> {
    plant(Some(fault));
    let Explored { violations, .. } = explore(&scope(name), MOST, &mut ());
    plant(None);
    violations
        .iter()
        .map(|violation| violation.promise)
        .collect()
}

#[test]
fn a_success_of_too_little_money_is_found() {
    let broken = breaks(Fault::LessIsEnough, "payout less-money +operator");
    assert!(broken.contains(&Promise::SuccessIsPaid), "{broken:?}");
}

#[test]
fn a_payer_who_may_confirm_while_the_result_is_unknown_is_found() {
    let broken = breaks(
        Fault::ConfirmedInDoubt,
        "payment honest +operator +call-off",
    );
    assert!(
        broken.contains(&Promise::NothingStartsBesideAnOpenAttempt),
        "{broken:?}"
    );
}

/// Encodes and decodes each world.
struct RoundTrip(World);

impl Observer for RoundTrip {
    fn step(&mut self, _: &World, _: Step, _: &switchyard_model::apply::Taken) {}

    fn transaction(&mut self, world: &World) -> Option<Promise> {
        let (mut key, mut again) = (Vec::new(), Vec::new());
        encode(world, &mut key);
        let decoded = decode(&key, &self.0);
        encode(&decoded, &mut again);
        assert_eq!(key, again);
        assert_eq!(
            decoded.tx, world.tx,
            "a field that counts is not in the key"
        );
        None
    }
}

#[test]
fn a_key_stands_for_one_world() {
    for lie in [Lie::LessMoney, Lie::TwoCharges] {
        let scope = scope(&format!("payout {} +operator", lie.name()));
        let template = World::new(&scope);
        let explored = explore(&scope, MOST, &mut RoundTrip(template));
        assert!(explored.transactions > 100);
    }
    assert!(Sum::More.is_enough() && !Sum::Less.is_enough());
}
