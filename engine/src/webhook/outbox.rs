//! Writes webhooks into the outbox, in the very commit of what they tell of: nothing is announced that did not happen, and nothing that
//! happened goes unannounced.

use std::sync::Arc;
use std::time::Duration;

use super::payload;
use super::row::Row;
use crate::access::Webhook;
use crate::clock::Timestamp;
use crate::ids::{DeliveryId, EventId, WebhookId};
use crate::planted::{Fault, is_planted};
use crate::store::{Batch, Table};
use crate::transaction::{EventName, Transaction};

/// A webhook that has a new row, and where in its queue that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    pub(super) webhook: WebhookId,
    pub(super) due: Timestamp,
}

/// Adds a row for each of `webhooks` that is enabled and hears of `name`, and says for which. After the commit these are given to
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
) -> Vec<Queued> {
    let mut hearing = webhooks
        .iter()
        .filter(|webhook| webhook.is_enabled && webhook.options.events.matches(name))
        .peekable();
    let Some(first) = hearing.peek() else {
        return Vec::new();
    };
    let mut row = row(first.id, tx, name, event, now);
    let mut targets = Vec::new();
    for webhook in hearing {
        row.webhook = webhook.id;
        row.delivery = delivery_id(event, webhook.id);
        batch.put(Table::Outbox, row.key(), row.value());
        targets.push(Queued {
            webhook: webhook.id,
            due: row.due,
        });
    }
    targets
}

/// The row of an event that happened at `at`, for its first attempt.
pub(super) fn row(
    webhook: WebhookId,
    tx: &Transaction,
    name: EventName,
    event: EventId,
    at: Timestamp,
) -> Row {
    Row {
        webhook,
        due: due(name, tx.created_at, at),
        transaction: tx.id,
        name,
        environment: tx.environment,
        attempts: 0,
        delivery: delivery_id(event, webhook),
        event,
        app: tx.app,
        enqueued_at: at,
        initiated_at: tx.created_at,
        first_attempt_at: None,
        body: payload::body(tx, name, event),
    }
}

/// Where in the queue an event lies that is to be sent at `now`. The first one of its transaction lies where later ones look for it,
/// whatever the clock said between decision and commit.
pub(super) fn due(name: EventName, initiated_at: Timestamp, now: Timestamp) -> Timestamp {
    if payload::sequence(name) == 1 {
        let late = Duration::from_secs(if is_planted(Fault::OrderForgotten) {
            600
        } else {
            0
        });
        initiated_at.plus(late)
    } else {
        now
    }
}

/// One event has one delivery to one webhook, so its id follows from theirs.
fn delivery_id(event: EventId, webhook: WebhookId) -> DeliveryId {
    DeliveryId::new(payload::derived(
        event.ulid().timestamp_ms(),
        &[&event.ulid().to_bytes(), &webhook.ulid().to_bytes()],
    ))
}
