//! Writes webhooks into the outbox, in the very commit of what they tell of: nothing is announced that did not happen, and nothing that
//! happened goes unannounced.

use std::sync::Arc;

use super::payload;
use super::row::Row;
use crate::access::Webhook;
use crate::clock::Timestamp;
use crate::ids::{DeliveryId, EventId, Ids, WebhookId};
use crate::store::{Batch, Table};
use crate::transaction::{EventName, Transaction};

/// A webhook that has a new row, and where in its queue that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    pub(super) webhook: WebhookId,
    pub(super) due: Timestamp,
}

/// Adds a row for each of `webhooks` that is enabled, and says for which. After the commit these are given to
/// [`super::Webhooks::nudge`]; without it they are found a little later.
///
/// `tx` is the transaction right after the event; `event` is the `webhook-id` of every attempt.
pub fn enqueue(
    batch: &mut Batch,
    webhooks: &[Arc<Webhook>],
    tx: &Transaction,
    name: EventName,
    event: EventId,
    now: Timestamp,
    ids: &Ids,
) -> Vec<Queued> {
    let mut enabled = webhooks
        .iter()
        .filter(|webhook| webhook.is_enabled)
        .peekable();
    if enabled.peek().is_none() {
        return Vec::new();
    }
    let initiates = payload::sequence(name) == 1;
    let mut row = Row {
        webhook: WebhookId::new(ulid::Ulid::nil()),
        // The first event lies where later ones look for it, whatever the clock said between decision and commit.
        due: if initiates { tx.created_at } else { now },
        transaction: tx.id,
        name,
        environment: tx.environment,
        attempts: 0,
        delivery: DeliveryId::new(ulid::Ulid::nil()),
        event,
        app: tx.app,
        enqueued_at: now,
        initiated_at: tx.created_at,
        first_attempt_at: None,
        body: payload::body(tx, name, event),
    };
    let mut targets = Vec::new();
    for webhook in enabled {
        row.webhook = webhook.id;
        row.delivery = DeliveryId::new(ids.ulid(now));
        batch.put(Table::Outbox, row.key(), row.value());
        targets.push(Queued {
            webhook: webhook.id,
            due: row.due,
        });
    }
    targets
}
