//! Sweeps of the outbox: find the webhooks with rows and count the rows. If a nudge is lost, the
//! next sweep finds its row.

use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::dispatcher::{Dispatcher, Message};
use super::row::{self, Row, Unreadable};
use crate::queue::{QueueHandle, each_queue, each_row, sooner};
use switchyard_core::ids::WebhookId;
use switchyard_core::time::Timestamp;
use switchyard_store::{StoreError, Table};

/// Result of a sweep.
#[derive(Debug, Default)]
pub struct ScanResult {
    pub webhooks: Vec<WebhookId>,
    /// Number of all rows; `None` when they were not counted.
    pub depth: Option<i64>,
}

/// Error that ended a sweep early.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Row(#[from] Unreadable),
}

/// Finds the webhooks that have rows, with one read for each, whatever the length of its queue.
pub(super) async fn find(shared: &Shared) -> Result<ScanResult, SweepError> {
    let mut swept = ScanResult::default();
    each_queue(&shared.store, Table::Outbox, row::all(), |key| {
        let webhook = row::webhook_of(key)?;
        swept.webhooks.push(webhook);
        Ok::<_, SweepError>(row::of_webhook(webhook, Timestamp::default()).1)
    })
    .await?;
    Ok(swept)
}

/// Counts all rows and measures the age of the oldest undelivered event.
pub(super) async fn count(shared: &Shared) -> Result<ScanResult, SweepError> {
    let mut swept = ScanResult::default();
    let (mut depth, mut oldest) = (0_i64, None);
    each_row(&shared.store, Table::Outbox, row::all(), |key, value| {
        depth += 1;
        let webhook = row::webhook_of(key)?;
        if swept.webhooks.last() != Some(&webhook) {
            swept.webhooks.push(webhook);
        }
        let enqueued_at = Row::read(key, value).map(|row| row.enqueued_at);
        oldest = sooner(oldest, enqueued_at.ok());
        Ok::<_, SweepError>(())
    })
    .await?;
    let age = oldest.map_or(Duration::ZERO, |at| shared.clock.now().since(at));
    metrics::gauge!("switchyard_outbox_oldest_seconds", "kind" => "webhook").set(age.as_secs_f64());
    swept.depth = Some(depth);
    Ok(swept)
}

/// Sweeps at once and then periodically. Sweeps take at most 1/[`SWEEP_SHARE`] of the time.
pub(super) async fn sweep_on(shared: Arc<Shared>, desk: QueueHandle<Dispatcher>) {
    let mut stopping = shared.stopping.subscribe();
    match find(&shared).await {
        Ok(swept) => desk.send(Message::ScanResult(swept)).await,
        Err(error) => tracing::error!(%error, "failed to scan the outbox"),
    }
    loop {
        let begun = tokio::time::Instant::now();
        match count(&shared).await {
            Ok(swept) => desk.send(Message::ScanResult(swept)).await,
            Err(error) => tracing::error!(%error, "failed to count the outbox"),
        }
        let pause = SWEEP.max(begun.elapsed() * SWEEP_SHARE);
        tokio::select! {
            biased; // deterministic: one seed, one history
            () = shared.clock.sleep(pause) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
    }
}

/// Minimum time between two sweeps.
const SWEEP: Duration = Duration::from_secs(60);
/// Minimum pause after a sweep, as a multiple of its duration.
const SWEEP_SHARE: u32 = 50;
