//! Providers that take back what they paid.

use switchyard_simulation::plan::{Plan, Trouble};
use switchyard_simulation::{Options, run};

/// An operator who resolves an attempt manually enters the provider's id as they read it, and the
/// provider's own report may name another. That is a reason to query the provider, after a success
/// as well: it may have reversed the payment. Found by seed 3516.
#[test]
fn a_success_by_hand_that_is_taken_back_under_another_id_comes_before_a_person() {
    let mut by_hand = 0;
    for seed in 1..=60 {
        let plan = Plan {
            connections: 1,
            webhooks: 0,
            by_hand: 1_000,
            deaths: vec![9, 5],
            trouble: Trouble {
                lost: 300,
                lies: 1_000,
                ..Trouble::default()
            },
            ..Plan::calm(seed, 0, 4)
        };
        let options = Options {
            keeps_log: true,
            ..Options::default()
        };
        let history = run(plan, options);
        assert_eq!(history.broken, [], "seed {seed}\n{}", history.log);
        by_hand += history.log.matches("the books say Paid").count();
    }
    assert!(by_hand > 0, "nobody settled anything");
}
