//! The same history again and again, with a death at another step each time.

use crate::history::{History, Options, run};
use crate::plan::Plan;

/// How many places there are in the history of `plan` at which the process can die: before and after each flush and each request.
pub fn points(plan: &Plan) -> u64 {
    undisturbed(plan).steps.iter().sum()
}

/// Runs the history of `plan` twice for each place at which the process can die, and lets it die there and start again; the second time it
/// dies once more soon after. Whatever the place: every promise is kept, and with a [calm](Plan::is_calm) plan everything ends as it does
/// when nobody dies: the transactions, what webhooks and mails tell of them, and the gateways. Answers how many places there were.
///
/// # Panics
/// When it does not, with the place.
pub fn survives_a_death_at_every_step(plan: &Plan) -> u64 {
    let calm = undisturbed(plan);
    assert_eq!(calm.broken, [], "without a death: {}", calm.log);
    let points = calm.steps.iter().sum();
    for point in 1..=points {
        // And again while it recovers, at another step each time.
        for deaths in [vec![point], vec![point, 1 + point % RECOVERY]] {
            let what = format!("deaths at steps {deaths:?}");
            let died = run(with_deaths(plan, deaths), LOGGED);
            assert_eq!(died.broken, [], "{what}: {}", died.log);
            if plan.is_calm() {
                assert_eq!(died.ends, calm.ends, "{what}: {}", died.log);
            }
        }
    }
    points
}

/// Steps of a life in which it takes up what the one before has left.
const RECOVERY: u64 = 12;

fn undisturbed(plan: &Plan) -> History {
    run(with_deaths(plan, Vec::new()), LOGGED)
}

fn with_deaths(plan: &Plan, deaths: Vec<u64>) -> Plan {
    Plan {
        deaths,
        ..plan.clone()
    }
}

const LOGGED: Options = Options {
    fault: None,
    keeps_log: true,
};
