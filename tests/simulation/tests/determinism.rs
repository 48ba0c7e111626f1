//! One seed gives one history: the same lines, and the same bytes on the disk.

use switchyard_simulation::plan::Plan;
use switchyard_simulation::{Options, run};

#[test]
fn the_same_seed_gives_the_same_history_and_every_promise_is_kept() {
    for seed in 1..=24 {
        let options = Options {
            keeps_log: true,
            ..Options::default()
        };
        let (first, second) = (run(Plan::of(seed), options), run(Plan::of(seed), options));
        println!("seed {seed}: {:016x}, lives {:?}", first.hash, first.steps);
        assert_eq!(first.log, second.log, "seed {seed}");
        assert_eq!(first.hash, second.hash, "seed {seed}: the disks differ");
        assert_eq!(first.broken, [], "cargo xtask simulate --seed {seed}");
    }
}

#[test]
fn another_seed_gives_another_history() {
    let hash = |seed| run(Plan::of(seed), Options::default()).hash;
    assert_ne!(hash(1), hash(2));
}
