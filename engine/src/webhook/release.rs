//! Empties the queue of a disabled or deleted webhook.

use super::Shared;
use super::log::{self, Delivery, DeliveryChange, DeliveryStatus, LogError};
use super::row::{self, Row};
use switchyard_core::ids::WebhookId;
use switchyard_core::time::Timestamp;
use switchyard_store::{Batch, CommitError, Direction, Table};

/// Error while emptying a queue.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// Removes all rows of `webhook` from the queue, including those that wait for a retry. Deliveries
/// to a disabled webhook count as failed, so that they can be replayed once it is enabled; those to
/// a deleted webhook are deleted.
pub(super) async fn release(shared: &Shared, webhook: WebhookId) -> Result<(), ReleaseError> {
    let range = row::of_webhook(webhook, Timestamp::default());
    loop {
        let is_known = match shared.access.webhook(webhook) {
            Some(found) if found.is_enabled => return Ok(()),
            found => found.is_some(),
        };
        let rows = shared
            .store
            .scan(
                Table::Outbox,
                range.from(),
                range.to(),
                Direction::Forward,
                CHUNK,
            )
            .await
            .map_err(LogError::from)?;
        if rows.is_empty() {
            return Ok(());
        }
        let now = shared.clock.now();
        let mut batch = Batch::new();
        for (key, value) in &rows {
            batch.require_value(Table::Outbox, key, value);
            batch.delete(Table::Outbox, key);
            if let (true, Ok(row)) = (is_known, Row::read(key, value)) {
                let status = DeliveryStatus::Waiting.after(DeliveryChange::Disabled);
                let delivery = Delivery {
                    why: Some("the webhook was disabled: enable it, then replay".to_owned()),
                    ..Delivery::of(&row, status, now)
                };
                log::put_delivery(&mut batch, &delivery);
            }
        }
        match shared.store.commit(batch).await {
            Ok(()) => shared
                .queue
                .depth_changed(-i64::try_from(rows.len()).unwrap_or(0)),
            Err(CommitError::Conflict) => {} // an attempt ended since the read: read again
            Err(error) => return Err(error.into()),
        }
    }
}

/// Rows per commit.
const CHUNK: usize = 100;
