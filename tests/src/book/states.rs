//! Page of the transitions of transactions, deliveries and versions of gateways, from the code.

use std::collections::BTreeSet;

use switchyard_core::testing::fixtures::{
    World, by_operator, confirm, declined, not_sent, pending, resolve, route, succeeded, unknown,
    verdict,
};
use switchyard_core::transaction::{
    CancelledBy, Command, Kind, OperatorCommand, Outcome, Status, Verdict,
};
use switchyard_engine::webhook::{DeliveryChange, DeliveryStatus};
use switchyard_gateway_host::version_transitions;

/// A transition: the status before and after it.
type Edge = (&'static str, &'static str);

/// Steps of a history. Each is tried after each.
#[derive(Clone, Copy)]
enum Step {
    /// The payer confirms, or the payout's turn has come.
    Start,
    /// An answer about the latest attempt, also after its end.
    Answer(fn() -> Outcome),
    /// The engine holds the submission back.
    Withhold,
    /// The process ended before anything was sent.
    Crash,
    Cancel,
    CancelByOperator,
    ResolveAsFailed,
    ResolveAsSucceeded,
    /// Every deadline has passed.
    Wait,
}

const STEPS: [Step; 14] = [
    Step::Start,
    Step::Answer(succeeded),
    Step::Answer(|| declined(true)),
    Step::Answer(|| declined(false)),
    Step::Answer(not_sent),
    Step::Answer(pending),
    Step::Answer(unknown),
    Step::Withhold,
    Step::Crash,
    Step::Cancel,
    Step::CancelByOperator,
    Step::ResolveAsFailed,
    Step::ResolveAsSucceeded,
    Step::Wait,
];

/// Steps of the longest histories.
const DEPTH: usize = 3;

pub fn page() -> String {
    let mut text = TOP.to_owned();
    for (title, kind) in [("Payments", Kind::Payment), ("Payouts", Kind::Payout)] {
        let edges = transitions(kind);
        text.push_str(&format!("\n## {title}\n\n| from | to |\n|---|---|\n"));
        for status in statuses(&edges) {
            let next = edges.iter().filter(|edge| edge.0 == status);
            let next: Vec<_> = next.map(|edge| format!("`{}`", edge.1)).collect();
            let next = match next.is_empty() {
                true => "nothing: it is final".to_owned(),
                false => next.join(", "),
            };
            text.push_str(&format!("| `{status}` | {next} |\n"));
        }
        text.push_str("\n```mermaid\nstateDiagram-v2\n    [*] --> initiated\n");
        for (from, to) in &edges {
            text.push_str(&format!("    {from} --> {to}\n"));
        }
        text.push_str("```\n");
    }
    let deliveries = DeliveryStatus::ALL.into_iter().flat_map(|from| {
        DeliveryChange::ALL
            .map(|change| (from.as_str(), change.as_str(), from.after(change).as_str()))
    });
    let deliveries =
        deliveries.filter(|(from, change, to)| from != to || RETRY == (*from, *change));
    text.push_str(DELIVERIES);
    text.push_str(&labelled(Some("waiting"), deliveries));
    let versions = version_transitions().into_iter();
    text.push_str(VERSIONS);
    text.push_str(&labelled(
        None,
        versions.map(|(from, change, to)| (from.as_str(), change, to.as_str())),
    ));
    text
}

/// Table and diagram of transitions with the change that causes each.
fn labelled(
    first: Option<&str>,
    edges: impl Iterator<Item = (&'static str, &'static str, &'static str)>,
) -> String {
    let edges: Vec<_> = edges.collect();
    let mut text = "\n| from | change | to |\n|---|---|---|\n".to_owned();
    for (from, change, to) in &edges {
        text.push_str(&format!("| `{from}` | {change} | `{to}` |\n"));
    }
    text.push_str("\n```mermaid\nstateDiagram-v2\n");
    if let Some(first) = first {
        text.push_str(&format!("    [*] --> {first}\n"));
    }
    for (from, change, to) in &edges {
        text.push_str(&format!("    {from} --> {to}: {change}\n"));
    }
    text.push_str("```\n");
    text
}

/// The statuses of some transitions, in the order of their declaration.
fn statuses(edges: &BTreeSet<Edge>) -> impl Iterator<Item = &'static str> {
    let all = Status::ALL.map(Status::as_str).into_iter();
    all.filter(|status| {
        edges
            .iter()
            .any(|edge| edge.0 == *status || edge.1 == *status)
    })
}

/// Transitions in every history up to [`DEPTH`].
fn transitions(kind: Kind) -> BTreeSet<Edge> {
    let mut edges = BTreeSet::new();
    let mut histories = vec![Vec::new()];
    for _ in 0..DEPTH {
        let mut longer = Vec::new();
        for history in &histories {
            for step in STEPS {
                let mut world = replayed(kind, history);
                let before = world.tx.status();
                if !apply(&mut world, kind, step) {
                    continue;
                }
                let after = world.tx.status();
                if before != after {
                    edges.insert((before.as_str(), after.as_str()));
                }
                if !before.is_final() {
                    longer.push([history.as_slice(), &[step]].concat());
                }
            }
        }
        histories = longer;
    }
    edges
}

fn replayed(kind: Kind, history: &[Step]) -> World {
    let mut world = match kind {
        Kind::Payment => World::payment_with(2),
        Kind::Payout => World::payout(),
    };
    for step in history {
        apply(&mut world, kind, *step);
    }
    world
}

/// Whether the step is possible.
fn apply(world: &mut World, kind: Kind, step: Step) -> bool {
    let command = match step {
        Step::Start if kind == Kind::Payment => confirm(1),
        Step::Start => Command::Dispatch(route(1)),
        Step::Answer(outcome) => {
            let Some(latest) = world.tx.attempts.last().map(|attempt| attempt.id) else {
                return false;
            };
            return match world.tx.current_attempt() {
                Some(_) => world.answer(outcome()).is_ok(),
                None => world.answer_about(latest, outcome()).is_ok(),
            };
        }
        Step::Withhold => Command::Withhold {
            attempt: world.current(),
            why: "the gateway is in quarantine".to_owned(),
        },
        Step::Crash => Command::Recover {
            attempt: world.current(),
            maybe_sent: false,
            gateway_state: None,
        },
        Step::Cancel => Command::Cancel(CancelledBy::Customer),
        Step::CancelByOperator => by_operator(OperatorCommand::Cancel),
        Step::ResolveAsFailed => resolve(None, Verdict::Failed { message: None }),
        Step::ResolveAsSucceeded => resolve(None, verdict(None, Some("P1"))),
        Step::Wait => {
            world.wait(QUARTER);
            Command::Wake
        }
    };
    world.apply(command).is_ok()
}

/// Seconds after which every deadline has passed.
const QUARTER: u64 = 90 * 24 * 60 * 60;

const TOP: &str = "\
# Transitions

Changes of the public status of a transaction, found by running the code: every history of up to
three steps, of a start, each kind of answer of a provider, a submission that is held back, a crash
before anything was sent, a cancellation by the payer or an operator, an operator's resolution, and
the end of all deadlines. [States](../contract/states.md) has the rules.
";

/// The change that begins another attempt in the same status.
const RETRY: Edge = ("waiting", "refused");

const DELIVERIES: &str = "
## Deliveries of webhooks

From the table by which the engine changes a delivery. `refused`: an attempt failed and another one
follows; `exhausted`: the last one failed; `replayed`: sent again, by an operator or the merchant.
";

const VERSIONS: &str = "
## Versions of a gateway

Found by running the changes of a gateway's record with two versions: every history of up to five
changes. `earlier`: another version serves, or the gateway was removed; open attempts end on it.
A draining version without open attempts is shown as drained.
`unknown`: not added, rejected, or another file waits in its place.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_transition_leaves_a_final_status_and_each_success_was_pending_or_late() {
        for kind in [Kind::Payment, Kind::Payout] {
            let edges = transitions(kind);
            for edge in [
                ("initiated", "pending"),
                ("pending", "success"),
                ("pending", "failed"),
            ] {
                assert!(edges.contains(&edge), "{edge:?}: {edges:?}");
            }
            for (from, to) in &edges {
                let is_final = Status::parse(from).is_some_and(Status::is_final);
                assert!(!is_final, "{from} to {to}");
            }
        }
    }
}
