//! Sends deliveries anew, by hand: one, or all that failed.

use super::log::{self, Delivery, DeliveryStatus, LogError};
use super::{Queued, Shared, WebhookId};
use crate::clock::Timestamp;
use crate::ids::DeliveryId;
use crate::limits;
use crate::store::{Batch, CommitError, Table};

/// Why nothing was replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("there is no such delivery to this webhook, or it was not tried yet")]
    NotFound,
    #[error("the webhook is disabled: enable it first")]
    Disabled,
    #[error("the delivery is being sent right now: look at its attempts in a moment")]
    Moving,
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Commit(CommitError),
}

/// What a call replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    pub replayed: usize,
    /// There is more that failed: ask again.
    pub has_more: bool,
}

pub(super) async fn replay(
    shared: &Shared,
    webhook: WebhookId,
    id: DeliveryId,
) -> Result<Delivery, ReplayError> {
    let target = shared
        .access
        .webhook(webhook)
        .ok_or(ReplayError::NotFound)?;
    if !target.is_enabled {
        return Err(ReplayError::Disabled);
    }
    let before = log::delivery(&shared.store, webhook, id)
        .await?
        .ok_or(ReplayError::NotFound)?;
    let now = shared.clock.now();
    let after = Delivery {
        status: DeliveryStatus::Waiting,
        attempts: 0,
        next_attempt_at: Some(now),
        ended_at: None,
        why: None,
        ..before.clone()
    };
    let mut batch = Batch::new();
    let is_new = before.status != DeliveryStatus::Waiting;
    if let Some(due) = before.next_attempt_at {
        let waiting = before.row(due, before.attempts);
        batch.require_value(Table::Outbox, waiting.key(), waiting.value());
        batch.delete(Table::Outbox, waiting.key());
    }
    log::replace_delivery(&mut batch, &before, &after);
    let row = after.row(now, 0);
    batch.put(Table::Outbox, row.key(), row.value());
    match shared.store.commit(batch).await {
        Ok(()) => {}
        Err(CommitError::Conflict) => return Err(ReplayError::Moving),
        Err(error) => return Err(ReplayError::Commit(error)),
    }
    shared.depth_changed(i64::from(is_new));
    shared.look_at(&[Queued { webhook, due: now }]);
    Ok(after)
}

pub(super) async fn replay_failed(
    shared: &Shared,
    webhook: WebhookId,
    since: Timestamp,
) -> Result<Replayed, ReplayError> {
    let most = limits::WEBHOOK_REPLAYS;
    let mut failed = log::failed(&shared.store, webhook, since, most + 1).await?;
    let has_more = failed.len() > most;
    failed.truncate(most);
    let mut replayed = 0;
    for id in failed {
        match replay(shared, webhook, id).await {
            Ok(_) => replayed += 1,
            // Another call was faster, or the log was purged meanwhile.
            Err(ReplayError::Moving | ReplayError::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Replayed { replayed, has_more })
}
