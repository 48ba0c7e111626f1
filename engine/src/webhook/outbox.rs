//! Outbox: webhooks are enqueued in the commit that causes their event. An event without its
//! transaction change, or a change without its event, is impossible.

use std::sync::Arc;

use super::payload;
use super::row::Row;
use crate::access::Webhook;
use switchyard_core::ids::{DeliveryId, EventId, WebhookId};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{EventName, Transaction};
use switchyard_store::{Batch, Table};
use switchyard_system::trace::TraceContext;

/// Webhook with a new row, and the row's due time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    pub(super) webhook: WebhookId,
    pub(super) due: Timestamp,
}

/// Adds a row for each of `webhooks` that is enabled and subscribed to `name`, and returns these
/// webhooks. Pass them to [`super::Webhooks::nudge`] after the commit; otherwise a sweep finds the
/// rows later.
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

/// Row for the first attempt at an event that happened at `at`.
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
        trace: TraceContext::current().position(),
        body: payload::body(tx, name, event),
    }
}

/// Due time of an event that is enqueued at `now`. A transaction's first event is due at the start
/// of the transaction, where later events look for it, even if the clock changed between decision
/// and commit.
pub(super) fn due(name: EventName, initiated_at: Timestamp, now: Timestamp) -> Timestamp {
    if payload::sequence(name) == 1 {
        initiated_at
    } else {
        now
    }
}

/// Delivery id, derived from the event and the webhook: each event has one delivery to each
/// webhook.
fn delivery_id(event: EventId, webhook: WebhookId) -> DeliveryId {
    DeliveryId::new(payload::derived(
        event.ulid().timestamp_ms(),
        &[&event.ulid().to_bytes(), &webhook.ulid().to_bytes()],
    ))
}
