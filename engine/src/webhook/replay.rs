//! Manual replays: one delivery, or all that failed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::log::{self, Delivery, DeliveryChange, DeliveryStatus, LogError};
use super::{Queued, Shared, WebhookId, outbox};
use crate::access::Webhook;
use switchyard_core::ids::DeliveryId;
use switchyard_core::limits;
use switchyard_core::time::Timestamp;
use switchyard_records::RecordError;
use switchyard_store::{Batch, CommitError, StoreError, Table};

/// Reason why nothing was replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("there is no such delivery to this webhook, or it was not tried yet")]
    NotFound,
    #[error("the webhook is disabled: enable it first")]
    Disabled,
    #[error("the delivery is being sent right now: look at its attempts in a moment")]
    Moving,
    #[error("the app has no such transaction to go on after: begin anew, without it")]
    UnknownTransaction,
    #[error("this webhook was replayed too often in the last minute: ask again in {} s", .0.as_secs())]
    TooOften(Duration),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Commit(CommitError),
}

impl From<StoreError> for ReplayError {
    fn from(error: StoreError) -> Self {
        LogError::from(error).into()
    }
}

/// Result of a replay call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    pub replayed: usize,
    /// Whether more failed deliveries remain for another call.
    pub has_more: bool,
}

/// Rate limit for replays: times of each webhook's calls in the last minute.
#[derive(Default)]
pub(super) struct ReplayGate(Mutex<BTreeMap<WebhookId, VecDeque<Timestamp>>>);

impl ReplayGate {
    /// Admits a call, unless the webhook had too many in the last minute.
    pub(super) fn pass(&self, webhook: WebhookId, now: Timestamp) -> Result<(), ReplayError> {
        let mut calls = self.0.lock();
        for calls in calls.values_mut() {
            while calls.front().is_some_and(|at| now.since(*at) >= MINUTE) {
                calls.pop_front();
            }
        }
        calls.retain(|_, calls| !calls.is_empty());
        let calls = calls.entry(webhook).or_default();
        match calls.front() {
            Some(oldest) if calls.len() >= limits::WEBHOOK_REPLAY_CALLS => {
                let left = MINUTE.saturating_sub(now.since(*oldest));
                let seconds = left.as_millis().div_ceil(1_000).max(1);
                let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
                Err(ReplayError::TooOften(Duration::from_secs(seconds)))
            }
            _ => {
                calls.push_back(now);
                Ok(())
            }
        }
    }
}

/// Webhook, if it exists and is enabled.
pub(super) fn enabled(shared: &Shared, webhook: WebhookId) -> Result<Arc<Webhook>, ReplayError> {
    let target = shared
        .access
        .webhook(webhook)
        .ok_or(ReplayError::NotFound)?;
    if target.is_enabled {
        Ok(target)
    } else {
        Err(ReplayError::Disabled)
    }
}

pub(super) async fn replay(
    shared: &Shared,
    webhook: WebhookId,
    id: DeliveryId,
) -> Result<Delivery, ReplayError> {
    enabled(shared, webhook)?;
    let before = log::delivery(&shared.store, webhook, id)
        .await?
        .ok_or(ReplayError::NotFound)?;
    let due = outbox::due(before.name, before.initiated_at, shared.clock.now());
    let after = Delivery {
        status: before.status.after(DeliveryChange::Replayed),
        attempts: 0,
        next_attempt_at: Some(due),
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
    let row = after.row(due, 0);
    batch.put(Table::Outbox, row.key(), row.value());
    match shared.store.commit(batch).await {
        Ok(()) => {}
        Err(CommitError::Conflict) => return Err(ReplayError::Moving),
        Err(error) => return Err(ReplayError::Commit(error)),
    }
    shared.queue.depth_changed(i64::from(is_new));
    shared.wake(&[Queued { webhook, due }]);
    Ok(after)
}

pub(super) async fn replay_failed(
    shared: &Shared,
    webhook: WebhookId,
    since: Timestamp,
) -> Result<Replayed, ReplayError> {
    enabled(shared, webhook)?;
    let most = limits::WEBHOOK_REPLAYS;
    let mut failed = log::failed(&shared.store, webhook, since, most + 1).await?;
    let has_more = failed.len() > most;
    failed.truncate(most);
    let mut replayed = 0;
    for id in failed {
        match replay(shared, webhook, id).await {
            Ok(_) => replayed += 1,
            // Another call replayed it first, or the log was purged.
            Err(ReplayError::Moving | ReplayError::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Replayed { replayed, has_more })
}

const MINUTE: Duration = Duration::from_secs(60);
