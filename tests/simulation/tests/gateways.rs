//! Gateways leave while money moves.

use switchyard_simulation::plan::{Plan, Trouble};
use switchyard_simulation::{Options, run};

/// Providers that accept a charge they had declined call back later, and a gateway that was removed
/// in between still parses the callback.
#[test]
fn news_for_a_gateway_that_was_removed_are_read() {
    let plan = |seed| Plan {
        connections: 1,
        neighbours: 2,
        webhooks: 0,
        changes: 6,
        trouble: Trouble {
            lies: 700,
            callbacks: 300,
            ..Trouble::default()
        },
        ..Plan::calm(seed, 8, 8)
    };
    for seed in 1..=40 {
        let history = run(plan(seed), Options::default());
        assert_eq!(history.broken, [], "seed {seed}");
    }
}

/// A delivery in flight, while another one gets the response that the endpoint is gone, has
/// arrived: the replay of missed events does not send it again.
#[test]
fn what_arrives_while_its_webhook_is_switched_off_is_not_sent_again() {
    let plan = |seed| Plan {
        webhooks: 2,
        trouble: Trouble {
            gone: 150,
            ..Trouble::default()
        },
        ..Plan::calm(seed, 10, 10)
    };
    for seed in 1..=40 {
        let history = run(plan(seed), Options::default());
        assert_eq!(history.broken, [], "seed {seed}");
    }
}
