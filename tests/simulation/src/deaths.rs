//! Repeats one history with a process crash at each step in turn.

use crate::history::{History, Options, run};
use crate::plan::Plan;

/// Number of steps in the history of `plan` at which the process can crash: before and after each
/// flush and each request.
pub fn points(plan: &Plan) -> u64 {
    undisturbed(plan).steps.iter().sum()
}

/// Runs the history of `plan` twice for each step at which the process can crash: once with a crash
/// and a restart there, and once with a second crash during the recovery. Every promise has to
/// hold. With a [calm](Plan::is_calm) plan everything must also end as without a crash: the
/// transactions, their webhooks and mails, and the gateways. Returns the number of steps.
///
/// # Panics
/// When a check fails; the message names the step.
pub fn survives_a_death_at_every_step(plan: &Plan) -> u64 {
    let calm = undisturbed(plan);
    assert_eq!(calm.broken, [], "without a death: {}", calm.log);
    let points = calm.steps.iter().sum();
    for point in 1..=points {
        // The second history crashes again during the recovery, at a different step each time.
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

/// Steps of a life within which the process recovers the work of the previous one.
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
