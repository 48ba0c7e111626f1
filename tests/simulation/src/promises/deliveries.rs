//! Promises about webhooks.

use std::collections::{BTreeMap, BTreeSet};

use super::states::is_final;
use super::{Delivery, Evidence};

/// Every event reaches every webhook, or is marked as failed where an operator can see it.
pub fn at_least_once(evidence: &Evidence, broken: &mut Vec<String>) {
    let arrived: BTreeSet<_> = evidence
        .deliveries
        .iter()
        .filter(|delivery| delivery.arrived)
        .map(|delivery| (&delivery.webhook, &delivery.transaction, &delivery.event))
        .collect();
    let given_up: BTreeSet<_> = evidence
        .given_up
        .iter()
        .map(|given_up| (&given_up.webhook, &given_up.transaction, &given_up.event))
        .collect();
    for stored in &evidence.stored {
        let kind = if stored.id.starts_with("po_") {
            "payout"
        } else {
            "payment"
        };
        let mut events = vec![format!("{kind}.initiated")];
        if stored.is_final {
            events.push(format!("{kind}.{}", stored.status));
        }
        for (webhook, event) in evidence
            .webhooks
            .iter()
            .flat_map(|webhook| events.iter().map(move |event| (webhook, event)))
        {
            let told = (webhook, &stored.id, event);
            if !arrived.contains(&told) && !given_up.contains(&told) {
                broken.push(format!("{event} of {} never came to {webhook}", stored.id));
            }
        }
    }
}

/// All attempts to deliver one event carry one id, one body, and a valid signature.
pub fn one_id_and_one_body(evidence: &Evidence, broken: &mut Vec<String>) {
    let mut first: BTreeMap<(&str, &str), &Delivery> = BTreeMap::new();
    for delivery in &evidence.deliveries {
        let event = (delivery.transaction.as_str(), delivery.event.as_str());
        let known = *first.entry(event).or_insert(delivery);
        if known.event_id != delivery.event_id || known.body != delivery.body {
            broken.push(format!(
                "{} of {} has two ids or two bodies",
                event.1, event.0
            ));
        }
        if !delivery.is_signed {
            broken.push(format!("{} of {} is not signed", event.1, event.0));
        }
    }
}

/// A delivery is repeated only if its acknowledgment was not read: lost on the network, or with the
/// process.
pub fn once_acknowledged_never_again(evidence: &Evidence, broken: &mut Vec<String>) {
    let mut done: BTreeSet<(&str, &str, u64)> = BTreeSet::new();
    for delivery in &evidence.deliveries {
        let (to, life) = (delivery.webhook.as_str(), delivery.life);
        let made = (to, delivery.event_id.as_str(), life);
        if done.contains(&made) {
            broken.push(format!(
                "{} of {} is sent to {to} again, which had acknowledged it",
                delivery.event, delivery.transaction
            ));
        }
        if delivery.acknowledged {
            done.insert(made);
        }
    }
}

/// No webhook receives an end before an attempt was made to deliver the first event.
pub fn in_order(evidence: &Evidence, broken: &mut Vec<String>) {
    let mut begun: BTreeSet<(&str, &str)> = BTreeSet::new();
    for delivery in &evidence.deliveries {
        let to = (delivery.webhook.as_str(), delivery.transaction.as_str());
        if delivery.event.ends_with(".initiated") {
            begun.insert(to);
        } else if !begun.contains(&to) {
            broken.push(format!(
                "{} of {} comes before its beginning",
                delivery.event, to.1
            ));
        }
    }
}

/// Every announced transaction is stored, and an announced end is the stored end.
pub fn of_what_happened_only(evidence: &Evidence, broken: &mut Vec<String>) {
    for delivery in &evidence.deliveries {
        let (event, id) = (&delivery.event, &delivery.transaction);
        let Some(stored) = evidence.stored(id) else {
            broken.push(format!(
                "{event} of {id} was announced, and there is no such transaction"
            ));
            continue;
        };
        if is_final(&delivery.status) && stored.status != delivery.status {
            broken.push(format!(
                "{event} of {id} was announced, and it is {}",
                stored.status
            ));
        }
    }
}
