//! The clock on the wall is set while money moves.

use switchyard_simulation::plan::{Plan, Trouble};
use switchyard_simulation::{Options, run};

/// A provider that does not know a reference proves something after two minutes: two minutes, not a
/// clock that was set by an hour. Found by seed 4189, which charged a payout twice.
#[test]
fn a_clock_that_is_set_proves_nothing_of_a_reference_that_is_not_found() {
    kept(|seed| Plan {
        connections: 3,
        webhooks: 0,
        trouble: Trouble {
            late: 900,
            jumps: 40,
            ..Trouble::default()
        },
        ..Plan::calm(seed, 0, 3)
    });
}

/// The same when the clock is set while no process runs: of an earlier process's requests it is
/// only certain that they left before this one began.
#[test]
fn a_clock_that_is_set_between_two_lives_proves_nothing_of_a_reference_that_is_not_found() {
    kept(|seed| Plan {
        connections: 3,
        webhooks: 0,
        trouble: Trouble {
            late: 900,
            restarts: 1_000,
            ..Trouble::default()
        },
        deaths: vec![seed % 12 + 3, seed % 7 + 1, seed % 5 + 2],
        ..Plan::calm(seed, 0, 3)
    });
}

/// Every promise, in the histories of sixty seeds.
fn kept(plan: impl Fn(u64) -> Plan) {
    for seed in 1..=60 {
        let history = run(plan(seed), Options::default());
        assert_eq!(history.broken, [], "seed {seed}");
    }
}
