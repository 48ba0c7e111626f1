//! Failover: choice of the next connection of an attempt's plan, by its current state.
//!
//! The plan is as old as the attempt, which may have been asked about for days. Whoever was
//! switched off, drained, put into quarantine or removed since is stepped over, and a gateway that
//! was upgraded begins on its current version.

use super::{Try, start};
use crate::transaction::attempt::{Attempt, Candidate};
use crate::transaction::command::Context;
use crate::transaction::decision::{Decision, Skipped};
use crate::transaction::event::Event;

/// The event that starts what comes after `attempt`. `Err`: nothing is left; these were, and may
/// begin nothing now.
///
/// `is_cut_off`: the same connection comes first. It was the engine that stopped, between the
/// journal's entry and the first byte; the provider can be reached, for it has just said that
/// nothing came. Without the stop this connection would have had its say, which after another one's
/// decline may be the last. The old reference stays closed: a request that turns up late is news of
/// money after the end.
pub(super) fn next(
    attempt: &Attempt,
    is_cut_off: bool,
    context: &Context,
) -> Result<Event, Vec<Skipped>> {
    let same = is_cut_off.then_some(&attempt.candidate);
    let planned: Vec<&Candidate> = same.into_iter().chain(&attempt.remaining).collect();
    let (able, skipped) = from_first_able(&planned, context);
    let gateway = &attempt.candidate.gateway;
    let is_again = is_cut_off && skipped.is_empty();
    let chosen_because = match is_again {
        true => format!(
            "the engine stopped while {gateway} was being called, and nothing arrived there"
        ),
        false => format!("{gateway} could not take it"),
    };
    let mut decision = Decision {
        chosen_because,
        ..attempt.decision.clone()
    };
    decision.skipped.extend_from_slice(&skipped);
    let what = Try {
        resumed: match is_again {
            true => attempt.resumed.saturating_add(1),
            false => 0,
        },
        ..Try::after(attempt)
    };
    start(what, able, decision, context).ok_or(skipped)
}

/// Candidates from the first one that may begin an attempt now, and the candidates that were
/// skipped before it. The state of later candidates is read when they are reached.
fn from_first_able(planned: &[&Candidate], context: &Context) -> (Vec<Candidate>, Vec<Skipped>) {
    let mut skipped = Vec::new();
    for (place, candidate) in planned.iter().enumerate() {
        match context.standing(candidate) {
            Ok(able) => {
                let behind = planned.iter().skip(place + 1).copied().cloned();
                return (std::iter::once(able).chain(behind).collect(), skipped);
            }
            Err(because) => skipped.push(Skipped {
                connection: candidate.connection,
                because: because.to_owned(),
            }),
        }
    }
    (Vec::new(), skipped)
}
