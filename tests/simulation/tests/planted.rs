//! A simulation that finds nothing proves nothing: every planted fault is found, and every promise
//! can be broken.

use std::collections::BTreeSet;

use switchyard_simulation::faults::Fault;
use switchyard_simulation::plan::Plan;
use switchyard_simulation::promises::{breaks, found, rules};
use switchyard_simulation::reached::Reached;
use switchyard_simulation::{Options, run};

#[test]
fn every_planted_fault_breaks_its_promise_within_two_thousand_seeds() {
    for fault in Fault::ALL {
        let (seed, broken) = found(fault, 1..2_001)
            .unwrap_or_else(|| panic!("{fault:?} does not break {}", breaks(fault)));
        println!("{fault:?} is found with seed {seed}: {broken}");
    }
}

#[test]
fn every_promise_is_broken_by_a_planted_fault() {
    let broken: BTreeSet<_> = Fault::ALL.into_iter().map(breaks).collect();
    assert_eq!(broken, rules().collect());
}

#[test]
fn every_lie_is_told_in_the_first_thousand_histories() {
    let mut reached = Reached::default();
    for seed in 1..=1_000 {
        reached.add(&run(Plan::of(seed), Options::default()).reached);
        if reached.untold().is_empty() {
            return;
        }
    }
    panic!("{reached}");
}
