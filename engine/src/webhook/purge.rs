//! Deletes old log rows: sandbox deliveries after their retention; attempts at live deliveries
//! after a longer one, while the delivery stays as evidence; all rows of deleted webhooks.

use super::log::{self, ATTEMPT, DELIVERY, Delivery, DeliveryStatus, FAILED, LogError};
use super::{Shared, WebhookId};
use switchyard_core::environment::Environment;
use switchyard_core::time::Timestamp;
use switchyard_store::{Batch, Direction, Key, KeyRange, KeyReader, Store, Table};

pub(super) async fn purge(shared: &Shared, before: Timestamp) -> Result<u64, LogError> {
    let store = &shared.store;
    let live_before = shared.clock.now().minus(shared.settings.live_log);
    let mut gone = 0;
    for kind in [ATTEMPT, DELIVERY, FAILED] {
        for webhook in logged(store, kind).await? {
            if shared.access.webhook(webhook).is_none() {
                let range = log::of_webhook(kind, webhook).range();
                gone += delete(store, range, |_| true).await?;
            } else if kind != FAILED {
                // Rows of failed deliveries are deleted with their delivery.
                gone += delete_old(store, kind, webhook, Environment::Sandbox, before).await?;
            }
            if kind == ATTEMPT {
                gone += delete_old(store, kind, webhook, Environment::Live, live_before).await?;
            }
        }
    }
    Ok(gone)
}

/// Webhooks that have rows of one kind in the log, with one read for each.
async fn logged(store: &Store, kind: u8) -> Result<Vec<WebhookId>, LogError> {
    let mut found = Vec::new();
    let mut range = Key::of(kind).range();
    loop {
        let (from, to) = (range.from(), range.to());
        let rows = store
            .scan(Table::Delivery, from, to, Direction::Forward, 1)
            .await?;
        let first = rows
            .first()
            .and_then(|(key, _)| KeyReader::of(kind, key)?.take());
        let Some(webhook) = first else {
            return Ok(found);
        };
        found.push(webhook);
        range = range.behind(log::of_webhook(kind, webhook).range());
    }
}

async fn delete_old(
    store: &Store,
    kind: u8,
    webhook: WebhookId,
    environment: Environment,
    before: Timestamp,
) -> Result<u64, LogError> {
    let rows = log::prefix(kind, webhook, environment);
    let end = match kind {
        ATTEMPT => rows.clone().with(before),
        // A delivery's id begins with its time in milliseconds.
        _ => {
            let millis = u64::try_from(before.as_millis()).unwrap_or(0);
            rows.clone().with(ulid::Ulid::from_parts(millis, 0))
        }
    };
    let has_ended = |delivery: &Delivery| delivery.status != DeliveryStatus::Waiting;
    delete(store, rows.range().ending_at(end), has_ended).await
}

/// Deletes a range in chunks. `may_go` selects the deliveries to delete.
async fn delete(
    store: &Store,
    range: KeyRange,
    may_go: impl Fn(&Delivery) -> bool,
) -> Result<u64, LogError> {
    let mut gone = 0;
    let mut pages = store.pages(Table::Delivery, range, CHUNK);
    while let Some(rows) = pages.next().await? {
        let mut batch = Batch::new();
        let mut rows_gone = 0;
        for (key, value) in &rows {
            if key.first() == Some(&DELIVERY) {
                let delivery: Delivery =
                    serde_json::from_slice(value).map_err(LogError::Unreadable)?;
                if !may_go(&delivery) {
                    continue;
                }
                if let Some(at) = delivery.ended_at {
                    batch.delete(
                        Table::Delivery,
                        log::failed_key(delivery.webhook, at, delivery.id),
                    );
                }
            }
            batch.require_value(Table::Delivery, key, value);
            batch.delete(Table::Delivery, key);
            rows_gone += 1;
        }
        // After a conflict or a store error, the next purge deletes the rows.
        if store.commit(batch).await.is_ok() {
            gone += rows_gone;
        }
    }
    Ok(gone)
}

/// Rows per commit.
const CHUNK: usize = 200;
