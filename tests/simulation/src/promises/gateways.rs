//! Gateways that are sick, and gateways that change.

use std::collections::BTreeMap;

use super::{Evidence, Sent, Stored, StoredAttempt};

/// What another gateway does is no reason to wait: a submission leaves as soon as it is decided on, and news that were acknowledged are
/// on the timeline a moment later. Only times at which nothing else was in the way prove something.
pub fn a_sick_one_delays_no_other(evidence: &Evidence, broken: &mut Vec<String>) {
    let peace = evidence.peace;
    if !(peace.disk && peace.clock && peace.process && peace.first) {
        return;
    }
    for stored in &evidence.stored {
        for attempt in &stored.attempts {
            let about = |sent: &&Sent| sent.reference == attempt.reference && sent.submits;
            let Some(sent) = evidence.sent.iter().find(about) else {
                continue;
            };
            if !sent.host.starts_with('s') || sent.at > peace.exact_until {
                continue;
            }
            if sent.at - attempt.started_at > SECOND {
                broken.push(format!(
                    "{} of {} was decided on {} ms before it left",
                    attempt.reference,
                    stored.id,
                    (sent.at - attempt.started_at) / 1_000
                ));
            }
            if peace.network {
                news_are_taken(evidence, (stored, attempt), sent.at, broken);
            }
        }
    }
}

/// The news of one attempt whose submission left at `sent`.
fn news_are_taken(
    evidence: &Evidence,
    (stored, attempt): (&Stored, &StoredAttempt),
    sent: i64,
    broken: &mut Vec<String>,
) {
    let Some(ended) = attempt.ended_at else {
        return;
    };
    for told in &evidence.callings {
        let Some(at) = told.acknowledged_at.filter(|_| told.signed) else {
            continue;
        };
        let is_end = told.reference == attempt.reference && told.status == "paid";
        // The submission itself has come back by then: news that arrive before wait for it.
        // Late money is held while another attempt is in progress, and settles when that one ends.
        let is_other_under_way = stored.attempts.iter().any(|other| {
            other.reference != attempt.reference
                && other.started_at <= at
                && other.ended_at.is_none_or(|ended| ended > at)
        });
        let counts = is_end
            && !is_other_under_way
            && at > sent + 5 * SECOND
            && at < evidence.peace.exact_until;
        if counts && attempt.state == "succeeded" && ended > at + 2 * SECOND {
            broken.push(format!(
                "{} of {} succeeds {} ms after its provider's news were acknowledged",
                attempt.reference,
                stored.id,
                (ended - at) / 1_000
            ));
        }
    }
}

/// Whoever was told that a version is in force finds it in force, whatever died since.
pub fn a_change_that_was_told_of_holds(evidence: &Evidence, broken: &mut Vec<String>) {
    let told = evidence.changes.iter();
    let last: BTreeMap<_, _> = told.map(|told| (&told.gateway, &told.version)).collect();
    for (gateway, version) in last {
        let found = evidence.gateways.get(gateway);
        if found != Some(version) {
            broken.push(format!(
                "{gateway} was told to be at {version:?}, and is at {found:?}"
            ));
        }
    }
}

/// The first gateway is never away: while it is well, nobody hears that there is none, and nothing that was begun ends unsent for another
/// reason than the network's.
pub fn a_change_turns_nobody_away(evidence: &Evidence, broken: &mut Vec<String>) {
    let peace = evidence.peace;
    if !peace.gateways {
        return;
    }
    for who in &evidence.turned_away {
        broken.push(format!("{who} was told that no gateway can serve"));
    }
    if !(peace.disk && peace.process) {
        return;
    }
    for stored in &evidence.stored {
        for attempt in stored
            .attempts
            .iter()
            .filter(|attempt| attempt.state == "not_sent")
        {
            let of = |reference: &str| *reference == attempt.reference;
            let refused = |sent: &Sent| of(&sent.reference) && !sent.left;
            let unknown = evidence.said.iter();
            let is_unknown = unknown
                .filter(|said| said.status == "unknown")
                .any(|said| of(&said.reference));
            if !evidence.sent.iter().any(refused) && !is_unknown {
                broken.push(format!(
                    "{} of {} ended unsent, and nothing was in its way",
                    attempt.reference, stored.id
                ));
            }
        }
    }
}

/// All requests about a reference come from one version of its gateway. What never left is free for
/// the next attempt, which may begin on another version.
pub fn an_attempt_ends_on_the_version_it_began_on(evidence: &Evidence, broken: &mut Vec<String>) {
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    for sent in evidence.sent.iter().filter(|sent| sent.left) {
        let known = *first.entry(&sent.reference).or_insert(&sent.version);
        if known != sent.version {
            broken.push(format!(
                "{} began on version {known} of its gateway and went on with {}",
                sent.reference, sent.version
            ));
        }
    }
}

const SECOND: i64 = 1_000_000;
