//! Promises about transactions: nothing is lost, nothing changes after its end, nothing is stuck,
//! and all are counted.

use std::collections::BTreeMap;

use super::{Evidence, Sighting, Total};

/// Every transaction that was answered with 201 exists, with its amount.
pub fn nothing_accepted_is_lost(evidence: &Evidence, broken: &mut Vec<String>) {
    for accepted in &evidence.accepted {
        match evidence.stored(&accepted.transaction) {
            None => broken.push(format!("{} was accepted and is gone", accepted.transaction)),
            Some(stored) if stored.minor != accepted.minor => {
                broken.push(format!(
                    "{} is of another amount than was accepted",
                    stored.id
                ));
            }
            Some(_) => {}
        }
    }
}

/// Any number of requests under one key makes one transaction.
pub fn one_key_makes_one_transaction(evidence: &Evidence, broken: &mut Vec<String>) {
    let mut made: BTreeMap<(bool, &str), &str> = BTreeMap::new();
    for accepted in &evidence.accepted {
        let Some(key) = &accepted.key else { continue };
        let first = made
            .entry((accepted.is_live, key))
            .or_insert(&accepted.transaction);
        if *first != accepted.transaction {
            broken.push(format!(
                "the key {key} made {first} and {}",
                accepted.transaction
            ));
        }
    }
}

/// An end that was shown once never changes.
pub fn final_states_never_change(evidence: &Evidence, broken: &mut Vec<String>) {
    let mut ends: BTreeMap<&str, &Sighting> = BTreeMap::new();
    for seen in &evidence.sightings {
        let is_later = |end: &&Sighting| match (end.version, seen.version) {
            (Some(end), Some(now)) => now >= end,
            _ => is_final(&seen.status),
        };
        if let Some(end) = ends
            .get(seen.transaction.as_str())
            .copied()
            .filter(is_later)
            && end.status != seen.status
        {
            broken.push(format!(
                "{} was {} and then {}",
                seen.transaction, end.status, seen.status
            ));
        }
        if is_final(&seen.status) {
            ends.entry(&seen.transaction).or_insert(seen);
        }
    }
    for stored in &evidence.stored {
        if let Some(end) = ends.get(stored.id.as_str())
            && end.status != stored.status
        {
            broken.push(format!(
                "{} was {} and is now {}",
                stored.id, end.status, stored.status
            ));
        }
        if stored.ends > 1 {
            broken.push(format!("{} ended {} times", stored.id, stored.ends));
        }
    }
}

/// Every open transaction has a timer, and at the end each one is final or has a case.
pub fn everything_comes_to_an_end(evidence: &Evidence, broken: &mut Vec<String>) {
    for stored in &evidence.stored {
        if stored.is_final == stored.has_timer {
            let what = if stored.is_final {
                "a timer"
            } else {
                "no timer"
            };
            broken.push(format!("{} is {} and has {what}", stored.id, stored.status));
        }
        if !stored.is_final && stored.cases.is_empty() {
            broken.push(format!(
                "{} is {} for days, and nobody was told",
                stored.id, stored.status
            ));
        }
    }
    if evidence.outbox > 0 {
        broken.push(format!(
            "{} rows of the outbox wait for days",
            evidence.outbox
        ));
    }
}

/// Every acknowledged command of an operator is on the timeline, with the operator's name.
pub fn orders_are_signed(evidence: &Evidence, broken: &mut Vec<String>) {
    for order in &evidence.orders {
        let stored = evidence.stored(&order.transaction);
        if stored.is_none_or(|stored| !stored.signed.contains(&order.by)) {
            broken.push(format!(
                "the order of {} about {} is not on its timeline",
                order.by, order.transaction
            ));
        }
    }
}

/// Codes of payers and credentials of connections pass through to the provider, and are stored
/// nowhere in the clear.
pub fn secrets_are_on_no_disk(evidence: &Evidence, broken: &mut Vec<String>) {
    for secret in &evidence.kept_in_clear {
        broken.push(format!("the secret {secret} lies on the disk"));
    }
}

/// The total of a list, of a search and of the statistics is exactly that of the rows.
pub fn totals_are_exact(evidence: &Evidence, broken: &mut Vec<String>) {
    for Total { list, told, stored } in &evidence.totals {
        if told != stored {
            broken.push(format!("{list}: {told} by its total, {stored} by the rows"));
        }
    }
}

pub fn is_final(status: &str) -> bool {
    matches!(status, "success" | "failed" | "cancelled")
}
