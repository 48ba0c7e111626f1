//! Promises about failing gateways and about changes of gateways.

use std::collections::BTreeMap;

use super::{Evidence, Sent, Stored, StoredAttempt};

/// A failing gateway does not delay another one: a submission leaves as soon as it is decided, and
/// an acknowledged callback is on the timeline a moment later. Only times without any other cause
/// of delay are checked.
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

/// Checks the callbacks about one attempt whose submission left at `sent`.
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
        // By then the submission itself has returned; earlier callbacks wait for it. Late money is
        // held while another attempt is in progress, and is recorded when that attempt ends.
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

/// A version whose activation was acknowledged is still active at the end, whatever crashed since.
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

/// The first gateway is always available. Unless it fails, no request gets the response that there
/// is no gateway, and no begun attempt ends unsent for a reason other than the network.
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

/// All requests about a reference come from one version of its gateway. A reference that never left
/// may be used by the next attempt, which may begin on another version.
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
