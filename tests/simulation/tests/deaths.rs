//! Each flow survives a crash at every step, with any response of its provider.

#![expect(clippy::print_stdout, reason = "progress of a long test")]

use switchyard_simulation::plan::{Plan, Trouble};
use switchyard_simulation::survives_a_death_at_every_step;

/// Lets the process die at each step of the histories of a few seeds. `least`: steps that each of
/// them has.
fn survives(seeds: std::ops::RangeInclusive<u64>, least: u64, plan: impl Fn(u64) -> Plan) {
    for seed in seeds {
        let points = survives_a_death_at_every_step(&plan(seed));
        println!("seed {seed}: {points} places to die at");
        assert!(points > least, "seed {seed}");
    }
}

#[test]
fn a_payment_ends_the_same_wherever_the_process_dies() {
    survives(1..=6, 10, |seed| Plan::calm(seed, 1, 0));
}

#[test]
fn a_payout_ends_the_same_wherever_the_process_dies() {
    survives(1..=6, 10, |seed| Plan::calm(seed, 0, 1));
}

#[test]
fn webhooks_that_fail_lose_nothing_wherever_the_process_dies() {
    survives(1..=2, 20, |seed| Plan {
        webhooks: 2,
        trouble: Trouble {
            endpoints: 600,
            ..Trouble::default()
        },
        ..Plan::calm(seed, 1, 0)
    });
}

#[test]
fn what_receivers_refuse_twice_is_told_as_if_nobody_had_died() {
    survives(1..=2, 20, |seed| Plan {
        webhooks: 2,
        refusals: 2,
        ..Plan::calm(seed, 1, 0)
    });
}

#[test]
fn mails_that_fail_lose_nothing_wherever_the_process_dies() {
    survives(1..=3, 15, |seed| Plan {
        webhooks: 0,
        trouble: Trouble {
            mail: 700,
            ..Trouble::default()
        },
        ..Plan::calm(seed, 1, 0)
    });
}

#[test]
fn an_upgrade_with_a_payment_under_way_ends_the_same_wherever_the_process_dies() {
    survives(1..=3, 15, |seed| Plan {
        neighbours: 1,
        changes: 4,
        ..Plan::calm(seed, 1, 0)
    });
}

#[test]
fn a_payment_in_another_currency_with_a_code_keeps_every_promise_wherever_the_process_dies() {
    survives(1..=2, 15, |seed| Plan {
        converted: 1_000,
        codes: 1_000,
        ..Plan::calm(seed, 1, 0)
    });
}

#[test]
fn orders_of_operators_keep_every_promise_wherever_the_process_dies() {
    survives(1..=2, 10, |seed| Plan {
        by_hand: 1_000,
        ..Plan::calm(seed, 1, 1)
    });
}
