//! A simulation that finds nothing proves nothing: every fault that is planted in the engine is found.

use switchyard_engine::simulation::Fault;
use switchyard_simulation::plan::Plan;
use switchyard_simulation::{Options, run};

#[test]
fn every_planted_fault_is_found_within_a_thousand_seeds() {
    for fault in Fault::ALL {
        let options = Options {
            fault: Some(fault),
            keeps_log: false,
        };
        let found = (1..=1_000).find_map(|seed| {
            let broken = run(Plan::of(seed), options).broken;
            Some((seed, broken.first()?.to_string()))
        });
        let (seed, broken) = found.unwrap_or_else(|| panic!("{fault:?} is not found"));
        println!("{fault:?} is found with seed {seed}: {broken}");
    }
}
